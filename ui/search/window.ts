import { utcFormat } from "d3-time-format";
import { BUCKETS, SERIES_BUCKETS_MAX, type Bucket } from "#stats/bucket.ts";
import { parseInstant } from "#kernel/clock.ts";
import { readText, readWord, type RawSearch } from "./query-string.ts";
import { RANGES, type Range, toRangeBounds } from "./ranges.ts";

/** The time that a view looks at, as it stands in the address: a range that moves along with the clock, or two instants. */
export interface WindowSearch {
  readonly range?: Range | undefined;
  /** Inclusive, ISO 8601; without a zone it is UTC. */
  readonly since?: string | undefined;
  /** Exclusive. */
  readonly until?: string | undefined;
  readonly bucket?: Bucket | undefined;
}

/** The address's value for all time. */
export const ALL_TIME: WindowSearch = {
  range: "all",
  since: undefined,
  until: undefined,
  bucket: undefined,
};

/** Both ends of a window, as instants. */
export interface Period {
  readonly since: string;
  readonly until: string;
}

/** The window as reports are asked for it. */
export interface TimeWindow {
  readonly since: string | undefined;
  readonly until: string | undefined;
  readonly bucket: Bucket;
  /** The window before, to compare with; null when there is none. */
  readonly previous: Period | null;
  /** Null for a window that was chosen by its two ends. */
  readonly range: Range | null;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const BUCKET_MS: { readonly [bucket in Bucket]: number } = {
  hour: HOUR_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 28 * DAY_MS,
};
/** Four digits tell no earlier year. */
const FIRST_MS = Date.UTC(1, 0, 1);
/** From here on a day says more than its hours. */
const DAYS_FROM_MS = 3 * DAY_MS;
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

/** A window as another page's address has it: one that moves along with the clock by its name alone. */
export function toWindowSearch({ range, since, until }: TimeWindow): WindowSearch {
  return range === null ? { since, until } : { range };
}

/** What the address gets for a window that was chosen by its ends. */
export function toChosenSearch(since: string | undefined, until: string | undefined): WindowSearch {
  return { since, until, range: undefined, bucket: undefined };
}

/**
 * The window at `now` (milliseconds since 1970), which should move once a minute at most: it is part of what a report is
 * cached under.
 */
export function toTimeWindow(search: WindowSearch, fallback: Range, now: number): TimeWindow {
  if (search.since !== undefined || search.until !== undefined) return toChosenWindow(search, now);
  const range = search.range ?? fallback;
  const bounds = toRangeBounds(range, now);
  if (bounds === null) {
    return { since: undefined, until: undefined, bucket: search.bucket ?? "week", previous: null, range };
  }
  const { sinceMs, untilMs, previous } = bounds;
  return {
    since: toIso(sinceMs),
    until: untilMs === null ? undefined : toIso(untilMs),
    bucket: toBucket(search.bucket, (untilMs ?? now) - sinceMs),
    previous: { since: toIso(previous.sinceMs), until: toIso(previous.untilMs) },
    range,
  };
}

/** The finest bucket that keeps a chart readable, or the asked one when the server would answer it. */
function toBucket(asked: Bucket | undefined, spanMs: number): Bucket {
  if (asked !== undefined && spanMs / BUCKET_MS[asked] < SERIES_BUCKETS_MAX - 1) return asked;
  if (spanMs < DAYS_FROM_MS) return "hour";
  return BUCKETS.slice(1).find((bucket) => spanMs / BUCKET_MS[bucket] <= BARS_MAX) ?? "month";
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

/** How long a window is, up to `now` where it has no end; null when it has no beginning. */
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

/** The steps of zooming out from a range that slides; what is none of them is widened around its middle. */
const ZOOM_STEPS: readonly Range[] = ["1h", "24h", "7d", "30d", "90d", "365d", "all"];

/**
 * Twice the window around its middle, or the next longer of the ranges that slide; null for a window without a beginning,
 * which has nothing around it. What would reach into the future ends now.
 */
export function toZoomedOut(window: TimeWindow, now: number): WindowSearch | null {
  const sinceMs = window.since === undefined ? null : parseInstantMs(window.since);
  const spanMs = spanMsOf(window, now);
  if (sinceMs === null || spanMs === null) return null;
  const step = window.range === null ? -1 : ZOOM_STEPS.indexOf(window.range);
  if (step >= 0) return { ...ALL_TIME, range: ZOOM_STEPS[step + 1] };
  const untilMs = sinceMs + spanMs * 1.5;
  const isOpen = window.until === undefined || untilMs >= now;
  const widerMs = Math.max(FIRST_MS, sinceMs - spanMs * (window.until === undefined ? 1 : 0.5));
  return toChosenSearch(toIso(toMinute(widerMs)), isOpen ? undefined : toIso(toMinute(untilMs)));
}

/** The windows that the picker can show. */
function toMinute(ms: number): number {
  return Math.floor(ms / MINUTE_MS) * MINUTE_MS;
}

/** A bound of a window as people tell it: a day, and a time within it or none. Both are of UTC. */
export interface DayBound {
  /** `2026-01-31`; empty without a bound. */
  readonly day: string;
  /** `08:00`; empty for the whole day. */
  readonly time: string;
}

const NO_BOUND: DayBound = { day: "", time: "" };

/** Where the window begins; a midnight is the whole day. */
export function toFirstDay(since: string | undefined): DayBound {
  const ms = since === undefined ? null : parseInstantMs(since);
  return ms === null ? NO_BOUND : toBound(ms);
}

/** Where the window ends: an end at midnight, which is exclusive, is the whole day before it. */
export function toLastDay(until: string | undefined): DayBound {
  const ms = until === undefined ? null : parseInstantMs(until);
  if (ms === null) return NO_BOUND;
  return isMidnight(ms) ? { day: toIso(ms - DAY_MS).slice(0, 10), time: "" } : toBound(ms);
}

/** The inclusive start as the address holds it; undefined without a day. */
export function toSince({ day, time }: DayBound): string | undefined {
  if (day === "") return undefined;
  return time === "" ? day : `${day}T${time}`;
}

/** The exclusive end as the address holds it: a day without a time is in the window to its end. */
export function toUntil({ day, time }: DayBound): string | undefined {
  const ms = day === "" ? null : parseInstantMs(day);
  if (ms === null) return undefined;
  return time === "" ? toIso(ms + DAY_MS).slice(0, 10) : `${day}T${time}`;
}

/** `2026-01-01 – 2026-01-31` with its last day included, one day alone, or instants where a bound is no midnight. */
export function formatWindow(since: string | undefined, until: string | undefined): string {
  const [sinceMs, untilMs] = [since, until].map((text) => (text === undefined ? null : parseInstantMs(text)));
  const isWhole = [sinceMs, untilMs].every((ms) => ms === null || ms === undefined || isMidnight(ms));
  const from = since === undefined ? "the beginning" : formatBound(toFirstDay(since), since, isWhole);
  if (until === undefined) return `${from} – now`;
  const last = isWhole ? toLastDay(until) : toBound(untilMs ?? Number.NaN);
  const to = formatBound(last, until, isWhole);
  return from === to ? from : `${from} – ${to}`;
}

const toShortDay = utcFormat("%-d %b");
const toTimeOfDay = utcFormat("%H:%M");

/** A window before in as few words as say it: `25 Sep to 24 Oct`, `27 Nov`, `27 Nov, 22:00 to 23:00`; a year that is not that of `now` is told. */
export function formatPeriod({ since, until }: Period, now: number): string {
  const [from, end] = [new Date(since), new Date(until)];
  // A bound at midnight belongs to the day that it ends.
  const last = new Date(end.getTime() - 1);
  const [first, to] = [toShortDay(from), toShortDay(last)];
  const year = last.getUTCFullYear();
  const inYear = year === new Date(now).getUTCFullYear() ? "" : ` ${year}`;
  if (
    end.getTime() - from.getTime() > 2 * DAY_MS ||
    (isMidnight(from.getTime()) && isMidnight(end.getTime()))
  ) {
    return first === to ? `${to}${inYear}` : `${first} to ${to}${inYear}`;
  }
  const [opens, closes] = [toTimeOfDay(from), toTimeOfDay(end)];
  return first === to
    ? `${to}${inYear}, ${opens} to ${closes}`
    : `${first} ${opens} to ${toShortDay(end)} ${closes}${inYear}`;
}

/** What cannot be read stands as it was written. */
function formatBound({ day, time }: DayBound, text: string, isWhole: boolean): string {
  if (day === "") return text;
  return isWhole ? day : `${day} ${time === "" ? "00:00" : time}`;
}

function toBound(ms: number): DayBound {
  if (Number.isNaN(ms)) return NO_BOUND;
  const iso = toIso(ms);
  return { day: iso.slice(0, 10), time: isMidnight(ms) ? "" : iso.slice(11, 16) };
}

function isMidnight(ms: number): boolean {
  return ms % DAY_MS === 0;
}
