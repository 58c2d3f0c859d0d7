import { DAY_US, HOUR_US, type InstantUs } from "#kernel/clock.ts";
import { type BucketPlan, planBuckets, toBucketIndex } from "#stats/bucket.ts";
import { chooseGroups, encodeGroupedSeries, encodeSeries } from "#stats/series-groups.ts";
import type { EncodedReport, ReportNotes, Series, SeriesBucket, StatsStore } from "#stats/store.ts";
import type { Script } from "#storage/sql/script.ts";
import type { Wanted } from "./chosen-events.ts";
import type { FoldSum } from "./fold.ts";
import { foldBy, isToldByHours } from "./folded-window.ts";
import { keepLargest, toGroupLabel } from "./group-values.ts";
import { groupLabelSets } from "./label-groups.ts";
import { findFirstMatch } from "./matches.ts";
import { type ResolvedFilter, resolveFilter } from "./request-filter.ts";
import { cutToRows, refuseTooManyRows } from "./row-window.ts";
import { SERIES_MEASURES, toOutcomeClass, toSeriesFigures } from "./series-figures.ts";
import { cutWindow, NOTHING, readEdges, type WindowCut } from "./window-cut.ts";

export type SeriesQuery = Parameters<StatsStore["readSeries"]>[0];

/**
 * The series of `StatsStore.readSeries`. By outcome alone it is read from the totals of hours, under a filter on single requests
 * event by event, and else from cells. Throws `range_too_large` before it reads.
 */
export function* readSeries(query: SeriesQuery): Script<Series> {
  refuseTooManyBuckets(query);
  return yield* readSeriesOf(query, yield* resolveFilter(query));
}

/** As `readSeries`, after `refuseTooManyBuckets`. */
export function* readSeriesOf(query: SeriesQuery, filter: ResolvedFilter): Script<Series> {
  const groups = yield* groupLabelSets(filter, []);
  const planned = yield* planSeries(query, { filter, groups });
  return toSeries(query, yield* countSeries(query, { filter, groups, planned }));
}

/** Sums that a report may spell, of some 300 bytes each: with more, what is used least is put together. */
export const SUMS_MAX = 150_000;

type GroupedQuery = Parameters<StatsStore["readGroupedSeries"]>[0];

/**
 * The series of `StatsStore.readGroupedSeries`: read once, by group and bucket, so that the totals are the sums of the groups.
 * With more than `sumsMax` sums the largest groups are found first, and all others are read as one, which is the answer's
 * `other` in any case. Throws `range_too_large` as `readSeries` does.
 */
export function* readGroupedSeries(
  { grouping, context, ...query }: GroupedQuery,
  { sumsMax = SUMS_MAX } = {},
): Script<EncodedReport> {
  const asked = { ...query, nowUs: context.nowUs };
  if (grouping === null) {
    const { snapped, ...series } = yield* readSeries(asked);
    return { ...encodeSeries(series), snapped, truncated: false };
  }
  refuseTooManyBuckets(asked);
  const filter = yield* resolveFilter(query);
  const all = yield* groupLabelSets(filter, [toGroupLabel(grouping.by, context)]);
  const planned = yield* planSeries(asked, { filter, groups: all });
  const isTooMany = all.count * (planned.plan?.starts.length ?? 0) > sumsMax;
  const largest = isTooMany
    ? yield* keepLargest({ cut: planned.cut, filter, groups: all }, grouping)
    : { groups: all, count: 0 };
  const counted = yield* countSeries(asked, { filter, groups: largest.groups, planned });
  const { plan, sums } = counted;
  const { values } = largest.groups;
  const count = plan?.starts.length ?? 0;
  const within = sums.filter(({ period }) => period >= 0 && period < count);
  const byGroup = Map.groupBy(within, ({ group }) => group);
  const found = values.flatMap(([value = null], group) => {
    const ofGroup = byGroup.get(group);
    if (ofGroup === undefined) return [];
    return [{ value, sums: ofGroup, figures: toSeriesFigures(ofGroup) }];
  });
  const { chosen, rest } = chooseGroups(found, grouping, count);
  const left = [...rest.flatMap((group) => group.sums), ...(byGroup.get(values.length) ?? [])];
  const series = toSeries(asked, counted);
  const grouped = {
    ...series,
    groups: chosen.map((group) => Object.assign(group, { buckets: toBuckets(plan, group.sums) })),
    groupCount: Math.max(largest.count, found.length),
    other:
      left.length === 0
        ? null
        : {
            figures: toSeriesFigures(left),
            buckets: toBuckets(plan, left),
          },
  };
  return { ...encodeGroupedSeries(grouped, grouping), snapped: series.snapped, truncated: false };
}

