import { utcDay, utcHour } from "d3-time";
import { BUCKETS, SERIES_BUCKETS_MAX, type Bucket } from "#stats/bucket.ts";
import { parseInstant } from "#kernel/instant.ts";
import { readText, readWord, type RawSearch } from "./query-string.ts";

/** The time that a view looks at, as it stands in the address: a range that moves along with the clock, or two instants. */
export interface WindowSearch {
  readonly range?: Range | undefined;
  /** Inclusive, ISO 8601; without a zone it is UTC. */
  readonly since?: string | undefined;
  /** Exclusive. */
  readonly until?: string | undefined;
  readonly bucket?: Bucket | undefined;
}

export const RANGES = ["1h", "24h", "7d", "30d", "90d", "365d", "all"] as const;
export type Range = (typeof RANGES)[number];

export const RANGE_LABELS: { readonly [range in Range]: string } = {
  "1h": "Last hour",
  "24h": "Last 24 hours",
  "7d": "Last 7 days",
  "30d": "Last 30 days",
  "90d": "Last 90 days",
  "365d": "Last 365 days",
  all: "All time",
};

/** What the address gets for all time. */
export const ALL_TIME: WindowSearch = {
  range: "all",
  since: undefined,
  until: undefined,
  bucket: undefined,
};

/** What the reports are asked with. */
export interface TimeWindow {
  readonly since: string | undefined;
  readonly until: string | undefined;
  readonly bucket: Bucket;
  /** The window of the same length right before, to compare with; null when there is none. */
  readonly previous: { readonly since: string; readonly until: string } | null;
  /** Null for a window that was chosen by its two ends. */
  readonly range: Range | null;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const BUCKET_MS: { readonly [bucket in Bucket]: number } = {
  hour: HOUR_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 28 * DAY_MS,
};
/** Four digits tell no earlier year. */
const FIRST_MS = Date.UTC(1, 0, 1);
/** More bars than this say less than fewer, wider ones. */
const BARS_MAX = 200;

export function readWindow(search: RawSearch): WindowSearch {
  return {
    range: readWord(search, "range", RANGES),
    since: readText(search, "since"),
    until: readText(search, "until"),
    bucket: readWord(search, "bucket", BUCKETS),
  };
}

/** What the address gets for a window that was chosen by its ends. */
export function toChosenSearch(since: string | undefined, until: string | undefined): WindowSearch {
  return { since, until, range: undefined, bucket: undefined };
}

/**
 * The window at `now` (milliseconds since 1970), which should move once a minute at most: it is part of what a report is
 * cached under. Ranges of days begin at midnight UTC, so that the first bar is a whole day.
 */
export function toTimeWindow(search: WindowSearch, fallback: Range, now: number): TimeWindow {
  if (search.since !== undefined || search.until !== undefined) return toChosenWindow(search, now);
  const range = search.range ?? fallback;
  if (range === "all") {
    return { since: undefined, until: undefined, bucket: search.bucket ?? "week", previous: null, range };
  }
  const sinceMs = toRangeStart(range, now);
  return {
    since: toIso(sinceMs),
    until: undefined,
    bucket: toBucket(search.bucket, now - sinceMs),
    previous: { since: toIso(sinceMs - (now - sinceMs)), until: toIso(sinceMs) },
    range,
  };
}

/** The finest bucket that keeps a chart readable, or the asked one when the server would answer it. */
function toBucket(asked: Bucket | undefined, spanMs: number): Bucket {
  if (asked !== undefined && spanMs / BUCKET_MS[asked] < SERIES_BUCKETS_MAX - 1) return asked;
  return BUCKETS.find((bucket) => spanMs / BUCKET_MS[bucket] <= BARS_MAX) ?? "month";
}

/** Those of the four that a window of this length can be cut into. */
export function possibleBuckets(spanMs: number): readonly Bucket[] {
  return BUCKETS.filter((bucket) => spanMs / BUCKET_MS[bucket] < SERIES_BUCKETS_MAX - 1);
}

/** Milliseconds since 1970, or null for what the server would refuse as `invalid_date`: it is read by the same rule. */
export function parseInstantMs(text: string): number | null {
  const instantUs = parseInstant(text.trim());
  return instantUs === null ? null : instantUs / 1000;
}

/** Of a window with both ends known, else up to `now`; null when it has no beginning. */
export function spanMsOf(window: Pick<TimeWindow, "since" | "until">, now: number): number | null {
  const since = window.since === undefined ? null : parseInstantMs(window.since);
  if (since === null) return null;
  const until = window.until === undefined ? now : (parseInstantMs(window.until) ?? now);
  return Math.max(0, until - since);
}

export function toIso(ms: number): string {
  return new Date(ms).toISOString();
}

function toChosenWindow(search: WindowSearch, now: number): TimeWindow {
  const { since, until } = search;
  const sinceMs = since === undefined ? null : parseInstantMs(since);
  const untilMs = until === undefined ? now : (parseInstantMs(until) ?? now);
  const spanMs = sinceMs === null ? null : Math.max(0, untilMs - sinceMs);
  return {
    since,
    until,
    bucket: spanMs === null ? (search.bucket ?? "week") : toBucket(search.bucket, spanMs),
    previous:
      sinceMs === null || spanMs === null || spanMs === 0 || sinceMs - spanMs < FIRST_MS
        ? null
        : { since: toIso(sinceMs - spanMs), until: toIso(sinceMs) },
    range: null,
  };
}

function toRangeStart(range: Exclude<Range, "all">, now: number): number {
  if (range === "1h") return now - HOUR_MS;
  if (range === "24h") return utcHour.floor(new Date(now - 23 * HOUR_MS)).getTime();
  const days = Number.parseInt(range, 10);
  return utcDay.floor(new Date(now - (days - 1) * DAY_MS)).getTime();
}
