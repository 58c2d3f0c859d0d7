import type { Database } from "bun:sqlite";
import { DAY_US, HOUR_US, type InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { BucketPlan } from "#stats/bucket.ts";
import { planBuckets, toBucketIndex } from "#stats/bucket.ts";
import type { ReportNotes, Series, StatsStore } from "#stats/store.ts";
import { toFirstDay, toHour } from "#storage/ledger/windows/calendar.ts";
import { findDimensions } from "./dimension-sums.ts";
import { findFirstMatch } from "./first-match.ts";
import { readTransaction } from "./read-transaction.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import { resolveFilter } from "./request-filter.ts";
import type { BucketRange, SeriesSum } from "./series-sums.ts";
import { sumDimensions, sumHours, sumRows, sumTotals, toSeriesBucket } from "./series-sums.ts";
import { findRowWindow } from "./row-window.ts";
import type { RawRange, Span } from "./window-cut.ts";
import { cutWindow } from "./window-cut.ts";

/** Rows that a series of hours may look at one by one: some seconds. */
const SERIES_ROWS_MAX = 25_000_000;

export type SeriesQuery = Parameters<StatsStore["readSeries"]>[0];

/**
 * The series of `StatsStore.readSeries`. By outcome alone it is read from the totals of hours. Any other filter is read from
 * those of days and months, or of its dimension where it has only one; by the hour it is read row by row. Throws
 * `range_too_large` before it reads.
 */
export function readSeries(database: Database, query: SeriesQuery): Series {
  const { sinceUs } = query.window;
  if (sinceUs !== null) planFrom(query, sinceUs);
  return readTransaction(database, () => {
    const filter = resolveFilter(database, query);
    if (filter.isByOutcomeOnly || query.bucket !== "hour") return readFromTotals(database, query, filter);
    return readFromRows(database, query, filter);
  });
}

function readFromTotals(database: Database, query: SeriesQuery, filter: ResolvedFilter): Series {
  const { bucket, window } = query;
  const isByDimension = findDimensions(database, filter);
  const into = filter.isByOutcomeOnly ? "hours" : bucket === "month" && !isByDimension ? "months" : "days";
  const cut = cutWindow(database, window, into);
  const startUs = window.sinceUs ?? findFirstMatch(database, cut, filter);
  if (startUs === null) return toSeries(query, { snapped: cut.snapped });
  const plan = planFrom(query, startUs);

  const first = toBucketIndex(bucket, startUs);
  const inDays = (sums: readonly SeriesSum[]) =>
    sums.map((sum) => ({ ...sum, period: toBucketIndex(bucket, sum.period * DAY_US) - first }));
  const inMonths = (sums: readonly SeriesSum[]) =>
    inDays(sums.map((sum) => ({ ...sum, period: toFirstDay(sum.period) })));
  const sums = [
    ...cut.hours.flatMap((span) => sumHours(database, toHourRanges(plan, span), filter.outcomes)),
    ...cut.months.flatMap((span) => inMonths(sumTotals(database, "month_total", { span, filter }))),
    ...cut.sealedDays.flatMap((span) =>
      inDays(
        isByDimension
          ? sumDimensions(database, filter, span)
          : sumTotals(database, "sealed_day_total", { span, filter }),
      ),
    ),
    ...cut.openDays.flatMap((span) => inDays(sumTotals(database, "day_total", { span, filter }))),
    ...cut.raw.flatMap((range) => sumRows(database, toRowRanges(plan, range), filter)),
  ];
  return toSeries(query, { plan, sums, snapped: cut.snapped });
}

function readFromRows(database: Database, query: SeriesQuery, filter: ResolvedFilter): Series {
  const { sinceUs, untilUs } = query.window;
  const rows = findRowWindow(database, query.window, filter);
  const startUs = rows?.startUs ?? sinceUs;
  if (startUs === null) return toSeries(query, { snapped: null });
  const plan = planFrom(query, startUs);
  if (rows === null) return toSeries(query, { plan, snapped: null });

  const endUs = untilUs ?? plan.endUs;
  const snapped = rows.isSnapped ? { sinceUs: startUs, untilUs: Math.max(endUs, startUs) } : null;
  const range = { fromUs: startUs, toUs: Math.min(endUs, rows.endUs) };
  refuseTooManyRows(database, range);
  return toSeries(query, { plan, snapped, sums: sumRows(database, toRowRanges(plan, range), filter) });
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

function refuseTooManyRows(database: Database, { fromUs, toUs }: RawRange): void {
  const row = database
    .query<{ requests: number | null }, [number, number]>(
      "SELECT sum(requests) AS requests FROM hour_total WHERE hour >= ? AND hour < ?",
    )
    .get(toHour(fromUs), Math.ceil(toUs / HOUR_US));
  if ((row?.requests ?? 0) > SERIES_ROWS_MAX) {
    throw new ProxyError(
      "range_too_large",
      `Hours of one filter are counted request by request, ${SERIES_ROWS_MAX} at most: choose a later since or a longer bucket.`,
      { param: "since" },
    );
  }
}

interface Counted {
  readonly plan?: BucketPlan;
  /** `period` is the place in the plan; what lies beyond it is no part of the series. */
  readonly sums?: readonly SeriesSum[];
  readonly snapped: ReportNotes["snapped"];
}

/** Without a plan there are no buckets. */
function toSeries({ bucket }: SeriesQuery, { plan, sums = [], snapped }: Counted): Series {
  const starts = plan?.starts ?? [];
  const byPlace = starts.map((): SeriesSum[] => []);
  for (const sum of sums) byPlace[sum.period]?.push(sum);
  const buckets = starts.map((startUs, place) => toSeriesBucket(startUs, byPlace[place] ?? []));
  return { bucket, buckets, snapped, truncated: false };
}
