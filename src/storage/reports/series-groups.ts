import { dialectOf, type Script } from "#storage/sql/script.ts";
import { toProviderName } from "#stats/grouping.ts";
import { chooseGroups, encodeGroupedSeries } from "#stats/series-groups.ts";
import type { EncodedReport, StatsStore } from "#stats/store.ts";
import { findLargestGroups } from "./group-fold.ts";
import {
  findGroupValues,
  type GroupSql,
  keepGroups,
  REST_GROUP,
  saveGroups,
  toGroupSql,
} from "./group-values.ts";
import { toMeasureSources } from "./measure-sources.ts";
import { UNVALUED_MIN } from "./grouped-days.ts";
import { createSumReader, orFolded, SUMS_MAX } from "./report-sums.ts";
import type { Window } from "#stats/filter.ts";
import { type ResolvedFilter, resolveFilter } from "./request-filter.ts";
import { cutFiltered, findRowWindow } from "./row-window.ts";
import { findGroups } from "./sealed-hours.ts";
import type { SeriesSum } from "./series-sum.ts";
import { toSeriesFigures } from "./series-sums.ts";
import type { Counted } from "./series.ts";
import { countSeries, hasTotals, refuseTooManyBuckets, toBuckets, toSeries } from "./series.ts";

interface GroupLimits {
  readonly sumsMax?: number;
  readonly unvaluedMin?: number;
}

type GroupedQuery = Parameters<StatsStore["readGroupedSeries"]>[0];

/**
 * The series of `StatsStore.readGroupedSeries`: read once, by group and bucket, so that the totals are the sums of the groups.
 * With more than `sumsMax` sums the largest groups are found first, and all others are read as one, which is the answer's
 * `other` in any case. Throws `range_too_large` as `readSeries` does.
 */
export function* readGroupedSeries(
  { grouping, context, ...query }: GroupedQuery,
  { sumsMax = SUMS_MAX, unvaluedMin = UNVALUED_MIN }: GroupLimits = {},
): Script<EncodedReport> {
  const asked = { ...query, nowUs: context.nowUs };
  refuseTooManyBuckets(asked);
  const filter = yield* resolveFilter(query);
  const groups = toGroupSql(yield* dialectOf(), grouping.by);
  yield* saveGroups(groups, filter);
  const count = (limit: number): Script<Counted & { readonly groupCount?: number }> =>
    countSeries(asked, { filter, groups, unvaluedMin, ...createSumReader<SeriesSum>(limit) });
  const countLargest = function* largestGroups() {
    const window = yield* toCountedWindow(query, { filter, groups });
    const sources = yield* toMeasureSources(yield* cutFiltered({ window, into: "months" }, filter), filter);
    const groupOf = yield* findGroups(filter, true);
    const largest = yield* findLargestGroups(sources, { groupOf, ...grouping });
    yield* keepGroups(largest.groups);
    return { ...(yield* count(Number.POSITIVE_INFINITY)), groupCount: largest.count };
  };
  const counted = yield* orFolded(() => count(sumsMax), countLargest);
  const { plan, sums = [], pending = [] } = counted;
  const values = yield* findGroupValues([...new Set(sums.map(({ group_id: group }) => group))]);
  const toValue = (group: number) => {
    const value = values.get(group) ?? null;
    // Deleted providers share a name, and with it a group.
    return grouping.by.field === "provider" && value !== null ? toProviderName(value, context) : value;
  };
  const series = toSeries(asked, counted);
  const { rest: unnamed, named } = splitRest(counted);
  const isNamed = ({ group_id: group }: { readonly group_id: number }) => group !== REST_GROUP;
  const pendingOf = Map.groupBy(pending.filter(isNamed), ({ group_id: group }) => toValue(group));
  const found = [...Map.groupBy(named, ({ group_id: group }) => toValue(group))].map(([value, ofGroup]) => {
    const ofValue = pendingOf.get(value) ?? [];
    return { value, sums: ofGroup, pending: ofValue, figures: toSeriesFigures(ofGroup, ofValue.length) };
  });
  const { chosen, rest } = chooseGroups(found, grouping, series.buckets.length);
  const left = [...rest.flatMap(({ sums: ofGroup }) => ofGroup), ...unnamed];
  const pendingLeft = [...rest.flatMap((group) => group.pending), ...pending.filter((one) => !isNamed(one))];
  const grouped = {
    ...series,
    groups: chosen.map(({ value, figures, sums: ofGroup, pending: ofValue }) => ({
      value,
      figures,
      buckets: toBuckets(plan, ofGroup, ofValue),
    })),
    groupCount: counted.groupCount ?? found.length,
    other:
      left.length === 0
        ? null
        : {
            figures: toSeriesFigures(left, pendingLeft.length),
            buckets: toBuckets(plan, left, pendingLeft),
          },
  };
  return { ...encodeGroupedSeries(grouped, grouping), snapped: series.snapped, truncated: false };
}

/** What is counted row by row begins with the first hour of which all rows are left: what is before it makes no group large. */
function* toCountedWindow(
  { bucket, window }: Pick<GroupedQuery, "bucket" | "window">,
  { filter, groups }: { readonly filter: ResolvedFilter; readonly groups: GroupSql },
): Script<Window> {
  const rows = hasTotals({ bucket }, { filter, groups }) ? null : yield* findRowWindow(window, filter);
  if (rows === null) return window;
  return { sinceUs: rows.startUs, untilUs: Math.min(window.untilUs ?? rows.endUs, rows.endUs) };
}

/** The sums within the series: of groups, and of what was read as one. */
function splitRest({ plan, sums = [] }: Counted): {
  readonly named: readonly SeriesSum[];
  readonly rest: readonly SeriesSum[];
} {
  const count = plan?.starts.length ?? 0;
  const within = sums.filter(({ period }) => period >= 0 && period < count);
  return {
    named: within.filter(({ group_id: group }) => group !== REST_GROUP),
    rest: within.filter(({ group_id: group }) => group === REST_GROUP),
  };
}
