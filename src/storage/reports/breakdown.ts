import { rankRows } from "#stats/breakdown.ts";
import type { Breakdown, BreakdownFigures, StatsStore } from "#stats/store.ts";
import type { Script } from "#storage/sql/script.ts";
import { type DurationPercentiles, findDurationRange, NO_DURATIONS, readDurations } from "./durations.ts";
import type { FoldSum } from "./fold.ts";
import { foldBy } from "./folded-window.ts";
import { keepLargest, toGroupLabel } from "./group-values.ts";
import { groupLabelSets } from "./label-groups.ts";
import { resolveFilter } from "./request-filter.ts";
import { cutFiltered } from "./row-window.ts";
import { SERIES_MEASURES, toOutcomeClass, toSeriesFigures } from "./series-figures.ts";
import { SUMS_MAX } from "./series.ts";

/** Values that are told apart where there are too many for memory. */
const VALUES_KEPT_MAX = 10_000;

type BreakdownQuery = Parameters<StatsStore["readBreakdown"]>[0];

/**
 * The breakdown of `StatsStore.readBreakdown`, from cells; percentiles of durations from rows, as far as `findDurationRange`
 * allows. With more than `sumsMax` values only the largest are told apart, and the rest is in the total alone.
 */
export function* readBreakdown(
  query: BreakdownQuery,
  { sumsMax = SUMS_MAX, durationsMax }: { readonly sumsMax?: number; readonly durationsMax?: number } = {},
): Script<Breakdown> {
  const { by, context, limit, sort, window } = query;
  const filter = yield* resolveFilter(query);
  const all = yield* groupLabelSets(filter, [toGroupLabel(by, context)]);
  const cut = yield* cutFiltered(window, { filter, groups: all });
  const order = sort === "requests" ? "requests" : "cost";
  const { groups, count } =
    all.count > sumsMax
      ? yield* keepLargest({ cut, filter, groups: all }, { order, top: VALUES_KEPT_MAX })
      : { groups: all, count: 0 };
  const fold = yield* foldBy({ cut, filter, groups }, [...SERIES_MEASURES, "last_seen_us"], toOutcomeClass);
  const sums = [...fold.sums()];
  const byGroup = Map.groupBy(sums, ({ group }) => group);
  const range = yield* findDurationRange({ cut, window, filter }, durationsMax);
  const durations =
    range.state === "exact" ? yield* readDurations(range.ranges, { filter, groups }) : NO_DURATIONS;
  const rows = groups.values.flatMap(([value = null], group) => {
    const ofGroup = byGroup.get(group);
    if (ofGroup === undefined) return [];
    return [{ value, figures: toFigures(ofGroup, durations.ofGroups.get(group) ?? NO_DURATIONS.total) }];
  });
  const ranked = rankRows(rows, { sort, limit });
  const rowCount = Math.max(count, rows.length);
  return {
    rows: ranked,
    total: toFigures(sums, durations.total),
    rowCount,
    percentiles: range.state,
    truncated: rowCount > ranked.length,
    snapped: cut.snapped,
  };
}

const OK = toOutcomeClass({ outcome: "ok" });

function toFigures(sums: readonly FoldSum[], durations: DurationPercentiles): BreakdownFigures {
  const last = sums.reduce((most, sum) => (sum.ending === OK ? Math.max(most, sum.last_seen_us) : most), 0);
  return {
    ...toSeriesFigures(sums),
    pricedRequests: sums.reduce((count, sum) => count + sum.priced_requests, 0),
    unmeteredRequests: sums.reduce((count, sum) => count + sum.unmetered_requests, 0),
    lastOkUs: last === 0 ? null : last,
    ...durations,
  };
}
