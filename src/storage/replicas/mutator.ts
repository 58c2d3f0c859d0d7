import type { Clock } from "#kernel/clock.ts";
import type { Ids } from "#kernel/ids.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import type { Barrier } from "./barrier.ts";
import type { Hints } from "./hints.ts";
import { commitMutation, type Made, refuseUnseen } from "./mutation.ts";

export interface MutatorDeps {
  readonly postgres: Postgres;
  readonly hints: Pick<Hints, "tell">;
  readonly barrier: Barrier;
  /** Own memory, which has to have a change before its answer. */
  readonly refreshed: () => Promise<void>;
  readonly clock: Clock;
  readonly ids: Ids;
  /** See `OpenOptions`; absent in a server, whose callers have their answer or none. */
  readonly onUnconfirmed?: (() => () => void) | undefined;
}

/** Makes changes that hold for every replica when they are answered. */
export class Mutator {
  readonly #deps: MutatorDeps;
  /** How long the last change waited for other replicas; null before the first. */
  barrierMs: number | null = null;

  constructor(deps: MutatorDeps) {
    this.#deps = deps;
  }

  async mutate<R>(step: (tx: Transaction) => Promise<Made<R>>): Promise<R> {
    const { postgres, hints, barrier, refreshed, clock, ids } = this.#deps;
    const { result, version } = await commitMutation(postgres, step, ids.uuid());
    if (version === null) return result;
    hints.tell();
    const sinceMs = clock.monotonicMs();
    const confirmed = this.#deps.onUnconfirmed?.();
    try {
      await Promise.all([refreshed(), barrier.wait(version)]);
    } catch (cause) {
      throw refuseUnseen(cause);
    } finally {
      confirmed?.();
    }
    this.barrierMs = clock.monotonicMs() - sinceMs;
    return result;
  }
}
