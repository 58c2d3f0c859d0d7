import type { InstantUs } from "#kernel/clock.ts";
import type { Outcome } from "#usage/event.ts";

/** `since` inclusive, `until` exclusive; null is open. `since` ≥ `until` is an empty window. */
export interface Window {
  readonly sinceUs: InstantUs | null;
  readonly untilUs: InstantUs | null;
}

/** The filters of specification section 4.4; null or empty matches everything. */
export interface UsageFilter {
  readonly principal: string | null;
  readonly keyId: string | null;
  readonly provider: string | null;
  readonly model: string | null;
  /** A literal prefix of the stored User-Agent. */
  readonly clientPrefix: string | null;
  /** Normalised `key:value` pairs, four at most; all must match. */
  readonly tags: readonly string[];
  /** Any of these; null is all. */
  readonly outcomes: readonly Outcome[] | null;
}
