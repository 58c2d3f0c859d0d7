import type { Database } from "bun:sqlite";
import type { InstantUs } from "#kernel/clock.ts";
import type { Quantities } from "#kernel/units.ts";
import type { SeriesBucket } from "#stats/store.ts";
import { toSealedSources } from "./dimension-sums.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import { EVENT_JOINS, MEASURES_OF_EVENT, prepareEvents } from "./measure-sources.ts";
import { joinCost, toCostSums } from "#storage/ledger/rows/sums.ts";
import type { Span } from "./window-cut.ts";

/** What one period of a series adds up to. Within one bucket several are added. */
export interface SeriesSum {
  readonly period: number;
  readonly requests: number;
  readonly ok: number;
  readonly cancelled: number;
  readonly upstream_error: number;
  readonly priced_requests: number;
  readonly unpriced_requests: number;
  readonly cost_hi: number;
  readonly cost_lo: number;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly cached_input_tokens: number | null;
  readonly audio_us: number | null;
}

/** `[from, to)` of one bucket: hours for `sumHours`, microseconds for `sumRows`. */
export interface BucketRange {
  readonly bucket: number;
  readonly from: number;
  readonly to: number;
}

const MICROS_PER_SECOND = 1e6;

/** Per bucket, from the totals of hours: for a filter by outcome only. */
export function sumHours(
  database: Database,
  ranges: readonly BucketRange[],
  outcomes: readonly string[] | null,
): readonly SeriesSum[] {
  saveRanges(database, ranges);
  const isChosen = outcomes === null ? "" : "WHERE t.outcome IN (SELECT value FROM json_each(?))";
  return database
    .query<SeriesSum, string[]>(
      `SELECT r.bucket AS period, ${toSums(
        (column) => `t.${column}`,
        (outcome) => `t.requests * (t.outcome = '${outcome}')`,
      )}
       FROM bucket_range AS r CROSS JOIN hour_total AS t ON t.hour >= r.from_at AND t.hour < r.to_at ${isChosen}
       GROUP BY r.bucket`,
    )
    .all(...(outcomes === null ? [] : [JSON.stringify(outcomes)]));
}

/** Per bucket, row by row. Grouped by the table of ranges: grouping by an expression would sort every row. */
export function sumRows(
  database: Database,
  ranges: readonly BucketRange[],
  filter: ResolvedFilter,
): readonly SeriesSum[] {
  if (ranges.length === 0) return [];
  saveRanges(database, ranges);
  prepareEvents(database, filter);
  return database
    .query<SeriesSum, []>(
      `SELECT r.bucket AS period, ${toSums(
        (column) => MEASURES_OF_EVENT[column],
        (outcome) => `m.${outcome}`,
      )}
       FROM bucket_range AS r CROSS JOIN event AS e ON e.id >= r.from_at AND e.id < r.to_at
       ${EVENT_JOINS}
       GROUP BY r.bucket`,
    )
    .all();
}

/** Per day or month, from the totals of days or months. */
export function sumTotals(
  database: Database,
  table: "month_total" | "sealed_day_total" | "day_total",
  { span, filter }: { readonly span: Span; readonly filter: ResolvedFilter },
): readonly SeriesSum[] {
  saveOutcomes(database, filter);
  const period = table === "month_total" ? "month" : "day";
  return database
    .query<SeriesSum, [number, number]>(
      `SELECT t.${period} AS period, ${toSums(
        (column) => `t.${column}`,
        (outcome) => `t.requests * o.${outcome}`,
      )}
       FROM ${table} AS t CROSS JOIN chosen_outcome AS o ON o.id = t.result
       WHERE t.${period} >= ? AND t.${period} < ? ${filter.condition} GROUP BY t.${period}`,
    )
    .all(span.first, span.end);
}

