import { ProxyError } from "#kernel/errors.ts";
import { type PricePico, type Unit, isUnit, parsePricePerMillion, UNITS } from "#kernel/units.ts";
import { type PricingDraft, fieldParam, type Model } from "./model.ts";
import type { PriceRow } from "./pricing.ts";
import type { CatalogPicture, ResolvedModel } from "./snapshot.ts";
import type { CatalogWrite } from "./store.ts";

/** The prices of a complete write; a unit that is absent has none. */
export type WrittenPrices = ReadonlyMap<Unit, PricePico>;

/** Throws `invalid_pricing`, param `pricing.<unit>`. */
export function parsePricing(pricing: PricingDraft): WrittenPrices {
  const written = new Map<Unit, PricePico>();
  for (const [unit, pricePerMillion] of Object.entries(pricing)) {
    const param = fieldParam("pricing", unit);
    if (!isUnit(unit))
      throw new ProxyError("invalid_pricing", `The units are ${UNITS.join(", ")}.`, { param });
    if (pricePerMillion !== null) written.set(unit, parsePricePerMillion(pricePerMillion, param));
  }
  return written;
}

interface PriceChange {
  /** The model as it was; null when it is made. */
  readonly before: Model | null;
  readonly after: Model;
  /** A complete write, or undefined to leave prices as they are. */
  readonly written: WrittenPrices | undefined;
}

/**
 * Plans the prices kept under a model's own name when it is made or changed (decisions, "Usage and prices"):
 * they follow a rename; "no price" marks go when it becomes a name for a target; a complete write has the last word.
 */
export function planPrices(current: CatalogPicture, change: PriceChange): readonly CatalogWrite[] {
  const { before, after, written } = change;
  const writes: CatalogWrite[] = [];
  for (const unit of UNITS) {
    const there = current.findPrice(after.alias, unit);
    const own = before === null ? null : current.findPrice(before.alias, unit);
    const next =
      written === undefined ? toKeptRow({ after, own, there }) : toWrittenRow(after, unit, written);
    if (
      own !== null &&
      before !== null &&
      before.alias !== after.alias &&
      leavesWithRename(current, own, change)
    ) {
      writes.push({ kind: "delete_price", name: own.name, unit });
    }
    if (next === null && there !== null) writes.push({ kind: "delete_price", name: there.name, unit });
    if (next !== null && next !== there) writes.push({ kind: "put_price", price: next });
  }
  return writes;
}

/** The removal of one price. */
export type PriceRemoval = Extract<CatalogWrite, { readonly kind: "delete_price" }>;

/** Rows set by a write of this model go with it; rows of a feed stay. */
export function planPriceRemoval(current: CatalogPicture, model: Model): readonly PriceRemoval[] {
  return UNITS.flatMap((unit): readonly PriceRemoval[] => {
    const row = current.findPrice(model.alias, unit);
    return row === null || row.feedVersion !== null ? [] : [{ kind: "delete_price", name: row.name, unit }];
  });
}

/**
 * The prices that were written with this model, as a complete write says them: null when there was none. Units that
 * `isFed` says a feed prices are left out, since their price comes with the feed.
 */
export function findOwnPrices(
  current: CatalogPicture,
  { model, prices }: ResolvedModel,
  isFed: (unit: Unit) => boolean,
): WrittenPrices | null {
  const own = UNITS.flatMap((unit) => {
    const row = current.findPrice(model.alias, unit);
    return row?.feedVersion === null ? [row] : [];
  });
  if (own.length === 0) return null;
  // A binding's own prices are complete: a unit without a row of its own counts with the price in force.
  const told =
    model.route.kind === "name"
      ? own.map((row) => [row.unit, row.pricePico] as const)
      : UNITS.map((unit) => [unit, prices[unit] ?? null] as const);
  return new Map(
    told.flatMap(([unit, price]): [Unit, PricePico][] =>
      price === null || isFed(unit) ? [] : [[unit, price]],
    ),
  );
}

/** For a binding a unit left out is marked "no price"; a name for a target inherits it, and so has no row. */
function toWrittenRow(after: Model, unit: Unit, written: WrittenPrices): PriceRow | null {
  const pricePico = written.get(unit) ?? null;
  if (pricePico === null && after.route.kind === "name") return null;
  return { name: after.alias, unit, pricePico, feedVersion: null };
}

interface KeptRow {
  readonly after: Model;
  /** The row under the name as it was. */
  readonly own: PriceRow | null;
  /** The row under the name as it will be: the same one, or a feed's when the model is renamed. */
  readonly there: PriceRow | null;
}

function toKeptRow({ after, own, there }: KeptRow): PriceRow | null {
  const isLapsedMark = own !== null && own.pricePico === null && after.route.kind === "name";
  if (own === null || own === there) return isLapsedMark ? null : there;
  if (isLapsedMark) return there;
  // Renamed: the row moves, and wins over a feed's. One that the model goes on to find as its upstream name needs no copy,
  // which the next feed would leave behind.
  const isFoundStill =
    own.feedVersion !== null &&
    there === null &&
    after.route.kind === "binding" &&
    after.route.upstreamName === own.name;
  return isFoundStill ? null : { ...own, name: after.alias };
}

/** A feed's row that also prices an upstream model of that name, for this or for another model, stays for them. */
function leavesWithRename(current: CatalogPicture, own: PriceRow, { before, after }: PriceChange): boolean {
  if (own.feedVersion === null) return true;
  const stillUsed = (model: Model) => model.route.kind === "binding" && model.route.upstreamName === own.name;
  return (
    !stillUsed(after) && !current.models.some(({ model }) => model.id !== before?.id && stillUsed(model))
  );
}
