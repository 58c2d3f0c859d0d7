import type { Clock } from "#kernel/clock.ts";
import { sleep } from "#kernel/timer.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import { fenceIdle, fenceLate, type IdleTimes } from "./replica-row.ts";

/** Clocks differ by less in their pace over the longest grace (500 ppm of 45 s are 23 ms). */
export const FENCE_MARGIN_MS = 400;
/** Replicas hear of a change within a few milliseconds, or by their next heartbeat. */
const POLL_MS_MIN = 2;
const POLL_MS_MAX = 25;
/** A database that is away for so long fails the call; what was committed stays. */
const AWAY_MS_MAX = 2_500;

interface Waiting {
  readonly version: number;
  readonly sinceMs: number;
  readonly resolve: () => void;
  readonly reject: (cause: unknown) => void;
}

interface ReplicaBehind {
  readonly id: string;
  readonly applied: number;
  readonly heartbeats: number;
  readonly graceMs: number;
}

export interface BarrierDeps {
  readonly postgres: Postgres;
  readonly clock: Clock;
  readonly idleTimes: IdleTimes;
  /** The own row, which is not waited for; null for a process that has none. */
  readonly ownId: string | null;
}

/**
 * Waits until every replica that may answer from memory has applied a version. One that has not is fenced, by itself or not:
 * as soon as it has been idle for its grace, and at the latest when its grace has passed since the commit. Whatever it
 * believed before the commit it believes no longer by then, and what it asked afterwards has told it of the version.
 */
export class Barrier {
  readonly #deps: BarrierDeps;
  readonly #waiting = new Set<Waiting>();
  #isPolling = false;

  constructor(deps: BarrierDeps) {
    this.#deps = deps;
  }

  /** To be called when the answer to the COMMIT has come. Throws DatabaseUnreachableError. */
  wait(version: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.add({ version, sinceMs: this.#deps.clock.monotonicMs(), resolve, reject });
      if (!this.#isPolling) void this.#poll();
    });
  }

  /** One poll for all that wait: a thousand changes beside a silent replica must not ask a thousand times. */
  async #poll(): Promise<void> {
    const { clock } = this.#deps;
    this.#isPolling = true;
    let pollMs = POLL_MS_MIN;
    let heardMs = clock.monotonicMs();
    while (this.#waiting.size > 0) {
      const asked = [...this.#waiting];
      try {
        await this.#advance(asked);
        heardMs = clock.monotonicMs();
      } catch (cause) {
        if (clock.monotonicMs() - heardMs > AWAY_MS_MAX) this.#fail(asked, cause);
      }
      // The next change asks at once.
      if (this.#waiting.size === 0) break;
      await sleep(pollMs);
      pollMs = Math.min(POLL_MS_MAX, pollMs * 2);
    }
    this.#isPolling = false;
  }

  /** `asked` is who waited before the question was sent: a replica that joins later has loaded what they wait for. */
  async #advance(asked: readonly Waiting[]): Promise<void> {
    const newest = asked.reduce((most, { version }) => Math.max(most, version), 0);
    const behind = await this.#deps.postgres.all<ReplicaBehind>(
      `SELECT id::text AS id, applied, heartbeats, grace_ms AS "graceMs" FROM replica
       WHERE NOT is_fenced AND grace_ms > 0 AND applied < $1 AND id IS DISTINCT FROM $2::uuid`,
      [newest, this.#deps.ownId],
    );
    for (const waiting of asked) {
      let isDone = true;
      for (const replica of behind) {
        if (replica.applied >= waiting.version) continue;
        await this.#fenceOverdue(replica, waiting);
        isDone = false;
      }
      if (!isDone) continue;
      this.#waiting.delete(waiting);
      waiting.resolve();
    }
  }

  /** The next poll shows if it was fenced: it may have applied the version just now. */
  async #fenceOverdue(replica: ReplicaBehind, { version, sinceMs }: Waiting): Promise<void> {
    const { clock, postgres, idleTimes } = this.#deps;
    const nowMs = clock.monotonicMs();
    const limitMs = replica.graceMs + FENCE_MARGIN_MS;
    if (nowMs - sinceMs >= limitMs) await fenceLate(postgres, replica.id, version);
    else if (idleTimes.ofPeer(replica, nowMs) >= limitMs) await fenceIdle(postgres, replica);
  }

  #fail(asked: readonly Waiting[], cause: unknown): void {
    for (const waiting of asked) {
      this.#waiting.delete(waiting);
      waiting.reject(cause);
    }
  }
}