/** Per day, for a filter with `findDimensions`: a day may come twice. */
export function sumDimensions(database: Database, filter: ResolvedFilter, span: Span): readonly SeriesSum[] {
  return toSealedSources(database, filter, span).flatMap(({ from, bindings, day, outcome }) =>
    database
      .query<SeriesSum, (string | number)[]>(
        `SELECT ${day} AS period, ${toSums(
          (column) => `t.${column}`,
          (wanted) => `t.requests * (${outcome} = '${wanted}')`,
        )}
         FROM ${from} GROUP BY ${day}`,
      )
      .all(...bindings),
  );
}

/** Of what was summed for one bucket; an empty one for nothing. */
export function toSeriesBucket(startUs: InstantUs, sums: readonly SeriesSum[]): SeriesBucket {
  let [requests, ok, cancelled, upstreamError, unpricedRequests] = [0, 0, 0, 0, 0];
  let costPico: bigint | null = null;
  const units: { -readonly [unit in keyof Quantities]: Quantities[unit] } = {};
  for (const sum of sums) {
    requests += sum.requests;
    ok += sum.ok;
    cancelled += sum.cancelled;
    upstreamError += sum.upstream_error;
    unpricedRequests += sum.unpriced_requests;
    if (sum.priced_requests > 0) costPico = (costPico ?? 0n) + joinCost(sum.cost_hi, sum.cost_lo);
    for (const unit of ["input_tokens", "output_tokens", "cached_input_tokens"] as const) {
      const quantity = sum[unit];
      if (quantity !== null) units[unit] = (units[unit] ?? 0) + quantity;
    }
    // Whole microseconds until the end: their sum does not depend on its order.
    if (sum.audio_us !== null) units.audio_seconds = (units.audio_seconds ?? 0) + sum.audio_us;
  }
  if (units.audio_seconds !== undefined) units.audio_seconds /= MICROS_PER_SECOND;
  const unreachable = requests - ok - cancelled - upstreamError;
  return { startUs, requests, ok, cancelled, upstreamError, unreachable, unpricedRequests, costPico, units };
}

type Column =
  | "requests"
  | "priced_requests"
  | "unpriced_requests"
  | "cost_hi"
  | "cost_lo"
  | "input_tokens"
  | "output_tokens"
  | "cached_input_tokens"
  | "audio_us";

function toSums(
  measure: (column: Column) => string,
  requestsOf: (outcome: "ok" | "cancelled" | "upstream_error") => string,
): string {
  const plain = [
    "requests",
    "priced_requests",
    "unpriced_requests",
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "audio_us",
  ] as const;
  return [
    ...(["ok", "cancelled", "upstream_error"] as const).map(
      (outcome) => `sum(${requestsOf(outcome)}) AS ${outcome}`,
    ),
    ...plain.map((column) => `sum(${measure(column)}) AS ${column}`),
    toCostSums(measure),
  ].join(", ");
}

function saveRanges(database: Database, ranges: readonly BucketRange[]): void {
  database.run(
    "CREATE TEMP TABLE IF NOT EXISTS bucket_range (bucket INTEGER PRIMARY KEY, from_at INTEGER, to_at INTEGER)",
  );
  database.run("DELETE FROM bucket_range");
  database
    .query<unknown, [string]>(
      "INSERT INTO bucket_range SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?)",
    )
    .run(JSON.stringify(ranges.map(({ bucket, from, to }) => [bucket, from, to])));
}

/** The results that a filter lets through, with 1 in the column of their outcome. */
function saveOutcomes(database: Database, { resultCondition }: ResolvedFilter): void {
  database.run(
    "CREATE TEMP TABLE IF NOT EXISTS chosen_outcome (id INTEGER PRIMARY KEY, ok INTEGER, cancelled INTEGER, upstream_error INTEGER)",
  );
  database.run("DELETE FROM chosen_outcome");
  database.run(
    `INSERT INTO chosen_outcome SELECT result, outcome = 'ok', outcome = 'cancelled', outcome = 'upstream_error'
     FROM (SELECT id AS result, outcome FROM result) WHERE true ${resultCondition}`,
  );
}
