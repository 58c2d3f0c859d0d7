import type { InstantUs } from "./clock.ts";

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

/**
 * The UUIDv7 of a usage event, derived from its microsecond id, which is unique in a ledger: nothing is stored for it.
 * 48 bits of milliseconds, then the microseconds in `rand_a` (RFC 9562, section 6.2, method 3), then a fixed `rand_b` pattern.
 */
export function eventIdToUuid(eventId: InstantUs): string {
  const ms = Math.floor(eventId / 1000);
  const micros = eventId - ms * 1000;
  const time = ms.toString(16).padStart(12, "0");
  const sub = micros.toString(16).padStart(3, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${sub}-8000-000000000000`;
}
