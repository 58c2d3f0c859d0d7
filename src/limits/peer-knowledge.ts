import type { Clock } from "#kernel/clock.ts";
import type { Log } from "#kernel/log.ts";

/** Knowledge that is older is told in the log: three reads in a row were not answered. */
const STALE_MS = 5_000;

/** What other processes have recorded, and what they have under way. */
export type PeerUse = "used" | "underWay";

export interface PeerKnowledgeDeps {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly log: Log;
}

/** Age of what this process knows of the others' use of limits. The log tells once when it is too old, and once when it no longer is. */
export class PeerKnowledge {
  readonly #deps: PeerKnowledgeDeps;
  /** When the last question was sent that was answered, or when one was needed first. */
  readonly #knownAtMs = new Map<PeerUse, number>();
  #staleSinceMs: number | null = null;

  constructor(deps: PeerKnowledgeDeps) {
    this.#deps = deps;
  }

  /** Milliseconds; 0 where no limit needs it. */
  get ageMs(): number {
    const nowMs = this.#deps.clock.monotonicMs();
    return Math.max(0, ...[...this.#knownAtMs.values()].map((knownAtMs) => nowMs - knownAtMs));
  }

  /** Whether a limit needs to know it now. */
  need(use: PeerUse, isNeeded: boolean): void {
    if (!isNeeded) this.#knownAtMs.delete(use);
    else if (!this.#knownAtMs.has(use)) this.#knownAtMs.set(use, this.#deps.clock.monotonicMs());
    this.tell();
  }

  answered(use: PeerUse, sentMs: number): void {
    this.#knownAtMs.set(use, sentMs);
    this.tell();
  }

  /** To be called at intervals: tells the log when it has become too old, or is no longer. */
  tell(): void {
    const { clock, log } = this.#deps;
    const { ageMs } = this;
    const nowMs = clock.monotonicMs();
    if (ageMs < STALE_MS) {
      if (this.#staleSinceMs === null) return;
      const age = Math.round((nowMs - this.#staleSinceMs) / 1000);
      this.#staleSinceMs = null;
      log.info("what other replicas use of limits is known again", { age_seconds: age });
    } else if (this.#staleSinceMs === null) {
      this.#staleSinceMs = nowMs - ageMs;
      log.warn(
        "what other replicas use of limits is not known: what they said last counts on, and together they may pass a limit",
        { age_seconds: Math.round(ageMs / 1000) },
      );
    }
  }
}
