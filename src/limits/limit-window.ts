import { HOUR_US, type InstantUs } from "#kernel/clock.ts";
import { toBucketIndex, toBucketStart } from "#stats/bucket.ts";
import type { LimitWindow } from "./limit.ts";

const MINUTE_US = 60_000_000;

/**
 * Sliding windows move in steps, so that what they hold is bounded: 6,000 sums for a minute and 3,600 for an hour. A window
 * begins with a whole step, and is up to one step shorter than its name says: a longer one would keep a caller waiting for
 * more than the minute that official SDKs wait.
 */
const SLIDING = {
  minute: { lengthUs: MINUTE_US, stepUs: 10_000 },
  hour: { lengthUs: HOUR_US, stepUs: 1_000_000 },
} as const;

export type SlidingWindow = keyof typeof SLIDING;
export type CalendarWindow = Exclude<LimitWindow, SlidingWindow>;

export function isSliding(window: LimitWindow): window is SlidingWindow {
  return window in SLIDING;
}

/** How long a sliding window is, in microseconds. */
export const SLIDING_LENGTH_US: { readonly [window in SlidingWindow]: number } = {
  minute: SLIDING.minute.lengthUs,
  hour: SLIDING.hour.lengthUs,
};

/** How long a step of a sliding window is, in microseconds. */
export function toStepUs(window: SlidingWindow): number {
  return SLIDING[window].stepUs;
}

/** The instant from which on a window counts what lies in it at `nowUs`; 0 for `total`. */
export function toWindowStart(window: LimitWindow, nowUs: InstantUs): InstantUs {
  if (window === "total") return 0;
  if (!isSliding(window)) return recall(window, nowUs).startUs;
  const { lengthUs, stepUs } = SLIDING[window];
  return (Math.floor((nowUs - lengthUs) / stepUs) + 1) * stepUs;
}

/** When a calendar window starts anew; null for those that slide or never end. */
export function toWindowEnd(window: LimitWindow, nowUs: InstantUs): InstantUs | null {
  if (window === "total" || isSliding(window)) return null;
  return recall(window, nowUs).endUs;
}

type BucketWindow = Exclude<CalendarWindow, "total">;

/** The window of each length that was asked for last: every request asks several times, and the calendar is slow to ask. */
const latest: { [window in BucketWindow]: { readonly startUs: InstantUs; readonly endUs: InstantUs } } = {
  day: { startUs: 0, endUs: 0 },
  week: { startUs: 0, endUs: 0 },
  month: { startUs: 0, endUs: 0 },
};

function recall(window: BucketWindow, atUs: InstantUs) {
  const known = latest[window];
  if (atUs >= known.startUs && atUs < known.endUs) return known;
  const index = toBucketIndex(window, atUs);
  return (latest[window] = {
    startUs: toBucketStart(window, index),
    endUs: toBucketStart(window, index + 1),
  });
}

/** The first instant at which something that lies at `atUs` is out of a sliding window. */
export function toSlidOut(window: SlidingWindow, atUs: InstantUs): InstantUs {
  const { lengthUs, stepUs } = SLIDING[window];
  return Math.floor(atUs / stepUs) * stepUs + lengthUs;
}
