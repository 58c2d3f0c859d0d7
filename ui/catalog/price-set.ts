import {
  byUnit,
  REPORT_UNITS,
  type ReportUnit,
  TOKEN_UNITS,
  UNIT_TABLE,
  UNITS,
  type Unit,
} from "#kernel/units.ts";
import { isPriceMissed } from "#catalog/missed-prices.ts";
import type { ListPrices, Model, Pricing } from "../api/catalog.ts";
import { toIso } from "../search/window.ts";
import { formatInstant } from "../text/format.ts";

/** Prices per million units as they stand in fields; null or absent is an empty field. */
export type PriceFields = { readonly [unit in Unit]?: number | null | undefined };
/** Prices per million units; a unit that is absent has none. */
export type Prices = { readonly [unit in Unit]?: number | undefined };

export const NO_PRICES: PriceFields = {};

export type PriceVariants = NonNullable<Model["price_variants"]>;

/**
 * The units that a table of prices has columns for: the usual ones, and those that a row has a price of. The price of a
 * detail stands below that of its unit: two more columns would scroll sideways.
 */
export function toShownUnits(rows: readonly { readonly [unit in Unit]?: unknown }[]): readonly ReportUnit[] {
  const isShown = (unit: ReportUnit) =>
    TOKEN_UNITS.some((always) => always === unit) || rows.some((prices) => prices[unit] !== undefined);
  return REPORT_UNITS.filter(isShown);
}

export type PriceState =
  /** Kept under the model's own name. */
  | { readonly kind: "own"; readonly pricePerMillion: number }
  /** In force, and kept under the target's or the upstream model's name. */
  | { readonly kind: "inherited"; readonly pricePerMillion: number }
  /** None is known, which is not the same as nothing to pay. */
  | { readonly kind: "unpriced" }
  /** It has none of its own, and costs what the unit costs that it is a detail of. */
  | { readonly kind: "included"; readonly unit: Unit }
  /** None is known, and none is missed: no request to such a model uses the unit. */
  | { readonly kind: "unused" };

/** The standard prices of each name. */
export function toOwnPrices(
  entries: readonly (Pick<Pricing["entries"][number], "model" | "unit" | "price_per_million"> & {
    readonly when?: object;
  })[],
): ReadonlyMap<string, Prices> {
  const own = new Map<string, { [unit in Unit]?: number }>();
  for (const { model, unit, when, price_per_million: price } of entries) {
    if (when !== undefined) continue;
    const prices = own.get(model) ?? {};
    prices[unit] = price;
    own.set(model, prices);
  }
  return own;
}

/** The variants of each name, of lines of a feed. */
export function toListedVariants(entries: ListPrices["entries"]): ReadonlyMap<string, PriceVariants> {
  const byName = new Map<string, Map<string, PriceVariants[number]>>();
  for (const { model, unit, when, price_per_million: price } of entries) {
    if (when === undefined) continue;
    const variants = byName.get(model) ?? new Map<string, PriceVariants[number]>();
    // The server tells their members in one order.
    const id = JSON.stringify(when);
    variants.set(id, { when, pricing: { ...variants.get(id)?.pricing, [unit]: price } });
    byName.set(model, variants);
  }
  return new Map([...byName].map(([name, variants]) => [name, [...variants.values()]]));
}

/** `own`: what is kept under the model's own name; `used`: what its requests did use, whatever it is declared to do. */
export function toPriceState(
  model: Pick<Model, "pricing" | "capabilities">,
  { own, used }: { readonly own: Prices; readonly used: ReadonlySet<Unit> },
  unit: Unit,
): PriceState {
  const inForce = model.pricing[unit];
  const { detailOf } = UNIT_TABLE[unit];
  if (inForce === undefined && detailOf !== null) return { kind: "included", unit: detailOf };
  if (inForce === undefined)
    return { kind: used.has(unit) || isPriceMissed(model, unit) ? "unpriced" : "unused" };
  return { kind: own[unit] === undefined ? "inherited" : "own", pricePerMillion: inForce };
}

/**
 * What stands in the fields of a model. A write of prices is the whole set, so that a model with a binding of its own
 * shows every price in force, and keeps them all as its own when one is changed. A name for a target shows only what
 * it overrides; the rest stays its target's.
 */
export function toPriceFields(model: Pick<Model, "pricing" | "target">, own: Prices): PriceFields {
  const shown = model.target === null ? model.pricing : own;
  return byUnit(UNITS, (unit) => shown[unit]);
}

/** The write for these fields: what is empty is left out. */
export function toPricing(fields: PriceFields): { [unit: string]: number } {
  return byUnit(UNITS, (unit) => fields[unit] ?? undefined);
}

export function isSamePrices(left: PriceFields, right: PriceFields): boolean {
  return UNITS.every((unit) => (left[unit] ?? null) === (right[unit] ?? null));
}

/** Units of a binding whose price is another name's now, and becomes its own with the next write. */
export function toPinnedUnits(model: Pick<Model, "pricing" | "target">, own: Prices): readonly Unit[] {
  if (model.target !== null) return [];
  return UNITS.filter((unit) => model.pricing[unit] !== undefined && own[unit] === undefined);
}

/** The label of a feed that one person typed. */
export function toHandVersion(nowMs: number): string {
  return `by hand ${formatInstant(toIso(nowMs), "date")}`;
}
