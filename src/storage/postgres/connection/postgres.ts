import type { Log } from "#kernel/log.ts";
import { quoteName, toServerLimit, type PoolOptions } from "./driver-options.ts";
import { DatabaseUnreachableError, STANDBY, toPoolerError } from "./errors.ts";
import { createListener } from "./listener.ts";
import type { Orm } from "./orm.ts";
import { createPool, type Lease } from "./pool.ts";
import { createReserved, type Reserved } from "./reserved.ts";
import { createSql, type Sql } from "./sql.ts";
import { toAddress, type PostgresTarget } from "./target.ts";
import { runTransaction, type Transaction, type TransactionOptions } from "./transaction.ts";

export interface PostgresOptions {
  readonly target: PostgresTarget;
  /** Stands behind `lockport ` in pg_stat_activity, such as `writer`. */
  readonly purpose: string;
  readonly connectionsMax: number;
  /** Milliseconds that a call may take. Waiting for a connection, and making one, may each take as many again. */
  readonly callMsMax: number;
  readonly log: Log;
}

/**
 * The connections of one purpose. Every call has a limit on this side, after which it fails with DatabaseUnreachableError
 * and all connections are made anew; nothing is tried twice but what a server has refused that takes no changes. A failure that settings cause is a SetupError, one of a
 * statement a StatementError with its SQLSTATE. None of them holds an address, a credential, SQL or a value.
 */
export interface Postgres extends Sql {
  readonly orm: Orm;
  /** One transaction on one connection. What `step` throws is thrown after the ROLLBACK. */
  transaction<R>(step: (tx: Transaction) => Promise<R>, options?: TransactionOptions): Promise<R>;
  /**
   * A connection of one's own, for temporary tables. `prepare` runs whenever it is made: at the first transaction, and at the
   * first one after it was lost.
   */
  reserve(prepare: (sql: Sql) => Promise<void>): Reserved;
  /**
   * Calls `onNotify` after a notification on the channel, and after the connection was made again, since some may have been
   * missed meanwhile; `onLost` when it is lost. A hint alone: a pooler or a partition can swallow notifications in silence.
   * Returns what ends it.
   */
  listen(channel: string, onNotify: () => void, onLost: () => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** Connects once, so that a wrong setting shows at once. Throws SetupError and DatabaseUnreachableError. */
export async function openPostgres(options: PostgresOptions): Promise<Postgres> {
  const { target, callMsMax } = options;
  const connecting = { ...options, address: toAddress(target), schema: target.schema };
  const listener = createListener(connecting);
  const pool = createPool({ ...connecting, onDiscard: listener.remake });
  try {
    const lease = await pool.lease();
    await requireSession(lease, connecting).finally(() => lease.release());
  } catch (cause) {
    await pool.close();
    throw cause;
  }
  const reserved: Reserved[] = [];
  const leasedOnce = async <R>(use: (lease: Lease) => Promise<R>): Promise<R> => {
    const lease = await pool.lease();
    try {
      return await use(lease);
    } finally {
      lease.release();
    }
  };
  /**
   * A server that takes no changes has made none, and the address may lead to another one by now: it is asked once more, on a
   * connection of its own. The first call after a failover would be refused otherwise.
   */
  const leased = <R>(use: (lease: Lease) => Promise<R>): Promise<R> =>
    leasedOnce(use).catch((cause: unknown) => {
      if (!(cause instanceof DatabaseUnreachableError) || cause.code !== STANDBY) throw cause;
      return leasedOnce(use);
    });
  const sql = createSql((statement) =>
    leased((lease) => lease.execute({ ...statement, commits: true }, { callMsMax })),
  );
  return {
    ...sql,
    transaction: (step, changes = {}) =>
      leased((lease) => runTransaction(lease, step, { beginMsMax: callMsMax, callMsMax, ...changes })),
    reserve(prepare) {
      const made = createReserved(pool, prepare, callMsMax);
      reserved.push(made);
      return made;
    },
    listen: listener.listen,
    async close() {
      // One that is held while nothing runs on it would hold up the end.
      for (const held of reserved) held.release();
      await Promise.all([listener.close(), pool.close()]);
    },
  };
}

/**
 * Refuses a pooler that takes what a session sets at its start and does not pass it on (`ignore_startup_parameters` of
 * PgBouncer): statements would run without their limit and in another schema.
 */
async function requireSession(lease: Lease, options: PoolOptions): Promise<void> {
  const { rows } = await lease.execute<{ path: string; limit: string }>(
    {
      text: `SELECT current_setting('search_path') AS path, setting AS "limit" FROM pg_settings WHERE name = 'statement_timeout'`,
      commits: false,
    },
    options,
  );
  const isKept =
    rows[0]?.path === quoteName(options.schema) && Number(rows[0].limit) === toServerLimit(options.callMsMax);
  if (!isKept) throw toPoolerError();
}
