import type { InstantUs, Clock } from "./clock.ts";

/** Fresh identifiers and secrets, passed in so that tests can foresee them. */
export interface Ids {
  /** A UUIDv7 as text (RFC 9562, section 5.7). */
  uuid(): string;
  /** Cryptographically secure random bytes. */
  randomBytes(sizeBytes: number): Uint8Array;
}

export function createSystemIds(): Ids {
  return {
    uuid: () => Bun.randomUUIDv7(),
    randomBytes: (sizeBytes) => crypto.getRandomValues(new Uint8Array(sizeBytes)),
  };
}

/** The text behind the milliseconds, by microsecond. */
const UUID_ENDS = Array.from(
  { length: 1000 },
  (_, micros) => `-7${micros.toString(16).padStart(3, "0")}-8000-000000000000`,
);
/** The spelling of the latest millisecond is kept: many events share it, and each answer names its own. */
let latestMs = -1;
let latestStart = "";

/** Digits of a UUID's last group, which holds the lane. */
const NODE_DIGITS = 12;
const EVENT_UUID = /^([0-9a-f]{8})-([0-9a-f]{4})-7([0-9a-f]{3})-8000-([0-9a-f]{12})$/;

/**
 * The UUIDv7 of a usage event, derived from its microsecond id, which is unique in a lane: nothing is stored for it. 48 bits
 * of milliseconds, then the microseconds in `rand_a` (RFC 9562, section 6.2, method 3), then `rand_b`, which is the lane of
 * the replica that took the request: without it two replicas would give one id twice. A single server's lane is 0.
 */
export function eventIdToUuid(eventId: InstantUs, lane = 0): string {
  const ms = Math.floor(eventId / 1000);
  if (ms !== latestMs) {
    const time = ms.toString(16).padStart(12, "0");
    latestMs = ms;
    latestStart = `${time.slice(0, 8)}-${time.slice(8)}`;
  }
  const end = UUID_ENDS[eventId - ms * 1000] ?? "";
  if (lane === 0) return latestStart + end;
  return latestStart + end.slice(0, -NODE_DIGITS) + lane.toString(16).padStart(NODE_DIGITS, "0");
}

/** The arguments of `eventIdToUuid`. */
export interface EventOrigin {
  readonly eventId: InstantUs;
  readonly lane: number;
}

/** Null for what `eventIdToUuid` never gives. */
export function parseEventUuid(text: string): EventOrigin | null {
  const [, high, low, micros, lane] = EVENT_UUID.exec(text) ?? [];
  if (high === undefined || low === undefined || micros === undefined || lane === undefined) return null;
  const eventId = Number.parseInt(high + low, 16) * 1000 + Number.parseInt(micros, 16);
  const origin = { eventId, lane: Number.parseInt(lane, 16) };
  return Number.isSafeInteger(eventId) && eventIdToUuid(eventId, origin.lane) === text ? origin : null;
}

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
