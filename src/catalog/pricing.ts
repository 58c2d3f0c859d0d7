import type { InstantUs } from "#kernel/clock.ts";
import type { PriceVariant } from "#kernel/price-variants.ts";
import { type PricePico, type Unit, UNITS } from "#kernel/units.ts";
import { compareCodeUnits } from "#kernel/text.ts";

/** One price, kept by (name, unit); the name is an alias or an upstream model name (decisions, "Usage and prices"). */
export interface PriceRow {
  readonly name: string;
  readonly unit: Unit;
  /** Per unit; null is the mark "this unit has no price", which a complete write leaves and which ends the lookup. */
  readonly pricePico: PricePico | null;
  /** The feed that set it; null for a price written with a model. */
  readonly feedVersion: string | null;
}

/** The prices under conditions that are kept by a name, as one list. */
export interface VariantRow {
  readonly name: string;
  /** None is the mark "no variants", which ends the lookup. */
  readonly variants: readonly PriceVariant[];
  /** The feed that set one of its prices last; null for a list written with a model. */
  readonly feedVersion: string | null;
}

/**
 * Rows of the whole price book that a load may leave behind. The serving thread reads all of them after each change of a price
 * (some 35 ms, as measured on two cores) and lists them in one answer (20 ms, 5 MB). Prices written with models count, and
 * are not refused because of it.
 */
export const PRICES_MAX = 40_000;

/** The newest load of a pricing feed (specification, section 2.9). */
export interface LoadedFeed {
  /** The feed's own label; loads may repeat it. */
  readonly version: string;
  readonly loadedAtUs: InstantUs;
}

/** The prices of a catalog: at most one row for each name and unit, and one list of variants for each name. */
export interface PriceBook {
  /** By name, then in the order of UNITS. */
  readonly rows: readonly PriceRow[];
  /** By name. */
  readonly variantRows: readonly VariantRow[];
  /** The rows, and the prices of all variants. */
  readonly count: number;
  /** The row of exactly this name and unit. */
  readonly find: (name: string, unit: Unit) => PriceRow | null;
  /** The list of exactly this name. */
  readonly findVariants: (name: string) => VariantRow | null;
}

/** Each snapshot makes one, also from a feed's 20,000 rows: names are grouped first, and only they are sorted. */
export function createPriceBook(rows: readonly PriceRow[], lists: readonly VariantRow[] = []): PriceBook {
  const byName = new Map<string, { [unit in Unit]?: PriceRow }>();
  for (const row of rows) {
    const ofName = byName.get(row.name);
    if (ofName === undefined) byName.set(row.name, { [row.unit]: row });
    else ofName[row.unit] = row;
  }
  const find = (name: string, unit: Unit): PriceRow | null => byName.get(name)?.[unit] ?? null;
  const names = [...byName.keys()].toSorted(compareCodeUnits);
  const variantsByName = new Map(lists.map((list) => [list.name, list]));
  const variantRows = lists.toSorted((left, right) => compareCodeUnits(left.name, right.name));
  return {
    rows: names.flatMap((name) => UNITS.flatMap((unit) => find(name, unit) ?? [])),
    variantRows,
    count: variantRows.reduce((sum, list) => sum + countPrices(list), rows.length),
    find,
    findVariants: (name) => variantsByName.get(name) ?? null,
  };
}

/** The prices of a list. */
export function countPrices(list: Pick<VariantRow, "variants"> | null): number {
  // Each has its conditions beside its prices.
  return list?.variants.reduce((sum, variant) => sum + Object.keys(variant).length - 1, 0) ?? 0;
}
