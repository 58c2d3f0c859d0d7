import { all, dialectOf, empty, fill, gather, type Script, run } from "#storage/sql/script.ts";
import type { InstantUs } from "#kernel/clock.ts";
import type { UnitColumn } from "#kernel/units.ts";
import { toReportQuantities, UNIT_COLUMNS } from "#kernel/units.ts";
import type { SeriesBucket, SeriesFigures } from "#stats/store.ts";
import type { SealedSource } from "./dimension-sums.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import { prepareEvents, toChosenMeasures, toEventJoins, toOutcomes } from "./chosen-events.ts";
import { sumSealedHours } from "./sealed-hours.ts";
import type { BucketRange, SeriesSum, SumReading } from "./series-sum.ts";
import { UNMETERED_RESULT } from "./unmetered.ts";
import { joinCost, toCostSums } from "#storage/cells/sums.ts";
import type { Span } from "./window-cut.ts";

/** Per bucket, from the totals of hours: for a filter by outcome only. */
export function* sumHours(
  ranges: readonly BucketRange[],
  outcomes: readonly string[] | null,
): Script<readonly SeriesSum[]> {
  yield* saveRanges(ranges);
  const { isAnyOf, toNumber } = yield* dialectOf();
  const isChosen = outcomes === null ? "" : `WHERE ${isAnyOf("t.outcome", "text")}`;
  return yield* all<SeriesSum>(
    `SELECT r.bucket AS period, 0 AS group_id, ${toSums(
      (column) => `t.${column}`,
      (outcome) => `t.requests * ${toNumber(`t.outcome = '${outcome}'`)}`,
    )}
       FROM bucket_range AS r CROSS JOIN hour_total AS t ON t.hour >= r.from_at AND t.hour < r.to_at ${isChosen}
       GROUP BY r.place`,
    outcomes === null ? [] : [outcomes],
  );
}

/**
 * Per bucket, from the hours that have sums, and row by row what is left. A bucket may come several times. SQLite would
 * sort every row to group it by an expression, and sorts with groups those of one bucket at a time, so that no more of them are
 * in memory; PostgreSQL has a table in memory, of sums.
 */
export function* sumRows(
  { ranges, filter }: { readonly ranges: readonly BucketRange[]; readonly filter: ResolvedFilter },
  reading: SumReading,
): Script<readonly SeriesSum[]> {
  const { sums, rest } = yield* sumSealedHours({ ranges, filter }, reading);
  return [...sums, ...(yield* sumEvents({ ranges: rest, filter }, reading))];
}

function* sumEvents(
  { ranges, filter }: { readonly ranges: readonly BucketRange[]; readonly filter: ResolvedFilter },
  { isGrouped, read }: SumReading,
): Script<readonly SeriesSum[]> {
  if (ranges.length === 0) return [];
  yield* prepareEvents(filter);
  const dialect = yield* dialectOf();
  const measures = toChosenMeasures(dialect);
  const sums = toSums(
    (column) => measures.get(column) ?? "NULL",
    (outcome) => `m.${outcome}`,
  );
  const joins = toEventJoins(dialect, filter);
  const { toBucket } = dialect;
  const [group, join] = isGrouped
    ? ["g.group_id", "CROSS JOIN combination_group AS g ON g.id = e.combination"]
    : ["0", ""];
  const isWithin = "WHERE e.id >= ? AND e.id < ?";
  if (toBucket !== null) {
    return yield* gather(toRuns(ranges), function* sumRun(stretch) {
      const sql = `SELECT ${toBucket("e.id")} AS period, ${group} AS group_id, ${sums}
        FROM event AS e ${joins} ${join} ${isWithin} GROUP BY 1${isGrouped ? ", 2" : ""}`;
      const starts = stretch.map(({ from }) => from);
      const found = yield* read(sql, [starts, stretch.at(0)?.from ?? 0, stretch.at(-1)?.to ?? 0]);
      return found.map((sum) => Object.assign(sum, { period: stretch[sum.period - 1]?.bucket ?? 0 }));
    });
  }
  if (isGrouped) {
    const sql = `SELECT CAST(? AS INTEGER) AS period, ${group} AS group_id, ${sums}
      FROM event AS e ${joins} ${join} ${isWithin} GROUP BY g.group_id`;
    return yield* gather(ranges, ({ bucket, from, to }) => read(sql, [bucket, from, to]));
  }
  yield* saveRanges(ranges);
  return yield* read(
    `SELECT r.bucket AS period, 0 AS group_id, ${sums}
     FROM bucket_range AS r CROSS JOIN event AS e ON e.id >= r.from_at AND e.id < r.to_at ${joins} GROUP BY r.place`,
    [],
  );
}

/** Ranges that follow one another without a gap. */
function toRuns(ranges: readonly BucketRange[]): readonly (readonly BucketRange[])[] {
  const runs: BucketRange[][] = [];
  for (const range of ranges) {
    const stretch = runs.at(-1);
    if (stretch?.at(-1)?.to === range.from) stretch.push(range);
    else runs.push([range]);
  }
  return runs;
}

