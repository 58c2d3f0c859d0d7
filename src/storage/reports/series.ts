import { all, gather, type Script } from "#storage/sql/script.ts";
import { DAY_US, HOUR_US, type InstantUs } from "#kernel/clock.ts";
import type { BucketPlan } from "#stats/bucket.ts";
import { planBuckets, toBucketIndex } from "#stats/bucket.ts";
import type { ReportNotes, Series, SeriesBucket, StatsStore } from "#stats/store.ts";
import { toFirstDay } from "#storage/cells/calendar.ts";
import { findDimensions, toSealedSources } from "./dimension-sums.ts";
import { findPendingEvents } from "./pending-events.ts";
import { findFirstMatch } from "./first-match.ts";
import type { GroupSql } from "./group-values.ts";
import { sumGroupedDays, UNVALUED_MIN } from "./grouped-days.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import { resolveFilter } from "./request-filter.ts";
import type { BucketRange, SeriesSum, SumReading } from "./series-sum.ts";
import { sumHours, sumRows, sumSealedSources, sumTotals, toSeriesBucket } from "./series-sums.ts";
import { cutFiltered, findRowWindow, refuseTooManyRows } from "./row-window.ts";
import type { RawRange, Span } from "./window-cut.ts";

export type SeriesQuery = Parameters<StatsStore["readSeries"]>[0];

/**
 * The series of `StatsStore.readSeries`. By outcome alone it is read from the totals of hours. Any other filter is read from
 * those of days and months, or of its dimension where it has only one; by the hour it is read from the cells of
 * sealed hours, and row by row where there are none; one on single requests is read row by row. Throws `range_too_large` before it reads.
 */
export function* readSeries(query: SeriesQuery): Script<Series> {
  refuseTooManyBuckets(query);
  return yield* readSeriesOf(query, yield* resolveFilter(query));
}

/** As `readSeries`, after `refuseTooManyBuckets` and `resolveFilter`. */
export function* readSeriesOf(query: SeriesQuery, filter: ResolvedFilter): Script<Series> {
  const read = all<SeriesSum>;
  const count = { filter, groups: null, read, take: () => {}, unvaluedMin: UNVALUED_MIN };
  return toSeries(query, yield* countSeries(query, count));
}

/** Throws `range_too_large` when the window alone tells that there are too many. */
export function refuseTooManyBuckets(query: SeriesQuery): void {
  const { sinceUs } = query.window;
  if (sinceUs !== null) planFrom(query, sinceUs);
}

/** What is counted: everything together, or by the groups of `saveGroups`. */
export interface SeriesCount extends Omit<SumReading, "isGrouped"> {
  readonly filter: ResolvedFilter;
  readonly groups: GroupSql | null;
}

/** The sums that a series is made of. After `resolveFilter`. */
export function* countSeries(query: SeriesQuery, count: SeriesCount): Script<Counted> {
  const counted = hasTotals(query, count)
    ? yield* countInTotals(query, count)
    : yield* countRows(query, count);
  const { plan, snapped } = counted;
  if (plan === undefined) return counted;
  const { filter, groups } = count;
  const { window } = query;
  const events = yield* findPendingEvents(filter, { window, snapped, isGrouped: groups !== null });
  const pending = events.flatMap(({ id, group_id }) => {
    const period = plan.starts.findLastIndex((startUs) => startUs <= id);
    return period === -1 || id >= plan.endUs ? [] : [{ period, group_id }];
  });
  return { ...counted, pending };
}

/** No total has single requests, nor the hours of a filter or of a group. */
export function hasTotals(
  { bucket }: Pick<SeriesQuery, "bucket">,
  { filter, groups }: Pick<SeriesCount, "filter" | "groups">,
): boolean {
  if (filter.rows !== null) return false;
  return bucket !== "hour" || (filter.isByOutcomeOnly && groups === null);
}

function* countInTotals(query: SeriesQuery, { filter, groups, ...how }: SeriesCount): Script<Counted> {
  const { bucket, window } = query;
  const reading = { ...how, isGrouped: groups !== null };
  const isByHour = groups === null && filter.isByOutcomeOnly;
  const sumValues = yield* findValueSums({ filter, groups }, reading);
  const into = isByHour ? "hours" : bucket === "month" && sumValues === null ? "months" : "days";
  const cut = yield* cutFiltered({ window, into }, filter);
  const startUs = window.sinceUs ?? (yield* findFirstMatch(cut, filter));
  if (startUs === null) return { snapped: cut.snapped };
  const plan = planFrom(query, startUs);

  const first = toBucketIndex(bucket, startUs);
  const inDays = (sums: readonly SeriesSum[]) =>
    sums.map((sum) => Object.assign(sum, { period: toBucketIndex(bucket, sum.period * DAY_US) - first }));
  const inMonths = (sums: readonly SeriesSum[]) =>
    inDays(sums.map((sum) => Object.assign(sum, { period: toFirstDay(sum.period) })));
  const { outcomes } = filter;
  const ofSealedDays =
    sumValues ?? ((span: Span) => sumTotals("sealed_day_total", { span, filter, reading }));
  const ofDays = (span: Span) => sumTotals("day_total", { span, filter, reading });
  const ofMonths = (span: Span) => sumTotals("month_total", { span, filter, reading });
  const ofRows = (range: RawRange) => sumRows({ ranges: toRowRanges(plan, range), filter }, reading);
  const sums = [
    ...(yield* gather(cut.hours, (span) => sumHours(toHourRanges(plan, span), outcomes))),
    ...inMonths(yield* gather(cut.months, ofMonths)),
    ...inDays(yield* gather(cut.sealedDays, ofSealedDays)),
    ...inDays(yield* gather(cut.openDays, ofDays)),
    ...(yield* gather(cut.raw, ofRows)),
  ];
  return { plan, sums, snapped: cut.snapped };
}

