import type { InstantUs } from "#kernel/clock.ts";
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

/** The newest load of a pricing feed (specification, section 2.9). */
export interface LoadedFeed {
  /** The feed's own label; loads may repeat it. */
  readonly version: string;
  readonly loadedAtUs: InstantUs;
}

/** The price rows of a catalog, at most one for each name and unit. */
export interface PriceBook {
  /** By name, then in the order of UNITS. */
  readonly rows: readonly PriceRow[];
  /** The row of exactly this name and unit. */
  readonly find: (name: string, unit: Unit) => PriceRow | null;
}

/** Each snapshot makes one, also from a feed's 20,000 rows: names are grouped first, and only they are sorted. */
export function createPriceBook(rows: readonly PriceRow[]): PriceBook {
  const byName = new Map<string, { [unit in Unit]?: PriceRow }>();
  for (const row of rows) {
    const ofName = byName.get(row.name);
    if (ofName === undefined) byName.set(row.name, { [row.unit]: row });
    else ofName[row.unit] = row;
  }
  const find = (name: string, unit: Unit): PriceRow | null => byName.get(name)?.[unit] ?? null;
  const names = [...byName.keys()].toSorted(compareCodeUnits);
  return { rows: names.flatMap((name) => UNITS.flatMap((unit) => find(name, unit) ?? [])), find };
}
