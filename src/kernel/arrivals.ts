import type { Clock, InstantUs } from "./clock.ts";

/** Tells when a request arrives; no two of a process arrive at one instant, so that the instant is the request's id. */
export interface Arrivals {
  /** This process's lane: with the instant it tells a request from those of every other replica (`eventIdToUuid`). */
  readonly lane: number;
  next(): InstantUs;
  /** The newest one; 0 before the first. */
  latest(): InstantUs;
}

/** A clock that was set back by more counts on from where it is: a request of an hour ago must not date those of now. */
const SET_BACK_US_MAX = 1_000_000;

/**
 * The usage event of a request has this instant as its id, since the ledger gives each event the instant of its arrival or
 * the next free one: an answer can name its event before that is written. A clock that was set back by over a second may
 * give an instant again that an event of then has.
 */
export function createArrivals(clock: Pick<Clock, "nowUs">, lane = 0): Arrivals {
  let lastUs = 0;
  return {
    lane,
    next() {
      const nowUs = clock.nowUs();
      lastUs = nowUs > lastUs || lastUs - nowUs > SET_BACK_US_MAX ? nowUs : lastUs + 1;
      return lastUs;
    },
    latest: () => lastUs,
  };
}
