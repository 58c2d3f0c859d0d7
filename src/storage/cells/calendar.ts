import { DAY_US, HOUR_US, type InstantUs } from "#kernel/clock.ts";
import { toBucketIndex, toBucketStart } from "#stats/bucket.ts";

/** Buckets of totals are whole hours, days and months since 1970-01-01 UTC. */
export function toHour(instantUs: InstantUs): number {
  return Math.floor(instantUs / HOUR_US);
}

export function toDay(instantUs: InstantUs): number {
  return Math.floor(instantUs / DAY_US);
}

export function toMonth(day: number): number {
  return toBucketIndex("month", day * DAY_US);
}

export function toFirstDay(month: number): number {
  return toDay(toBucketStart("month", month));
}

/** Days are sealed when they lie at least this far back: nearly every late end has come by then. */
export const SEAL_AGE_DAYS = 2;

export function toSealBeforeDay(nowUs: InstantUs): number {
  return toDay(nowUs) - SEAL_AGE_DAYS + 1;
}
