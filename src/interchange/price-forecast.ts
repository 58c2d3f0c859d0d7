import { UNITS, type Unit } from "#kernel/units.ts";
import type { CatalogFile, FileFeed, FileModel, Prices } from "./catalog-file.ts";
import {
  createPriceRows,
  findOwnPrices,
  isSamePrices,
  lookUpPrices,
  toPrices,
  type CatalogState,
  type StatePrice,
} from "./catalog-state.ts";

/** What becomes of prices while a file is applied, model by model: bindings first, then the names for them. */
export interface PriceForecast {
  /**
   * The complete list to write with this model, or undefined when its prices are right as they are or will be by the feeds
   * alone. What it gives is taken to be written.
   */
  write(alias: string, model: FileModel): Prices | undefined;
  /** The part of a feed that has to be loaded when all models are written. */
  findMissing(feed: FileFeed): readonly StatePrice[];
}

/**
 * Follows the rules of `planPrices`: a complete list marks what it leaves out of a binding, and takes a feed's rows under
 * the same name with it, also those of a name.
 */
export function forecastPrices(file: CatalogFile, state: CatalogState): PriceForecast {
  const feedRows = createPriceRows(file.feeds.flatMap(listFeed));
  const stateRows = createPriceRows(state.prices);
  const rows = createPriceRows(state.prices);
  setObservedMarks(rows, state);
  const findAfter = (name: string, unit: Unit) => feedRows.find(name, unit) ?? rows.find(name, unit);

  function toWanted(alias: string, { route, prices }: FileModel): Prices {
    if (route.kind === "binding" && prices === null)
      return lookUpPrices(feedRows.find, [alias, route.upstreamName]);
    const target = route.kind === "name" ? file.models.get(route.target) : undefined;
    const inherited = route.kind === "name" && target !== undefined ? toWanted(route.target, target) : {};
    return toPrices(
      (unit) => feedRows.find(alias, unit)?.pricePerMillion ?? prices?.[unit] ?? inherited[unit],
    );
  }

  return {
    write(alias, model) {
      const { route } = model;
      const before = state.models.get(alias);
      if (route.kind === "name") dropMarks(alias);
      const wanted = toWanted(alias, model);
      const isOwnRight =
        before === undefined
          ? model.prices === null
          : model.prices === null ||
            isSamePrices(findOwnPrices(alias, before, stateRows) ?? NONE, model.prices);
      if (isOwnRight && isSamePrices(lookUpPrices(findAfter, toNames(alias, model)), wanted))
        return undefined;
      const written = route.kind === "binding" ? wanted : (model.prices ?? NONE);
      for (const unit of UNITS) {
        const pricePerMillion = written[unit] ?? null;
        if (pricePerMillion === null && route.kind === "name") rows.delete(alias, unit);
        else rows.set(alias, unit, { pricePerMillion, version: null });
      }
      return written;
    },
    findMissing: (feed) =>
      listFeed(feed).filter(({ name, unit, pricePerMillion, version }) => {
        const there = rows.find(name, unit);
        return there?.pricePerMillion !== pricePerMillion || there.version !== version;
      }),
  };

  function toNames(alias: string, { route }: FileModel): readonly string[] {
    if (route.kind === "binding") return [alias, route.upstreamName];
    const bound = file.models.get(route.target)?.route;
    return [alias, route.target, ...(bound?.kind === "binding" ? [bound.upstreamName] : [])];
  }

  function dropMarks(alias: string): void {
    for (const unit of UNITS) if (rows.find(alias, unit)?.pricePerMillion === null) rows.delete(alias, unit);
  }
}

const NONE: Prices = {};

function listFeed({ version, prices }: FileFeed): readonly StatePrice[] {
  return [...prices].flatMap(([name, ofName]) =>
    UNITS.flatMap((unit): StatePrice[] => {
      const pricePerMillion = ofName[unit];
      return pricePerMillion === undefined ? [] : [{ name, unit, pricePerMillion, version }];
    }),
  );
}

/** A price of the upstream name that its binding does not show is held off by a mark. */
function setObservedMarks(rows: ReturnType<typeof createPriceRows>, state: CatalogState): void {
  for (const [alias, { route, prices }] of state.models) {
    if (route.kind === "name") continue;
    for (const unit of UNITS) {
      const isMarked = rows.find(alias, unit) === undefined && prices[unit] === undefined;
      if (isMarked && rows.find(route.upstreamName, unit) !== undefined)
        rows.set(alias, unit, { pricePerMillion: null, version: null });
    }
  }
}
