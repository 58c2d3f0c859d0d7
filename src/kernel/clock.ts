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

/** `YYYY-MM-DDTHH:MM:SS.ssssssZ`, the one spelling of a timestamp on the wire (decisions, "Reports"). */
export function formatInstant(instantUs: InstantUs): string {
  const wholeMs = Math.floor(instantUs / 1000);
  const micros = instantUs - wholeMs * 1000;
  return `${new Date(wholeMs).toISOString().slice(0, -1)}${String(micros).padStart(3, "0")}Z`;
}
