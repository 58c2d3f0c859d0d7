/** A moment on the wall clock: whole microseconds since the Unix epoch, UTC. */
export type InstantUs = number;

export const HOUR_US = 3_600_000_000;
export const DAY_US = 24 * HOUR_US;

/** Time, passed in. Durations come from `monotonicMs`, moments from `nowUs`; the two are never mixed. */
export interface Clock {
  /** Wall clock. May jump when an operator or NTP sets it. */
  nowUs(): InstantUs;
  /** Milliseconds since some fixed moment, with a fraction; never runs backwards. */
  monotonicMs(): number;
}

/** `Date.now()` counts milliseconds; beyond this difference the wall clock was set, and the microseconds are anchored again. */
const ANCHOR_DRIFT_MS_MAX = 2;

/** The machine's clock, in microseconds: the wall clock's milliseconds refined by the monotonic clock. */
export function createSystemClock(): Clock {
  let offsetMs = Date.now() - performance.now();
  return {
    nowUs() {
      const wallMs = Date.now();
      let refinedMs = performance.now() + offsetMs;
      if (Math.abs(refinedMs - wallMs) > ANCHOR_DRIFT_MS_MAX) {
        offsetMs += wallMs - refinedMs;
        refinedMs = wallMs;
      }
      return Math.round(refinedMs * 1000);
    },
    monotonicMs: () => performance.now(),
  };
}

/** The year 0000, and the last number before the year 10000: four digits tell no other instant. */
export const FIRST_INSTANT_US = Date.UTC(-1, 12, 1) * 1000;
/** So far from 1970 a number counts in steps of 32: the microsecond before midnight would be midnight. */
export const LAST_INSTANT_US = 253_402_300_799_999_968;

/**
 * `YYYY-MM-DDTHH:MM:SS.ssssssZ`, the one spelling of a timestamp on the wire (decisions, "Reports"). An instant that it
 * cannot tell, such as one that was written by hand, is the nearest that it can: one row must not take a whole list out.
 */
export function formatInstant(instantUs: InstantUs): string {
  // What is no number is neither above the one nor below the other: SQLite keeps a word in a column of numbers.
  const toldUs =
    instantUs > LAST_INSTANT_US
      ? LAST_INSTANT_US
      : instantUs >= FIRST_INSTANT_US
        ? instantUs
        : FIRST_INSTANT_US;
  const micros = ((toldUs % 1000) + 1000) % 1000;
  // Beyond the year 2255 not every microsecond is a number: the difference is a whole millisecond only once it is rounded.
  const wholeMs = Math.round((toldUs - micros) / 1000);
  return `${new Date(wholeMs).toISOString().slice(0, -1)}${String(micros).padStart(3, "0")}Z`;
}
