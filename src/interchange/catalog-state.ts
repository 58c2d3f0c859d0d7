import { CAPABILITIES } from "#catalog/capability.ts";
import type { Origin } from "#catalog/model.ts";
import { compareCodeUnits } from "#kernel/text.ts";
import { UNITS, type Unit } from "#kernel/units.ts";
import type {
  CatalogFile,
  FileFeed,
  FileModel,
  FileProvider,
  ModelRoute,
  Prices,
  ProviderSettings,
} from "./catalog-file.ts";

export interface StateProvider extends ProviderSettings {
  readonly hasCredential: boolean;
  readonly hasCustomCa: boolean;
}

export interface StateModel {
  readonly route: ModelRoute;
  readonly origin: Origin;
  readonly hidden: boolean;
  /** In force, inherited ones too. */
  readonly prices: Prices;
}

export interface StatePrice {
  readonly name: string;
  readonly unit: Unit;
  readonly pricePerMillion: number;
  /** The feed that set it; null for a price written with a model. */
  readonly version: string | null;
}

/** What an installation tells of its catalog, beside the server or through its interface. The marks "no price" are not told. */
export interface CatalogState {
  readonly providers: ReadonlyMap<string, StateProvider>;
  readonly models: ReadonlyMap<string, StateModel>;
  readonly prices: readonly StatePrice[];
  /** Of the newest load; null before the first. */
  readonly feedVersion: string | null;
}

/** The file that brings an empty installation to this state. */
export function toCatalogFile(state: CatalogState): CatalogFile {
  const rows = createPriceRows(state.prices);
  const environmentNames = createNamer();
  return {
    providers: new Map(
      byName(state.providers).map(
        ([name, { hasCredential, hasCustomCa, ...settings }]): [string, FileProvider] => [
          name,
          {
            ...settings,
            apiKey: hasCredential ? { kind: "env", name: environmentNames(name) } : null,
            caPath: hasCustomCa ? `${name}-ca.pem` : null,
          },
        ],
      ),
    ),
    models: new Map(
      byName(state.models).map(([alias, model]): [string, FileModel] => {
        const { route, origin, hidden } = model;
        return [alias, { route, origin, hidden, prices: findOwnPrices(alias, model, rows) }];
      }),
    ),
    feeds: toFeeds(state),
  };
}

/** A price row; `pricePerMillion` null is the mark "no price". */
export interface PriceRow {
  readonly pricePerMillion: number | null;
  readonly version: string | null;
}

/** Price rows by name and unit, to be looked up and changed. */
export interface PriceRows {
  readonly find: (name: string, unit: Unit) => PriceRow | undefined;
  set(name: string, unit: Unit, row: PriceRow): void;
  delete(name: string, unit: Unit): void;
}

/** Prices in force, looked up under these names in turn: a mark ends it. */
export function lookUpPrices(find: PriceRows["find"], names: readonly string[]): Prices {
  return toPrices(
    (unit) => names.map((name) => find(name, unit)).find((row) => row !== undefined)?.pricePerMillion,
  );
}

export function createPriceRows(prices: readonly StatePrice[]): PriceRows {
  const rows = new Map<string, PriceRow>();
  const toKey = (name: string, unit: Unit) => `${unit} ${name}`;
  const find = (name: string, unit: Unit) => rows.get(toKey(name, unit));
  const set = (name: string, unit: Unit, row: PriceRow) => void rows.set(toKey(name, unit), row);
  for (const { name, unit, pricePerMillion, version } of prices)
    set(name, unit, { pricePerMillion, version });
  return {
    find,
    set,
    delete: (name, unit) => void rows.delete(toKey(name, unit)),
  };
}

/** Units in their order, so that the same prices are written the same. */
export function toPrices(find: (unit: Unit) => number | null | undefined): Prices {
  const prices: { [unit in Unit]?: number } = {};
  for (const unit of UNITS) {
    const price = find(unit);
    if (price !== null && price !== undefined) prices[unit] = price;
  }
  return prices;
}

export function isSamePrices(left: Prices, right: Prices): boolean {
  return UNITS.every((unit) => left[unit] === right[unit]);
}

/**
 * The prices that were written with this model. A binding that was priced at all was priced as a whole: what it shows
 * then is complete, and so it is when a unit of its upstream name has a price that it does not show.
 */
export function findOwnPrices(alias: string, { route, prices }: StateModel, rows: PriceRows): Prices | null {
  const isOwn = (unit: Unit) => rows.find(alias, unit)?.version === null;
  const hasOwn = UNITS.some(isOwn);
  if (route.kind === "name") {
    return hasOwn ? toPrices((unit) => (isOwn(unit) ? prices[unit] : null)) : null;
  }
  const inherited = lookUpPrices(rows.find, [alias, route.upstreamName]);
  if (!hasOwn && isSamePrices(inherited, prices)) return null;
  // A feed's row under the alias comes with the feed.
  return toPrices((unit) => (rows.find(alias, unit) === undefined || isOwn(unit) ? prices[unit] : null));
}

function toFeeds({ prices, feedVersion }: CatalogState): readonly FileFeed[] {
  const feeds = new Map<string, Map<string, { [unit in Unit]?: number }>>();
  if (feedVersion !== null) feeds.set(feedVersion, new Map());
  for (const { name, unit, pricePerMillion, version } of prices) {
    if (version === null) continue;
    const feed = feeds.get(version) ?? new Map<string, { [unit in Unit]?: number }>();
    feeds.set(version, feed);
    const ofName = feed.get(name) ?? {};
    feed.set(name, ofName);
    ofName[unit] = pricePerMillion;
  }
  const isNewest = (version: string) => (version === feedVersion ? 1 : 0);
  return [...feeds]
    .toSorted(([left], [right]) => isNewest(left) - isNewest(right) || compareCodeUnits(left, right))
    .map(([version, ofFeed]) => ({
      version,
      prices: new Map(
        byName(ofFeed).map(([name, ofName]): [string, Prices] => [name, toPrices((unit) => ofName[unit])]),
      ),
    }));
}

/** The order of CAPABILITIES, so that the same set is written the same. */
export function toCapabilitySet(texts: readonly string[]) {
  return CAPABILITIES.filter((capability) => texts.includes(capability));
}

function byName<Value>(map: ReadonlyMap<string, Value>): readonly (readonly [string, Value])[] {
  return [...map].toSorted(([left], [right]) => compareCodeUnits(left, right));
}

/** `OPENAI_API_KEY` for `openai`, each name once; never a variable of Lockport's own. */
function createNamer(): (provider: string) => string {
  const used = new Set<string>();
  return (provider) => {
    const word = provider.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_");
    const stem = /^(?:\d|PROXY(?:_|$))/.test(word) ? `UPSTREAM_${word}` : word;
    for (let number = 1; ; number += 1) {
      const name = `${stem}${number === 1 ? "" : `_${number}`}_API_KEY`;
      if (used.has(name)) continue;
      used.add(name);
      return name;
    }
  };
}
