import type { CountableTimeInterval } from "d3-time";
import { utcDay, utcHour, utcMonday, utcMonth } from "d3-time";
import { utcFormat } from "d3-time-format";
import { formatInstant } from "#kernel/clock.ts";
import type { Bucket } from "#stats/bucket.ts";

/** `[start, end)`, in the server's spelling of a timestamp, so that both can be `since` and `until` of a report. */
export interface BucketRange {
  readonly startIso: string;
  readonly endIso: string;
}

export const INTERVALS: { readonly [bucket in Bucket]: CountableTimeInterval } = {
  hour: utcHour,
  day: utcDay,
  week: utcMonday,
  month: utcMonth,
};

const formatTime = utcFormat("%H:%M");
const formatDay = utcFormat("%-d %b %Y");
const formatWeekday = utcFormat("%a %-d %b %Y");
const formatMonth = utcFormat("%B %Y");

/** Where the bucket ends that holds `start`, and the next one begins. */
export function toBucketEnd(bucket: Bucket, start: Date): Date {
  const interval = INTERVALS[bucket];
  return interval.offset(interval.floor(start), 1);
}

/** From the start of the bucket at `first` to the end of the one at `last`, both inclusive and in either order. */
export function toBucketRange(bucket: Bucket, first: Date, last: Date = first): BucketRange {
  const [from, to] = first <= last ? [first, last] : [last, first];
  return { startIso: toIso(from), endIso: toIso(toBucketEnd(bucket, to)) };
}

/** A bucket, or several in a row, in words: `Tue 3 Mar 2026, 14:00–15:00 UTC`. */
export function toRangeText(bucket: Bucket, first: Date, last: Date = first): string {
  const [from, to] = first <= last ? [first, last] : [last, first];
  const isOne = from.getTime() === to.getTime();
  if (bucket === "hour") return toHourText(from, toBucketEnd(bucket, to));
  if (bucket === "month") {
    return isOne ? `${formatMonth(from)} UTC` : `${formatMonth(from)} – ${formatMonth(to)} UTC`;
  }
  const lastDay = utcDay.offset(toBucketEnd(bucket, to), -1);
  const isOneDay = from.getTime() === lastDay.getTime();
  return isOneDay ? `${formatWeekday(from)} UTC` : `${formatDay(from)} – ${formatDay(lastDay)} UTC`;
}

function toHourText(from: Date, end: Date): string {
  // Midnight belongs to the day that ends with it, else one hour would be told as two days.
  const isOneDay = utcDay.floor(from).getTime() === utcDay.floor(new Date(end.getTime() - 1)).getTime();
  if (isOneDay) return `${formatWeekday(from)}, ${formatTime(from)}–${toEndTime(end)} UTC`;
  return `${formatDay(from)} ${formatTime(from)} – ${formatDay(end)} ${formatTime(end)} UTC`;
}

function toEndTime(end: Date): string {
  return utcDay.floor(end).getTime() === end.getTime() ? "24:00" : formatTime(end);
}

function toIso(instant: Date): string {
  return formatInstant(instant.getTime() * 1000);
}