/** Per day or month, from the totals of days or months. */
export function* sumTotals(
  table: "month_total" | "sealed_day_total" | "day_total",
  {
    span,
    filter,
    reading: { isGrouped, read },
  }: { readonly span: Span; readonly filter: ResolvedFilter; readonly reading: SumReading },
): Script<readonly SeriesSum[]> {
  yield* saveOutcomes(filter);
  const period = table === "month_total" ? "month" : "day";
  const sums = toSums(
    (column) => `t.${column}`,
    (outcome) => `t.requests * o.${outcome}`,
  );
  const isWithin = `t.${period} >= ? AND t.${period} < ?`;
  const bindings = [span.first, span.end];
  if (!isGrouped) {
    return yield* read(
      `SELECT t.${period} AS period, 0 AS group_id, ${sums}
       FROM ${table} AS t CROSS JOIN chosen_outcome AS o ON o.id = t.result
       WHERE ${isWithin} ${filter.condition} GROUP BY t.${period}`,
      bindings,
    );
  }
  // The order of each table's key: only that of open days begins with the period.
  const from =
    table === "day_total"
      ? "day_total AS t CROSS JOIN combination_group AS g ON g.id = t.combination"
      : `combination_group AS g CROSS JOIN ${table} AS t ON t.combination = g.id`;
  return yield* read(
    `SELECT t.${period} AS period, g.group_id, ${sums}
     FROM ${from} CROSS JOIN chosen_outcome AS o ON o.id = t.result
     WHERE ${isWithin} GROUP BY t.${period}, g.group_id`,
    bindings,
  );
}

/** Per day, from sealed sources: a day may come twice. */
export function* sumSealedSources(
  sources: readonly SealedSource[],
  { read }: Pick<SumReading, "read">,
): Script<readonly SeriesSum[]> {
  const { toNumber } = yield* dialectOf();
  return yield* gather(sources, ({ from, bindings, day, outcome, group }) =>
    read(
      `SELECT ${day} AS period, ${group} AS group_id, ${toSums(
        (column) => `t.${column}`,
        (wanted) => `t.requests * ${toNumber(`${outcome} = '${wanted}'`)}`,
      )}
       FROM ${from} GROUP BY ${day}, ${group}`,
      bindings,
    ),
  );
}

/** What was summed for one bucket; zeros for nothing. */
export function toSeriesBucket(
  startUs: InstantUs,
  sums: readonly SeriesSum[],
  pendingRequests: number,
): SeriesBucket {
  return { startUs, ...toSeriesFigures(sums, pendingRequests) };
}

export function toSeriesFigures(sums: readonly SeriesSum[], pendingRequests: number): SeriesFigures {
  let [requests, ok, cancelled, upstreamError, unpricedRequests] = [0, 0, 0, 0, 0];
  let [pricedRequests, costHi, costLo] = [0, 0, 0];
  for (const sum of sums) {
    requests += sum.requests;
    ok += sum.ok;
    cancelled += sum.cancelled;
    upstreamError += sum.upstream_error;
    unpricedRequests += sum.unpriced_requests;
    pricedRequests += sum.priced_requests;
    costHi += sum.cost_hi;
    costLo += sum.cost_lo;
  }
  const costPico = pricedRequests === 0 ? null : joinCost(costHi, costLo);
  const units = toReportQuantities(sums);
  const unreachable = requests - ok - cancelled - upstreamError;
  const outcomes = { requests, ok, cancelled, upstreamError, unreachable };
  return { ...outcomes, unpricedRequests, pendingRequests, costPico, units };
}

type Column = "requests" | "priced_requests" | "unpriced_requests" | "cost_hi" | "cost_lo" | UnitColumn;

function toSums(
  measure: (column: Column) => string,
  requestsOf: (outcome: "ok" | "cancelled" | "upstream_error") => string,
): string {
  const plain = ["requests", "priced_requests", "unpriced_requests", ...UNIT_COLUMNS] as const;
  return [
    ...(["ok", "cancelled", "upstream_error"] as const).map(
      (outcome) => `sum(${requestsOf(outcome)}) AS ${outcome}`,
    ),
    ...plain.map((column) => `sum(${measure(column)}) AS ${column}`),
    toCostSums(measure),
  ].join(", ");
}

/** As `bucket_range` of this connection until the next call; `place` is that in the list. */
export function* saveRanges(ranges: readonly BucketRange[]): Script<void> {
  yield* fill(
    "bucket_range",
    ranges.map(({ bucket, from, to }, place) => [place, bucket, from, to]),
  );
}

/**
 * The results that a filter lets through, with 1 in the column of their outcome, and whether they are a success by their status
 * as well: as `chosen_outcome` of this connection until the next call.
 */
export function* saveOutcomes({ resultCondition }: ResolvedFilter): Script<void> {
  const dialect = yield* dialectOf();
  yield* empty("chosen_outcome");
  yield* run(
    `INSERT INTO chosen_outcome SELECT result, ${toOutcomes(dialect)},
       ${dialect.toNumber(UNMETERED_RESULT)}
     FROM (SELECT id AS result, outcome, status_code FROM result) AS s WHERE true ${resultCondition}`,
  );
}