/** Adds up sealed days by value; null when they are added up by combination. */
function* findValueSums(
  { filter, groups }: Pick<SeriesCount, "filter" | "groups">,
  reading: SumReading,
): Script<((span: Span) => Script<readonly SeriesSum[]>) | null> {
  if (groups !== null) {
    return filter.isByOutcomeOnly ? (span) => sumGroupedDays(groups, { filter, span }, reading) : null;
  }
  if (!(yield* findDimensions(filter))) return null;
  return function* values(span) {
    return yield* sumSealedSources(yield* toSealedSources(filter, span), reading);
  };
}

function* countRows(query: SeriesQuery, { filter, groups, ...how }: SeriesCount): Script<Counted> {
  const { sinceUs, untilUs } = query.window;
  const rows = yield* findRowWindow(query.window, filter);
  const startUs = rows?.startUs ?? sinceUs;
  if (startUs === null) return { snapped: null };
  const plan = planFrom(query, startUs);
  if (rows === null) return { plan, snapped: null };

  const endUs = untilUs ?? plan.endUs;
  const snapped = rows.isSnapped ? { sinceUs: startUs, untilUs: Math.max(endUs, startUs) } : null;
  const range = { fromUs: startUs, toUs: Math.min(endUs, rows.endUs) };
  yield* refuseTooManyRows(range);
  const reading = { ...how, isGrouped: groups !== null };
  return { plan, snapped, sums: yield* sumRows({ ranges: toRowRanges(plan, range), filter }, reading) };
}

function planFrom({ bucket, window, nowUs }: SeriesQuery, sinceUs: InstantUs): BucketPlan {
  return planBuckets({ bucket, sinceUs, untilUs: window.untilUs, nowUs });
}

function toHourRanges(plan: BucketPlan, span: Span): readonly BucketRange[] {
  const range = { fromUs: span.first * HOUR_US, toUs: span.end * HOUR_US };
  return toRowRanges(plan, range).map(({ bucket, from, to }) => ({
    bucket,
    from: from / HOUR_US,
    to: to / HOUR_US,
  }));
}

/** The part of each bucket that lies in the range, by its place in the plan; buckets that have none are left out. */
function toRowRanges({ starts, endUs }: BucketPlan, { fromUs, toUs }: RawRange): readonly BucketRange[] {
  return starts
    .map((startUs, bucket) => ({
      bucket,
      from: Math.max(startUs, fromUs),
      to: Math.min(starts[bucket + 1] ?? endUs, toUs),
    }))
    .filter(({ from, to }) => from < to);
}

/** Where in a series an event is pending. */
export type PendingIn = Pick<SeriesSum, "period" | "group_id">;

export interface Counted {
  readonly plan?: BucketPlan;
  /** `period` is the place in the plan; what lies beyond it is no part of the series. */
  readonly sums?: readonly SeriesSum[];
  /** One for each pending event, all of which the sums count as requests. */
  readonly pending?: readonly PendingIn[];
  readonly snapped: ReportNotes["snapped"];
}

/** Without a plan there are no buckets. */
export function toSeries(
  { bucket }: SeriesQuery,
  { plan, sums = [], pending = [], snapped }: Counted,
): Series {
  return { bucket, buckets: toBuckets(plan, sums, pending), snapped, truncated: false };
}

export function toBuckets(
  plan: BucketPlan | undefined,
  sums: readonly SeriesSum[],
  pending: readonly PendingIn[],
): readonly SeriesBucket[] {
  const starts = plan?.starts ?? [];
  const byPlace = starts.map((): SeriesSum[] => []);
  for (const sum of sums) byPlace[sum.period]?.push(sum);
  const counts = starts.map(() => 0);
  for (const { period } of pending) counts[period] = (counts[period] ?? 0) + 1;
  return starts.map((startUs, place) => toSeriesBucket(startUs, byPlace[place] ?? [], counts[place] ?? 0));
}
