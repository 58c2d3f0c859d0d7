import { dialectOf, gather, type Script } from "#storage/sql/script.ts";
import { IS_UNTOLD } from "./unmetered.ts";
import { UNIT_COLUMNS } from "#kernel/units.ts";
import { rankRows } from "#stats/breakdown.ts";
import type { Breakdown, BreakdownFigures, Percentiles, StatsStore } from "#stats/store.ts";
import { toProviderName } from "#stats/grouping.ts";
import { toCostSums } from "#storage/cells/sums.ts";
import { findDurationRange, NO_DURATIONS, readDurations } from "./durations.ts";
import { findLargestGroups } from "./group-fold.ts";
import { findGroupValues, keepGroups, REST_GROUP, saveGroups, toValueSql } from "./group-values.ts";
import { type MeasureSource, toMeasureSources } from "./measure-sources.ts";
import { findPendingEvents } from "./pending-events.ts";
import { createSumReader, orFolded, SUMS_MAX } from "./report-sums.ts";
import { resolveFilter } from "./request-filter.ts";
import { cutFiltered } from "./row-window.ts";
import { findGroups } from "./sealed-hours.ts";
import type { SeriesSum } from "./series-sum.ts";
import { saveOutcomes, toSeriesFigures } from "./series-sums.ts";

/** Values that are told apart where more sums than may be in memory would be needed. */
const VALUES_KEPT_MAX = 10_000;

type BreakdownQuery = Parameters<StatsStore["readBreakdown"]>[0];

/**
 * The breakdown of `StatsStore.readBreakdown`, from totals; percentiles of durations from rows, as far as `findDurationRange`
 * allows. With more than `sumsMax` sums only the largest values are told apart, and the rest is in the total alone.
 */
export function* readBreakdown(
  query: BreakdownQuery,
  { sumsMax = SUMS_MAX, durationsMax }: { readonly sumsMax?: number; readonly durationsMax?: number } = {},
): Script<Breakdown> {
  const { by, context, limit, sort, window } = query;
  const filter = yield* resolveFilter(query);
  const cut = yield* cutFiltered({ window, into: "months" }, filter);
  yield* saveGroups(toValueSql(yield* dialectOf(), by), filter);
  yield* saveOutcomes(filter);
  const sources = yield* toMeasureSources(cut, filter);
  let valueCount: number | null = null;
  const readFolded = function* folded() {
    const groupOf = yield* findGroups(filter, true);
    const order = sort === "requests" ? "requests" : "cost";
    const largest = yield* findLargestGroups(sources, { groupOf, order, top: VALUES_KEPT_MAX });
    yield* keepGroups(largest.groups);
    valueCount = largest.count;
    return yield* readSums(sources, Number.POSITIVE_INFINITY);
  };
  const sums = yield* orFolded(() => readSums(sources, sumsMax), readFolded);

  const values = yield* findGroupValues([...new Set(sums.map(({ group_id: group }) => group))]);
  const toValue = (group: number) => {
    const value = values.get(group) ?? null;
    // Deleted providers share a name, and with it a row.
    return by.field === "provider" && value !== null ? toProviderName(value, context) : value;
  };
  const pending = yield* findPendingEvents(filter, { window, snapped: cut.snapped, isGrouped: true });
  const pendingOf = new Map<string | null, number>();
  for (const { group_id: group } of pending) {
    if (group === REST_GROUP) continue;
    const value = toValue(group);
    pendingOf.set(value, (pendingOf.get(value) ?? 0) + 1);
  }
  const named = sums.filter(({ group_id: group }) => group !== REST_GROUP);
  const byValue = [...Map.groupBy(named, ({ group_id: group }) => toValue(group))];
  const range = yield* findDurationRange({ cut, window, filter }, durationsMax);
  const durations =
    range.state === "exact"
      ? yield* readDurations(filter, {
          ranges: range.ranges,
          groupOf: yield* findGroups(filter, true),
          groups: byValue.map(([, ofValue]) => [...new Set(ofValue.map(({ group_id: group }) => group))]),
        })
      : NO_DURATIONS;
  const rows = byValue.map(([value, ofValue], place) => ({
    value,
    figures: toFigures(ofValue, {
      durations: durations.ofGroups[place] ?? NO_DURATIONS.total,
      pending: pendingOf.get(value) ?? 0,
    }),
  }));
  const ranked = rankRows(rows, { sort, limit });
  const rowCount = valueCount ?? rows.length;
  return {
    rows: ranked,
    total: toFigures(sums, { durations: durations.total, pending: pending.length }),
    rowCount,
    percentiles: range.state,
    truncated: rowCount > ranked.length,
    snapped: cut.snapped,
  };
}

interface ValueSum extends SeriesSum {
  readonly unmetered: number;
  readonly last_ok_us: number | null;
}

const ADDED = ["requests", "priced_requests", "unpriced_requests", ...UNIT_COLUMNS];

/** By group; a group comes once for each source. First by combination and result, in the order of the tables. */
function* readSums(sources: readonly MeasureSource[], sumsMax: number): Script<readonly ValueSum[]> {
  const { read } = createSumReader<ValueSum>(sumsMax);
  const added = ADDED.map((column) => `sum(${column}) AS ${column}`).join(", ");
  const costs = toCostSums((column) => column);
  return yield* gather(sources, ({ sql, bindings }) =>
    read(
      `SELECT g.group_id, 0 AS period, ${added}, ${costs},
         sum(requests * o.ok) AS ok, sum(requests * o.cancelled) AS cancelled,
         sum(requests * o.upstream_error) AS upstream_error,
         sum(CASE WHEN o.untold = 1 AND s.combination IN
           (SELECT id FROM combination WHERE ${IS_UNTOLD}) THEN requests ELSE 0 END) AS unmetered,
         max(CASE WHEN o.ok = 1 THEN last_seen_us END) AS last_ok_us
       FROM (SELECT combination, result, ${added}, ${costs}, max(last_seen_us) AS last_seen_us
         FROM (${sql}) AS one GROUP BY combination, result) AS s
       CROSS JOIN combination_group AS g ON g.id = s.combination
       CROSS JOIN chosen_outcome AS o ON o.id = s.result
       GROUP BY g.group_id`,
      bindings,
    ),
  );
}

function toFigures(
  sums: readonly ValueSum[],
  {
    durations,
    pending,
  }: {
    readonly durations: { readonly durationUs: Percentiles; readonly firstByteUs: Percentiles };
    readonly pending: number;
  },
): BreakdownFigures {
  const last = Math.max(0, ...sums.map((sum) => sum.last_ok_us ?? 0));
  return {
    ...toSeriesFigures(sums, pending),
    pricedRequests: sums.reduce((count, sum) => count + sum.priced_requests, 0),
    unmeteredRequests: sums.reduce((count, sum) => count + sum.unmetered, 0),
    lastOkUs: last === 0 ? null : last,
    ...durations,
  };
}
