import { compareCodeUnits } from "#kernel/text.ts";
import type { Unit } from "#kernel/units.ts";
import { UNITS } from "#kernel/units.ts";
import type { PriceRow } from "./pricing.ts";

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
