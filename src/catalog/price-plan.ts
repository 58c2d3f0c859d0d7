import { ProxyError } from "#kernel/errors.ts";
import type { PriceVariant } from "#kernel/price-variants.ts";
import { type PricePico, type Unit, isUnit, parsePricePerMillion, UNITS } from "#kernel/units.ts";
import { type PricingDraft, fieldParam, type Model } from "./model.ts";
import type { PriceRow, VariantRow } from "./pricing.ts";
import type { CatalogPicture, ResolvedModel } from "./snapshot.ts";
import type { CatalogWrite } from "./store.ts";

/** The prices of a complete write; a unit that is absent has none. */
export type WrittenPrices = ReadonlyMap<Unit, PricePico>;

/** Throws `invalid_pricing`, param `pricing.<unit>`, or below another `field`. */
export function parsePricing(pricing: PricingDraft, field = "pricing"): WrittenPrices {
  const written = new Map<Unit, PricePico>();
  for (const [unit, pricePerMillion] of Object.entries(pricing)) {
    const param = fieldParam(field, unit);
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
  /** The whole list, or undefined to leave it as it is. */
  readonly variants: readonly PriceVariant[] | undefined;
}

/**
 * Plans the prices kept under a model's own name when it is made or changed (decisions, "Usage and prices"):
 * they follow a rename; "no price" marks go when it becomes a name for a target; a complete write has the last word.
 */
export function planPrices(current: CatalogPicture, change: PriceChange): readonly CatalogWrite[] {
  const { after, written, variants } = change;
  const writes: CatalogWrite[] = [];
  for (const unit of UNITS) {
    const { gone, put } = planRow(current, change, {
      find: (name) => current.findPrice(name, unit),
      isMark: ({ pricePico }) => pricePico === null,
      written: written && toWrittenRow(after, unit, written),
    });
    writes.push(...gone.map((name): CatalogWrite => ({ kind: "delete_price", name, unit })));
    if (put !== null) writes.push({ kind: "put_price", price: put });
  }
  const { gone, put } = planRow(current, change, {
    find: (name) => current.findVariants(name),
    isMark: (list) => list.variants.length === 0,
    written: variants && toWrittenList(after, variants),
  });
  writes.push(...gone.map((name): CatalogWrite => ({ kind: "delete_variants", name })));
  if (put !== null) writes.push({ kind: "put_variants", list: put });
  return writes;
}

/** The removal of one price, or of a list of variants. */
export type PriceRemoval = Extract<CatalogWrite, { readonly kind: "delete_price" | "delete_variants" }>;

/** Rows set by a write of this model go with it; rows of a feed stay. */
export function planPriceRemoval(current: CatalogPicture, model: Model): readonly PriceRemoval[] {
  return UNITS.flatMap((unit): readonly PriceRemoval[] => {
    const row = current.findPrice(model.alias, unit);
    return row === null || row.feedVersion !== null ? [] : [{ kind: "delete_price", name: row.name, unit }];
  });
}

/** As `planPriceRemoval`, of the list of variants. */
export function planVariantsRemoval(current: CatalogPicture, model: Model): readonly PriceRemoval[] {
  return findOwnVariants(current, model) === null ? [] : [{ kind: "delete_variants", name: model.alias }];
}

/** The list of variants that was written with this model; null when there was none. */
export function findOwnVariants(current: CatalogPicture, { alias }: Model): readonly PriceVariant[] | null {
  const list = current.findVariants(alias);
  return list === null || list.feedVersion !== null ? null : list.variants;
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

/** A binding's unit that is left out is marked "no price"; a name for a target inherits it, and so has no row. */
function toWrittenRow(after: Model, unit: Unit, written: WrittenPrices): PriceRow | null {
  const pricePico = written.get(unit) ?? null;
  if (pricePico === null && after.route.kind === "name") return null;
  return { name: after.alias, unit, pricePico, feedVersion: null };
}

/** A name for a target whose list is empty inherits; a binding keeps the mark. */
function toWrittenList({ alias, route }: Model, variants: readonly PriceVariant[]): VariantRow | null {
  if (variants.length === 0 && route.kind === "name") return null;
  return { name: alias, variants, feedVersion: null };
}

/** What is kept by a name: a price of one unit, or a list of variants. */
type NamedRow = Pick<PriceRow, "name" | "feedVersion">;

interface RowRule<Row> {
  readonly find: (name: string) => Row | null;
  readonly isMark: (row: Row) => boolean;
  /** The row of a complete write, null for none; undefined leaves what is there. */
  readonly written: Row | null | undefined;
}

interface RowSteps<Row> {
  /** Names whose rows are deleted. */
  readonly gone: readonly string[];
  readonly put: Row | null;
}

function planRow<Row extends NamedRow>(
  current: CatalogPicture,
  { before, after }: PriceChange,
  { find, isMark, written }: RowRule<Row>,
): RowSteps<Row> {
  const there = find(after.alias);
  const own = before === null ? null : find(before.alias);
  const isMarkOf = (row: Row | null) => row !== null && isMark(row);
  const next = written === undefined ? toKeptRow({ after, own, there, isOwnMark: isMarkOf(own) }) : written;
  const isRenamed = before !== null && before.alias !== after.alias;
  return {
    gone: [
      ...(own !== null && isRenamed && leavesWithRename(current, own, { before, after }) ? [own.name] : []),
      ...(next === null && there !== null ? [there.name] : []),
    ],
    put: next === there ? null : next,
  };
}

interface KeptRow<Row> {
  readonly after: Model;
  /** The row under the name as it was. */
  readonly own: Row | null;
  /** The row under the name as it will be: the same one, or a feed's when the model is renamed. */
  readonly there: Row | null;
  readonly isOwnMark: boolean;
}

function toKeptRow<Row extends NamedRow>({ after, own, there, isOwnMark }: KeptRow<Row>): Row | null {
  const isLapsedMark = isOwnMark && after.route.kind === "name";
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
function leavesWithRename(
  current: CatalogPicture,
  own: NamedRow,
  { before, after }: Pick<PriceChange, "before" | "after">,
): boolean {
  if (own.feedVersion === null) return true;
  const stillUsed = (model: Model) => model.route.kind === "binding" && model.route.upstreamName === own.name;
  return (
    !stillUsed(after) && !current.models.some(({ model }) => model.id !== before?.id && stillUsed(model))
  );
}
