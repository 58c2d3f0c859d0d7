import { UNIT_COLUMNS } from "#kernel/units.ts";
import { COST_SEAM } from "./sums.ts";

const COUNTS = ["requests", "priced_requests", "unpriced_requests"];
/** Requests by how long they took. */
export const BANDS = [
  "band_under_1s",
  "band_under_5s",
  "band_under_15s",
  "band_under_30s",
  "band_under_60s",
  "band_under_120s",
  "band_over_120s",
] as const;
/** The measures of `hour_total` and `dimension_total`, in the order of `Sum.hourMeasures`. */
export const HOUR_MEASURES: readonly string[] = [...COUNTS, "cost_hi", "cost_lo", ...UNIT_COLUMNS];
/** The measures of days and months, in the order of `Sum.dayMeasures`. */
export const DAY_MEASURES: readonly string[] = [...HOUR_MEASURES, "duration_us", "last_seen_us", ...BANDS];

/** What limits count of an event, by its column: its tokens are those of input, cached or not, and of output. */
export const CARRIED_MEASURES = [
  "requests",
  "unpriced_requests",
  "unknown_requests",
  "cost_hi",
  "cost_lo",
  "tokens",
] as const;
export const TOKEN_COLUMNS = ["input_tokens", "cached_input_tokens", "output_tokens"] as const;

export interface TotalTable {
  readonly table: string;
  readonly keys: readonly string[];
  readonly measures: readonly string[];
}

/** Drops the row of a key, which is bound, when it was left with nothing. */
export function toDropEmpty({ table, keys }: Pick<TotalTable, "table" | "keys">): string {
  return `DELETE FROM ${table} WHERE ${keys.map((key) => `${key} = ?`).join(" AND ")} AND requests = 0`;
}

/**
 * Puts the last event of a day's row right when one was taken out: the columns of `where` tell the row, whose values are bound
 * behind its first instant. Reads no further back than to the event that is the last one now.
 */
export function toLastSeen(table: string, where: readonly string[], ofLane = ""): string {
  return `UPDATE ${table} SET last_seen_us = coalesce((SELECT e.id FROM event AS e CROSS JOIN manner AS m ON m.id = e.manner
      WHERE e.id <= ${table}.last_seen_us AND e.id >= ? AND e.combination = ${table}.combination
        AND m.result = ${table}.result ${ofLane} ORDER BY e.id DESC LIMIT 1), last_seen_us)
    WHERE ${where.map((column) => `${column} = ?`).join(" AND ")}`;
}

/** The same for a row of `month_total`, from the sealed days `[?, ?)`. */
export const MONTH_LAST_SEEN = `UPDATE month_total SET last_seen_us = (SELECT max(last_seen_us) FROM sealed_day_total AS s
    WHERE s.combination = month_total.combination AND s.result = month_total.result AND s.day >= ? AND s.day < ?)
  WHERE combination = ? AND result = ? AND month = ?`;

/** The end of an INSERT that adds measures to those that are there; SQL that every engine speaks. */
export function onConflict({ table, keys, measures }: TotalTable): string {
  const carry = `${table}.cost_lo + excluded.cost_lo >= ${COST_SEAM}`;
  const sums = measures.map((column) => {
    const [have, more] = [`${table}.${column}`, `excluded.${column}`];
    if (column === "cost_hi") return `cost_hi = ${have} + ${more} + CASE WHEN ${carry} THEN 1.0 ELSE 0.0 END`;
    if (column === "cost_lo")
      return `cost_lo = ${have} + ${more} - CASE WHEN ${carry} THEN ${COST_SEAM}.0 ELSE 0.0 END`;
    if (column === "last_seen_us")
      return `${column} = CASE WHEN ${have} < ${more} THEN ${more} ELSE ${have} END`;
    // Nothing reported and nothing reported stay nothing; a zero counts as reported.
    if (UNIT_COLUMNS.some((quantity) => quantity === column)) {
      return `${column} = CASE WHEN ${more} IS NULL THEN ${have} ELSE coalesce(${have}, 0.0) + ${more} END`;
    }
    return `${column} = ${have} + ${more}`;
  });
  return `ON CONFLICT (${keys.join(", ")}) DO UPDATE SET ${sums.join(", ")}`;
}
