import { utcDay, utcHour, utcMonday, utcMonth, type CountableTimeInterval } from "d3-time";

/** Windows with a name: those that slide with the clock, then those of the UTC calendar, whose weeks begin on Monday. */
const SLIDING_RANGES = ["1h", "24h", "7d", "30d", "90d", "365d", "all"] as const;
const CALENDAR_RANGES = ["today", "yesterday", "this-week", "last-week", "this-month", "last-month"] as const;

export const RANGES = [...SLIDING_RANGES, ...CALENDAR_RANGES] as const;
export type Range = (typeof RANGES)[number];

/** As the picker shows them. */
export const RANGE_GROUPS = [
  { label: "Up to now", ranges: SLIDING_RANGES },
  { label: "By the calendar", ranges: CALENDAR_RANGES },
] as const;

export const RANGE_LABELS: { readonly [range in Range]: string } = {
  "1h": "Last hour",
  "24h": "Last 24 hours",
  "7d": "Last 7 days",
  "30d": "Last 30 days",
  "90d": "Last 90 days",
  "365d": "Last 365 days",
  all: "All time",
  today: "Today",
  yesterday: "Yesterday",
  "this-week": "This week",
  "last-week": "Last week",
  "this-month": "This month",
  "last-month": "Last month",
};

/** Milliseconds since 1970; the end is exclusive. */
export interface Interval {
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** A range at some moment. */
export interface RangeBounds {
  readonly sinceMs: number;
  /** Null: it ends now, and grows with the clock. */
  readonly untilMs: number | null;
  /** What it is compared with: the same length right before, and of the calendar the period before, up to the same point. */
  readonly previous: Interval;
}

/**
 * The bounds of a range at `now`; null for all time. Ranges of days begin at midnight UTC, so that the first bar is a whole
 * day.
 */
export function toRangeBounds(range: Range, now: number): RangeBounds | null {
  if (range === "all") return null;
  const rule = CALENDAR[range];
  if (rule !== undefined) return toCalendarBounds(rule, now);
  const sinceMs = toSlidingStart(range, now);
  return { sinceMs, untilMs: null, previous: { sinceMs: 2 * sinceMs - now, untilMs: sinceMs } };
}

interface CalendarRule {
  readonly period: CountableTimeInterval;
  /** 0 is the period that contains now. */
  readonly periodsBack: 0 | 1;
}

const CALENDAR: { readonly [range in Range]?: CalendarRule } = {
  today: { period: utcDay, periodsBack: 0 },
  yesterday: { period: utcDay, periodsBack: 1 },
  "this-week": { period: utcMonday, periodsBack: 0 },
  "last-week": { period: utcMonday, periodsBack: 1 },
  "this-month": { period: utcMonth, periodsBack: 0 },
  "last-month": { period: utcMonth, periodsBack: 1 },
};

function toCalendarBounds({ period, periodsBack }: CalendarRule, now: number): RangeBounds {
  // `now` is the end of a minute: the last one of a day still belongs to it.
  const start = period.offset(period.floor(new Date(now - 1)), -periodsBack);
  const sinceMs = start.getTime();
  const beforeMs = period.offset(start, -1).getTime();
  const isOver = periodsBack > 0;
  return {
    sinceMs,
    untilMs: isOver ? period.offset(start, 1).getTime() : null,
    previous: {
      sinceMs: beforeMs,
      untilMs: isOver ? sinceMs : Math.min(sinceMs, beforeMs + (now - sinceMs)),
    },
  };
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function toSlidingStart(range: Range, now: number): number {
  if (range === "1h") return now - HOUR_MS;
  if (range === "24h") return utcHour.floor(new Date(now - 23 * HOUR_MS)).getTime();
  const days = Number.parseInt(range, 10);
  return utcDay.floor(new Date(now - (days - 1) * DAY_MS)).getTime();
}
