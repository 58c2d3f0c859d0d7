import type { Clock } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import { sleep, withinLimit } from "#kernel/timer.ts";
import { STATEMENT_MS_MAX } from "#storage/postgres/connection/limits.ts";
import { DatabaseUnreachableError, STANDBY, StatementError } from "#storage/postgres/connection/errors.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import type { Barrier } from "./barrier.ts";
import type { CatalogVersion, Change } from "#storage/catalog/change.ts";
import type { Hints } from "./follower.ts";

/** The outcome of a step of a mutation. Without changes no replica is told, and none is waited for. */
export interface Made<R> {
  readonly result: R;
  readonly changes: readonly Change[];
  /** Called when it is committed, in the same turn of the event loop. */
  readonly committed?: () => void;
}

/**
 * One step of a mutation, under the lock that has found `before`. A change makes `next` of it; `step` may run again after a
 * ROLLBACK.
 */
export type Step<R> = (
  tx: Transaction,
  versions: { readonly before: CatalogVersion; readonly next: CatalogVersion },
) => Promise<Made<R>>;

interface MutatorDeps {
  readonly postgres: Postgres;
  readonly hints: Pick<Hints, "send">;
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
  /** Time that the last change waited for other replicas; null before the first. */
  barrierMs: number | null = null;

  constructor(deps: MutatorDeps) {
    this.#deps = deps;
  }

  async mutate<R>(step: Step<R>): Promise<R> {
    const { postgres, hints, barrier, refreshed, clock, ids } = this.#deps;
    const { result, version } = await commit(postgres, step, ids.uuid());
    if (version === null) return result;
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
    return result;
  }
}

/** A COMMIT whose answer was lost is looked for so long. */
const UNCERTAIN_MS_MAX = 1_500;
const AGAIN_MS = 50;
/** SQLSTATE query_canceled (its time limit), lock_not_available, deadlock_detected, serialization_failure. */
const CONFLICTS = new Set(["57014", "55P03", "40P01", "40001"]);

/** A mutation that is committed, and the version that the catalog has got by it. */
interface Committed<R> {
  readonly result: R;
  /** Null: nothing that replicas hold in memory has changed. */
  readonly version: number | null;
}

/**
 * One change of the catalog: the lock of `catalog_state` puts it in order, and its changes and its version are committed with
 * it. `token` is the mutation's own. Throws `internal_error` when the database is away: nothing was made then, or the message
 * says that it may have been.
 */
async function commit<R>(postgres: Postgres, step: Step<R>, token: string): Promise<Committed<R>> {
  const made: Committed<R>[] = [];
  try {
    const done = await postgres.transaction(
      async (tx) => {
        made.length = 0;
        const [before] = await tx.all<CatalogVersion>("SELECT version, token FROM catalog_state FOR UPDATE");
        if (before === undefined) throw new TypeError("catalog_state has no row");
        const next = { version: before.version + 1, token };
        const { result, changes, committed } = await step(tx, { before, next });
        const version = changes.length > 0 ? next.version : null;
        if (version !== null) await record(tx, changes, next);
        made.push({ result, version });
        return { result, version, committed };
      },
      { callMsMax: STATEMENT_MS_MAX.mutation },
    );
    done.committed?.();
    return done;
  } catch (cause) {
    if (cause instanceof StatementError && CONFLICTS.has(cause.code)) throw refuseUnmade(cause);
    if (!(cause instanceof DatabaseUnreachableError)) throw cause;
    const [lost] = made;
    if (!cause.mayBeCommitted || lost === undefined) throw refuseUnmade(cause);
    // Without a version nothing in the database tells whether it was made.
    if (lost.version === null) throw refuse(UNCERTAIN, cause);
    const isMade = await withinLimit(findCommitted(postgres, token), UNCERTAIN_MS_MAX, () => {
      throw refuse(UNCERTAIN, null);
    });
    if (!isMade) throw refuseUnmade(null);
    return lost;
  }
}

async function record(
  tx: Transaction,
  changes: readonly Change[],
  { version, token }: CatalogVersion,
): Promise<void> {
  await tx.run(
    `WITH state AS (UPDATE catalog_state SET version = $1, token = $2::text)
     INSERT INTO change_log (version, ordinal, token, kind, row_id)
     SELECT $1, ordinality, $2::text, kind, row_id
     FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS change (kind, row_id, ordinality)`,
    [version, token, changes.map(({ kind }) => kind), changes.map(({ id }) => id)],
  );
}

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
