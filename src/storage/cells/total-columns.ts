import { DAY_US } from "#kernel/clock.ts";
import { UNIT_COLUMNS } from "#kernel/units.ts";
import { CELL_MEASURES, HOUR_MEASURES as OF_HOURS } from "./measures.ts";
import { COST_SEAM } from "./sums.ts";

/** The measures of `hour_total` and `dimension_total`, in the order of `Sum.hourMeasures`. */
export const HOUR_MEASURES: readonly string[] = OF_HOURS.map(({ name }) => name);
/** The measures of days and months, in the order of `Sum.dayMeasures`. */
export const DAY_MEASURES: readonly string[] = CELL_MEASURES.map(({ name }) => name);

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

/**
 * The last event of a day's row `t` when one was taken out: the next one before it. Nothing is
 * changed where the row's events are not all there any more.
 */
export function toLastOfDay(ofLane = ""): string {
  return `coalesce((SELECT e.id FROM event AS e WHERE e.id <= CAST(t.last_seen_us AS bigint) AND e.id >= CAST(t.day AS bigint) * ${DAY_US}
      AND e.combination = t.combination AND e.manner IN (SELECT id FROM manner WHERE result = t.result) ${ofLane} ORDER BY e.id DESC LIMIT 1), t.last_seen_us)`;
}

/** The last event of a month's row `t`, by the rows of its days `[first, end)`. */
export function toLastOfMonth(first: string, end: string): string {
  return `(SELECT max(s.last_seen_us) FROM sealed_day_total AS s
    WHERE s.combination = t.combination AND s.result = t.result AND s.day >= ${first} AND s.day < ${end})`;
}

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
