import { StepRefusedError } from "#kernel/errors.ts";
import type { Log } from "#kernel/log.ts";
import { toQuoted } from "#kernel/printable.ts";
import { StatementError } from "./errors.ts";
import type { Sql } from "./pool.ts";

const POLL_MS = 500;
/** A shorter wait is usual: batches, changes and other starts hold locks for some milliseconds. */
const WAITED_MS_MIN = 400;
/** PostgreSQL cuts names after 63 bytes. */
const NAME_LENGTH_MAX = 63;
/** SQLSTATE query_canceled (the time limit of a statement), lock_not_available. */
const GIVEN_UP = new Set(["57014", "55P03"]);

/** A session that holds a lock. */
interface LockHolder {
  readonly pid: number;
  /** Null where PostgreSQL does not tell: a transaction that was prepared. */
  readonly role: string | null;
  readonly application: string | null;
}

/** A lock of another session was not to be had in time. Nothing was made. */
export class LockedError extends StepRefusedError {
  override readonly name = "LockedError";
  readonly code: string;
  readonly isPassing = true;

  constructor(code: string, holder: LockHolder | null = null) {
    super(
      `PostgreSQL did not give a lock in time that another session holds${holder === null ? "." : `: ${describe(holder)}.`}`,
    );
    this.code = code;
  }
}

function describe({ pid, role, application }: LockHolder): string {
  const of = role === null ? "" : ` of the role ${toQuoted(role, NAME_LENGTH_MAX)}`;
  const by = application === null || application === "" ? "" : ` (${toQuoted(application, NAME_LENGTH_MAX)})`;
  return `process ${pid}${of}${by}. Wait until it is done, or end it with SELECT pg_terminate_backend(${pid})`;
}

export interface LockWatchOptions {
  readonly log: Log;
  /** Purposes of the connections that are watched (`PostgresOptions.purpose`). */
  readonly purposes: readonly string[];
}

/**
 * Does `work`, and tells the log once of each session for whose lock it waits. A failure that such a wait was the cause of is
 * a `LockedError` that names the session. `sql` has a connection beside those that wait.
 */
export async function withLockWatch<Result>(
  sql: Sql,
  { log, purposes }: LockWatchOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  const reported = new Set<number>();
  let last: LockHolder | null = null;
  let isPolling = false;
  const poll = async () => {
    if (isPolling) return;
    isPolling = true;
    // One that fails says nothing that the work itself does not.
    const holders = await findHolders(sql, purposes).catch(() => []);
    isPolling = false;
    last = holders[0] ?? last;
    for (const { pid, role, application } of holders) {
      if (reported.has(pid)) continue;
      reported.add(pid);
      log.warn("PostgreSQL: a lock of another session is waited for", {
        held_by_process: pid,
        held_by_role: role,
        held_by: application,
      });
    }
  };
  const timer = setInterval(() => void poll(), POLL_MS);
  try {
    return await work();
  } catch (cause) {
    const isGivenUp =
      cause instanceof LockedError || (cause instanceof StatementError && GIVEN_UP.has(cause.code));
    throw last !== null && isGivenUp ? new LockedError(cause.code, last) : cause;
  } finally {
    clearInterval(timer);
  }
}

/**
 * Sessions that hold locks for which connections of this role, machine and purpose wait; those first that wait for no other
 * session. Any role may ask: process, role and application of a session are told to all.
 */
function findHolders(sql: Sql, purposes: readonly string[]): Promise<readonly LockHolder[]> {
  return sql.all<LockHolder>(
    `SELECT blocker.pid, holder.usename AS role, holder.application_name AS application
     FROM pg_stat_activity AS waiting
       CROSS JOIN LATERAL unnest(pg_blocking_pids(waiting.pid)) AS blocker (pid)
       LEFT JOIN pg_stat_activity AS holder ON holder.pid = blocker.pid
     WHERE waiting.application_name = ANY($1::text[]) AND waiting.usename = current_user
       AND waiting.datname = current_database() AND waiting.client_addr IS NOT DISTINCT FROM inet_client_addr()
       AND waiting.wait_event_type = 'Lock' AND waiting.state_change < clock_timestamp() - $2 * interval '1 millisecond'
     ORDER BY cardinality(pg_blocking_pids(blocker.pid)), blocker.pid`,
    [purposes.map((purpose) => `lockport ${purpose}`), WAITED_MS_MIN],
  );
}
