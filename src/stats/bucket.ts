import { DAY_US, HOUR_US, type InstantUs, parseInstant } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { parseWord } from "#kernel/page.ts";
import type { Window } from "./filter.ts";

/** The lengths a series can be cut into: UTC, weeks from Monday (specification, section 4.3). */
export const BUCKETS = ["hour", "day", "week", "month"] as const;
export type Bucket = (typeof BUCKETS)[number];

/** Buckets of one series (specification, section 8). */
export const SERIES_BUCKETS_MAX = 1000;

/** The buckets of a series in order, without a gap: bucket `i` is `[starts[i], starts[i + 1])`, the last ends at `endUs`. */
export interface BucketPlan {
  readonly bucket: Bucket;
  readonly starts: readonly InstantUs[];
  readonly endUs: InstantUs;
}

/** 1970-01-01 was a Thursday. */
const DAYS_AFTER_MONDAY = 3;

/** The query parameter `bucket` (specification, section 4): a day when absent or empty; throws `invalid_bucket`. */
export function parseBucket(query: URLSearchParams): Bucket {
  return parseWord(query, "bucket", BUCKETS, "day", "invalid_bucket");
}

interface BucketQuery {
  readonly bucket: Bucket;
  readonly sinceUs: InstantUs;
  /** Null ends the series with the bucket of `nowUs`. */
  readonly untilUs: InstantUs | null;
  readonly nowUs: InstantUs;
}

/**
 * The buckets that a window touches, whole ones; none when it is empty. Throws `range_too_large` for more than
 * `SERIES_BUCKETS_MAX`, without making them.
 */
export function planBuckets({ bucket, sinceUs, untilUs, nowUs }: BucketQuery): BucketPlan {
  const first = toBucketIndex(bucket, sinceUs);
  const end = untilUs === null ? toBucketIndex(bucket, nowUs) + 1 : toBucketEndIndex(bucket, untilUs);
  const isEmpty = untilUs !== null && sinceUs >= untilUs;
  const count = isEmpty ? 0 : Math.max(end - first, 0);
  if (count > SERIES_BUCKETS_MAX) {
    throw new ProxyError(
      "range_too_large",
      `The window needs ${count} buckets and a series has ${SERIES_BUCKETS_MAX} at most: choose a later since or a longer bucket.`,
      { param: "since" },
    );
  }
  const starts = Array.from({ length: count }, (_, index) => toBucketStart(bucket, first + index));
  return { bucket, starts, endUs: toBucketStart(bucket, first + count) };
}

/** Which bucket an instant lies in, counted from the one that holds 1970-01-01; negative before. */
export function toBucketIndex(bucket: Bucket, instantUs: InstantUs): number {
  if (bucket === "hour") return Math.floor(instantUs / HOUR_US);
  const day = Math.floor(instantUs / DAY_US);
  if (bucket === "day") return day;
  if (bucket === "week") return Math.floor((day + DAYS_AFTER_MONDAY) / 7);
  const date = new Date((day * DAY_US) / 1000);
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
}

/** Where a bucket begins; the next one begins where it ends. */
export function toBucketStart(bucket: Bucket, index: number): InstantUs {
  if (bucket === "hour") return index * HOUR_US;
  if (bucket === "day") return index * DAY_US;
  if (bucket === "week") return (index * 7 - DAYS_AFTER_MONDAY) * DAY_US;
  return Date.UTC(1970, index, 1) * 1000;
}

/** The first bucket that begins at `untilUs` or later. */
function toBucketEndIndex(bucket: Bucket, untilUs: InstantUs): number {
  const index = toBucketIndex(bucket, untilUs);
  return toBucketStart(bucket, index) === untilUs ? index : index + 1;
}

/**
 * The query parameters `since` (inclusive) and `until` (exclusive), specification section 4: ISO 8601 date, datetime, or
 * RFC 3339. A date is midnight UTC, a datetime without zone is UTC, an empty parameter is none. Anything else throws
 * `invalid_date` with `param`.
 */
export function parseWindow(query: URLSearchParams, prefix: "" | "before_" = ""): Window {
  return { sinceUs: parseBound(query, `${prefix}since`), untilUs: parseBound(query, `${prefix}until`) };
}

function parseBound(query: URLSearchParams, param: string): InstantUs | null {
  const text = query.get(param)?.trim() ?? "";
  if (text === "") return null;
  const instant = parseInstant(text);
  if (instant === null) {
    throw new ProxyError(
      "invalid_date",
      `${param} must be an ISO 8601 date or datetime such as 2026-01-31 or 2026-01-31T08:00:00Z.`,
      { param },
    );
  }
  return instant;
}
