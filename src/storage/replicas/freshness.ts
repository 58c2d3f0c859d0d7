import type { Clock } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import { sleep, withinLimit } from "#kernel/timer.ts";
import {
  changeCatalog,
  type ChangeStamp,
  type Follower,
  type MadeChange,
  type Memory,
} from "#storage/catalog/change.ts";
import { drive } from "#storage/postgres/connection/drive.ts";
import { STATEMENT_MS_MAX } from "#storage/postgres/connection/limits.ts";
import { DatabaseUnreachableError, STANDBY, StatementError } from "#storage/postgres/connection/errors.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Script } from "#storage/sql/script.ts";
import { Barrier } from "./barrier.ts";
import { Hints, ReplicaFollower } from "./follower.ts";
import { IdleTimes } from "./replica-row.ts";

interface FreshnessDeps {
  readonly postgres: Postgres;
  readonly hints: Pick<Hints, "send">;
  readonly barrier: Barrier;
  readonly follower: Follower;
  /** True while memory may be believed without asking. Cheap enough for every request. */
  readonly isTrusted: () => boolean;
  /**
   * Fulfilled when memory is at least as new as the database was when this was called. Throws DatabaseUnreachableError, and
   * what `Memory` throws.
   */
  readonly refreshed: () => Promise<void>;
  readonly clock: Clock;
  readonly ids: Ids;
  /** See `OpenOptions`; absent in a server, whose callers have their answer or none. */
  readonly onUnconfirmed?: (() => () => void) | undefined;
}

/** Tells when memory may be believed, and changes the catalog for every replica. */
export class Freshness {
  readonly #deps: FreshnessDeps;
  readonly isTrusted: FreshnessDeps["isTrusted"];
  readonly refreshed: FreshnessDeps["refreshed"];
  /** Time that the last change waited for other replicas; null before the first. */
  barrierMs: number | null = null;

  constructor(deps: FreshnessDeps) {
    this.#deps = deps;
    this.isTrusted = deps.isTrusted;
    this.refreshed = deps.refreshed;
  }

  /**
   * One change (`changeCatalog`). Fulfilled when it holds for every request that any replica begins from now on, and own memory
   * has it. Throws what the script throws, and `internal_error` when the database is away; its message says whether the change
   * was made.
   */
  async change<Answer>(script: () => Script<Answer>): Promise<Answer> {
    const { hints, barrier, refreshed, clock, ids } = this.#deps;
    const { answer, version } = await this.#commit(script, { token: ids.uuid(), atUs: clock.nowUs() });
    if (version === null) return answer;
    hints.send();
    const sinceMs = clock.monotonicMs();
    const confirmed = this.#deps.onUnconfirmed?.();
    try {
      await Promise.all([refreshed(), barrier.wait(version)]);
    } catch (cause) {
      throw refuse(UNSEEN, cause);
    } finally {
      confirmed?.();
    }
    this.barrierMs = clock.monotonicMs() - sinceMs;
    return answer;
  }

  /** Throws `internal_error` when the database is away: nothing was made then, or the message says that it may have been. */
  async #commit<Answer>(script: () => Script<Answer>, stamp: ChangeStamp): Promise<MadeChange<Answer>> {
    const { postgres, follower, isTrusted, refreshed } = this.#deps;
    const made: MadeChange<Answer>[] = [];
    try {
      // Memory that is far behind, as after a fence, would be read under the lock for which every change waits.
      if (!isTrusted()) await refreshed();
      const done = await postgres.transaction(
        async (tx) => {
          const change = await drive(tx, changeCatalog(follower, script(), stamp));
          made.push(change);
          return change;
        },
        { callMsMax: STATEMENT_MS_MAX.mutation },
      );
      done.takeOver();
      return done;
    } catch (cause) {
      if (cause instanceof StatementError && cause.isPassing) throw refuseUnmade(cause);
      if (!(cause instanceof DatabaseUnreachableError)) throw cause;
      const [lost] = made;
      if (!cause.mayBeCommitted || lost === undefined) throw refuseUnmade(cause);
      // Without a version nothing in the database tells whether it was made.
      if (lost.version === null) throw refuse(UNCERTAIN, cause);
      const isMade = await withinLimit(findCommitted(postgres, stamp.token), UNCERTAIN_MS_MAX, () => {
        throw refuse(UNCERTAIN, null);
      });
      if (!isMade) throw refuseUnmade(null);
      return lost;
    }
  }
}

export interface GuestOptions extends Pick<FreshnessDeps, "postgres" | "clock" | "ids" | "onUnconfirmed"> {
  readonly memory: Memory;
}

/** For a command beside the replicas: it asks each time, nothing waits for it, and its changes wait for all of them. */
export function createGuestFreshness({ memory, ...deps }: GuestOptions): Freshness {
  const { postgres, clock } = deps;
  const follower = new ReplicaFollower({ postgres, memory });
  return new Freshness({
    ...deps,
    follower,
    hints: new Hints(postgres),
    barrier: new Barrier({ postgres, clock, idleTimes: new IdleTimes(), ownId: null }),
    isTrusted: () => false,
    refreshed: follower.poll,
  });
}

/** A COMMIT whose answer was lost is looked for so long. */
const UNCERTAIN_MS_MAX = 1_500;
const AGAIN_MS = 50;

/**
 * Finds out what became of a COMMIT whose answer was lost. Its transaction holds the lock as long as it is alive, so the lock
 * is waited for: a change that is not there afterwards was never made. Throws `internal_error` when the database does not
 * tell.
 */
async function findCommitted(postgres: Postgres, token: string): Promise<boolean> {
  const untilMs = performance.now() + UNCERTAIN_MS_MAX;
  for (;;) {
    try {
      return await postgres.transaction(
        async (tx) => {
          await tx.all("SELECT id FROM catalog_state FOR SHARE");
          const found = await tx.all("SELECT 1 FROM change_log WHERE token = $1::text LIMIT 1", [token]);
          return found.length > 0;
        },
        { callMsMax: STATEMENT_MS_MAX.mutation },
      );
    } catch (cause) {
      if (performance.now() >= untilMs) throw refuse(UNCERTAIN, cause);
      await sleep(AGAIN_MS);
    }
  }
}

const UNCERTAIN =
  "The database was lost while the change was committed: it may have been made. Look before trying again.";
/** The change is committed, and holds everywhere once the grace of the replicas is over. */
const UNSEEN =
  "The change was made, but the database was lost before every replica was known to follow it: each does within PROXY_DATABASE_GRACE.";

function refuseUnmade(cause: unknown): ProxyError {
  const isStandby = cause instanceof DatabaseUnreachableError && cause.code === STANDBY;
  return refuse(
    isStandby
      ? "The database takes no changes, since it is a standby or kept from writing: nothing was changed."
      : "The database did not answer in time: nothing was changed. Try again.",
    cause,
  );
}

function refuse(message: string, cause: unknown): ProxyError {
  return new ProxyError("internal_error", message, { cause });
}
