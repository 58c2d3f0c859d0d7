import type { Database, Statement } from "bun:sqlite";
import { UNIT_COLUMNS } from "#kernel/units.ts";
import { COST_SEAM } from "#storage/ledger/rows/sums.ts";

const COUNTS = ["requests", "priced_requests", "unpriced_requests"];
const BANDS = [
  "band_under_1s",
  "band_under_5s",
  "band_under_15s",
  "band_under_30s",
  "band_under_60s",
  "band_under_120s",
  "band_over_120s",
];
/** The measures of `hour_total` and `dimension_total`, in the order of `Sum.hourMeasures`. */
export const HOUR_MEASURES: readonly string[] = [...COUNTS, "cost_hi", "cost_lo", ...UNIT_COLUMNS];
/** Those of days and months, in the order of `Sum.dayMeasures`. */
export const DAY_MEASURES: readonly string[] = [...HOUR_MEASURES, "duration_us", "last_seen_us", ...BANDS];

export type Binding = string | number | null;

export interface TotalTable {
  readonly table: string;
  readonly keys: readonly string[];
  readonly measures: readonly string[];
}

/** Takes keys and measures; adds to the row that is there. */
export function prepareAdd(database: Database, total: TotalTable): Statement<unknown, Binding[]> {
  const columns = [...total.keys, ...total.measures];
  return database.prepare(
    `INSERT INTO ${total.table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")}) ${onConflict(total)}`,
  );
}

/** The end of an INSERT that adds measures to those that are there. */
export function onConflict({ table, keys, measures }: TotalTable): string {
  const carry = `${table}.cost_lo + excluded.cost_lo >= ${COST_SEAM}`;
  const sums = measures.map((column) => {
    const [have, more] = [`${table}.${column}`, `excluded.${column}`];
    if (column === "cost_hi") return `cost_hi = ${have} + ${more} + (${carry})`;
    if (column === "cost_lo") return `cost_lo = ${have} + ${more} - iif(${carry}, ${COST_SEAM}.0, 0.0)`;
    if (column === "last_seen_us") return `${column} = max(${have}, ${more})`;
    // Nothing reported and nothing reported stay nothing; a zero counts as reported.
    if (UNIT_COLUMNS.some((quantity) => quantity === column)) {
      return `${column} = iif(${more} IS NULL, ${have}, ifnull(${have}, 0.0) + ${more})`;
    }
    return `${column} = ${have} + ${more}`;
  });
  return `ON CONFLICT (${keys.join(", ")}) DO UPDATE SET ${sums.join(", ")}`;
}
