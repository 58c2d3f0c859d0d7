/** Buckets as section 4.3 says them, by way of the calendar and one step at a time: slow, and easy to see through. */

export type BucketName = "hour" | "day" | "week" | "month";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const BUCKETS_MAX = 1000;

/** The start of the bucket that holds this instant, in microseconds. */
export function toBucketStart(bucket: BucketName, instantUs: number): number {
  const date = new Date(Math.floor(instantUs / 1000));
  date.setUTCMinutes(0, 0, 0);
  if (bucket === "hour") return date.getTime() * 1000;
  date.setUTCHours(0);
  if (bucket === "month") date.setUTCDate(1);
  if (bucket === "week") while (date.getUTCDay() !== 1) date.setTime(date.getTime() - DAY_MS);
  return date.getTime() * 1000;
}

export function toNextStart(bucket: BucketName, startUs: number): number {
  const date = new Date(startUs / 1000);
  if (bucket === "month") date.setUTCMonth(date.getUTCMonth() + 1);
  else date.setTime(date.getTime() + { hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS }[bucket]);
  return date.getTime() * 1000;
}

/** The starts of the buckets that `[fromUs, toUs)` touches; null when there are more than a series may have. */
export function listBucketStarts(bucket: BucketName, fromUs: number, toUs: number): number[] | null {
  const starts: number[] = [];
  if (fromUs >= toUs) return starts;
  for (let at = toBucketStart(bucket, fromUs); at < toUs; at = toNextStart(bucket, at)) {
    if (starts.length === BUCKETS_MAX) return null;
    starts.push(at);
  }
  return starts;
}
