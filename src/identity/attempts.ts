import type { Clock } from "#kernel/clock.ts";

/** Specification, section 8. */
export const FAILURE_DELAY_MS = 400;
/** The delay does not stop parallel guessing; these do, over the whole process (decisions, "Sign-in"). */
export const ATTEMPTS_PER_SECOND = 10;
export const ATTEMPTS_BURST = 20;

/** A token bucket: true when an attempt at signing in may be looked at now. */
export function createAttemptLimit(clock: Clock): () => boolean {
  let available = ATTEMPTS_BURST;
  let filledAtMs = clock.monotonicMs();
  return () => {
    const nowMs = clock.monotonicMs();
    const refilled = available + ((nowMs - filledAtMs) / 1000) * ATTEMPTS_PER_SECOND;
    available = Math.min(ATTEMPTS_BURST, refilled);
    filledAtMs = nowMs;
    if (available < 1) return false;
    available -= 1;
    return true;
  };
}

export function sleepFor(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
