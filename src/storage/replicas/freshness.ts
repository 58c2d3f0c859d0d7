import type { Clock } from "#kernel/clock.ts";
import type { Ids } from "#kernel/ids.ts";
import { joinNext } from "#kernel/join-next.ts";
import type { Memory } from "#storage/catalog/change.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Script } from "#storage/sql/script.ts";
import { Barrier } from "./barrier.ts";
import { Hints, ReplicaFollower } from "./follower.ts";
import { Mutator } from "./mutation.ts";
import { IdleTimes } from "./replica-row.ts";

/** Tells when memory may be believed, and changes the catalog for every replica. */
export interface Freshness {
  /** True while memory may be believed without asking. Cheap enough for every request. */
  isTrusted(): boolean;
  /**
   * Fulfilled when memory is at least as new as the database was when this was called. Throws DatabaseUnreachableError, and
   * what `Memory` throws.
   */
  refreshed(): Promise<void>;
  /**
   * One change (`changeCatalog`). Fulfilled when it holds for every request that any replica begins from now on, and own memory
   * has it. Throws what the script throws, and `internal_error` when the database is away; its message says whether the change
   * was made.
   */
  change<Answer>(script: () => Script<Answer>): Promise<Answer>;
}

export interface GuestOptions {
  readonly postgres: Postgres;
  readonly memory: Memory;
  readonly clock: Clock;
  readonly ids: Ids;
  /** See `OpenOptions`. */
  readonly onUnconfirmed?: (() => () => void) | undefined;
}

/** For a command beside the replicas: it asks each time, nothing waits for it, and its changes wait for all of them. */
export function createGuestFreshness(options: GuestOptions): Freshness {
  const { postgres, memory, ...rest } = options;
  const follower = new ReplicaFollower({ postgres, memory });
  const refreshed = joinNext(() => follower.poll());
  const barrier = new Barrier({ postgres, clock: rest.clock, idleTimes: new IdleTimes(), ownId: null });
  const hints = new Hints(postgres);
  const isTrusted = () => false;
  const mutator = new Mutator({ postgres, hints, barrier, follower, isTrusted, refreshed, ...rest });
  return { isTrusted, refreshed, change: (script) => mutator.change(script) };
}