/** Throws `range_too_large` when the window alone tells that there are too many. */
export function refuseTooManyBuckets(query: SeriesQuery): void {
  const { sinceUs } = query.window;
  if (sinceUs !== null) planFrom(query, sinceUs);
}

interface PlannedSeries {
  /** Null where nothing matches: there are no buckets. */
  readonly plan: BucketPlan | null;
  readonly cut: WindowCut;
}

/** Which buckets a series has, and where they are counted. */
function* planSeries(query: SeriesQuery, wanted: Wanted): Script<PlannedSeries> {
  const { bucket, window } = query;
  const isByHour = isToldByHours(wanted);
  if (wanted.filter.rows !== null || (bucket === "hour" && !isByHour)) return yield* planRows(query, wanted);
  const longest = bucket === "month" ? "month" : "day";
  const snapUs = isByHour ? HOUR_US : DAY_US;
  const cut = cutWindow(yield* readEdges(), window, { longest, snapUs });
  yield* refuseTooManyRows(cut.raw);
  const firstUs = window.sinceUs === null ? yield* findFirstMatch(cut, wanted) : null;
  // The end may lie before the match, in a day that is counted whole.
  const startUs = window.sinceUs ?? (firstUs === null ? null : Math.floor(firstUs / snapUs) * snapUs);
  return { plan: startUs === null ? null : planFrom(query, startUs), cut };
}

/** Hours that lost rows to retention have no cells any more: such a series begins behind them. */
function* planRows(query: SeriesQuery, wanted: Wanted): Script<PlannedSeries> {
  const { cut, startUs } = yield* cutToRows(query.window, wanted);
  if (startUs === null) return { plan: null, cut: NOTHING };
  const plan = planFrom(query, startUs);
  yield* refuseTooManyRows(cut.raw);
  const untilUs = query.window.untilUs ?? plan.endUs;
  const snapped = cut.snapped && { sinceUs: startUs, untilUs: Math.max(untilUs, startUs) };
  return { plan, cut: { ...cut, snapped } };
}

function planFrom({ bucket, window, nowUs }: SeriesQuery, sinceUs: InstantUs): BucketPlan {
  return planBuckets({ bucket, sinceUs, untilUs: window.untilUs, nowUs });
}

interface Counted {
  readonly plan: BucketPlan | null;
  /** `period` is the place in the plan; what lies beyond it is no part of the series. */
  readonly sums: readonly FoldSum[];
  readonly snapped: ReportNotes["snapped"];
}

/** The sums that a series is made of. */
function* countSeries(
  { bucket }: SeriesQuery,
  { planned: { plan, cut }, ...wanted }: Wanted & { readonly planned: PlannedSeries },
): Script<Counted> {
  const { snapped } = cut;
  if (plan === null) return { plan, sums: [], snapped };
  const first = toBucketIndex(bucket, plan.starts[0] ?? 0);
  const toPeriod = (instantUs: InstantUs) => toBucketIndex(bucket, instantUs) - first;
  const stepUs = bucket === "hour" ? HOUR_US : DAY_US;
  const fold = yield* foldBy({ ...wanted, cut, toPeriod, stepUs }, SERIES_MEASURES, toOutcomeClass);
  return { plan, sums: [...fold.sums()], snapped };
}

function toSeries({ bucket }: SeriesQuery, { plan, sums, snapped }: Counted): Series {
  return { bucket, buckets: toBuckets(plan, sums), snapped, truncated: false };
}

function toBuckets(plan: BucketPlan | null, sums: readonly FoldSum[]): readonly SeriesBucket[] {
  const starts = plan?.starts ?? [];
  const byPlace = starts.map((): FoldSum[] => []);
  for (const sum of sums) byPlace[sum.period]?.push(sum);
  return starts.map((startUs, place) => Object.assign({ startUs }, toSeriesFigures(byPlace[place] ?? [])));
}
