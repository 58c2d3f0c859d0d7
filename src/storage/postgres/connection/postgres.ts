import { SQL } from "bun";
import { DatabaseUnreachableError, STANDBY, toPoolerError } from "./errors.ts";
import {
  createSql,
  type Lease,
  Pool,
  type PoolOptions,
  type PostgresOptions,
  type Sql,
  toDriverOptions,
  toServerLimit,
} from "./pool.ts";
import { toAddress } from "./target.ts";
import { runTransaction, type Transaction, type TransactionOptions } from "./transaction.ts";
import { quoteName } from "./values.ts";

/**
 * The connections of one purpose. Every call has a limit on this side, after which it fails with DatabaseUnreachableError
 * and all connections are made anew; nothing is tried twice but what a server has refused that takes no changes. A failure
 * that settings cause is a SetupError, one of a statement a StatementError with its SQLSTATE. None of them holds an address,
 * a credential, SQL or a value.
 */
export interface Postgres extends Sql, AsyncDisposable {
  /** Holds all tables. */
  readonly schema: string;
  /** One transaction on one connection. What `step` throws is thrown after the ROLLBACK. */
  transaction<R>(step: (tx: Transaction) => Promise<R>, options?: TransactionOptions): Promise<R>;
  /**
   * Calls `onNotify` after a notification on the channel, and after the connection was made again, since some may have been
   * missed meanwhile. A hint alone: a pooler or a partition can swallow notifications in silence. Returns what ends it.
   */
  listen(channel: string, onNotify: () => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** Connects once, so that a wrong setting shows at once. Throws SetupError and DatabaseUnreachableError. */
export async function openPostgres(options: PostgresOptions): Promise<Postgres> {
  const { target, callMsMax } = options;
  const connecting = { ...options, address: toAddress(target) };
  const subscriptions = new Set<Subscription>();
  const pool = new Pool(connecting, () => {
    for (const subscription of subscriptions) subscription.drop();
  });
  try {
    const lease = await pool.lease();
    await requireSession(lease, connecting).finally(() => lease.release());
  } catch (cause) {
    await pool.close();
    throw cause;
  }
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
  const close = async () => {
    await Promise.all([pool.close(), ...[...subscriptions].map((subscription) => subscription.stop())]);
  };
  return {
    schema: target.schema,
    ...createSql((statement) => leased((lease) => lease.execute({ ...statement, commits: true }))),
    transaction: (step, changes = {}) =>
      leased((lease) => runTransaction(lease, step, { beginMsMax: callMsMax, callMsMax, ...changes })),
    async listen(channel, onNotify) {
      const subscription = new Subscription(connecting, channel, onNotify);
      subscriptions.add(subscription);
      await subscription.connect();
      return () => {
        subscriptions.delete(subscription);
        return subscription.stop();
      };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * Refuses a pooler that takes what a session sets at its start and does not pass it on (`ignore_startup_parameters` of
 * PgBouncer): statements would run without their limit and in another schema.
 */
async function requireSession(lease: Lease, { target, callMsMax }: PoolOptions): Promise<void> {
  const { rows } = await lease.execute<{ path: string; limit: string }>({
    text: `SELECT current_setting('search_path') AS path, setting AS "limit" FROM pg_settings WHERE name = 'statement_timeout'`,
    commits: false,
  });
  const isKept =
    rows[0]?.path === quoteName(target.schema) && Number(rows[0].limit) === toServerLimit(callMsMax);
  if (!isKept) throw toPoolerError();
}

const RETRY_MS = 1_000;

/**
 * The connection of one channel (`Postgres.listen`). The driver would connect again by itself, and print each try that fails
 * raw to stderr, where a log of JSON lines is: so each connection is given up at its end, and the next one is made here.
 */
class Subscription {
  readonly #options: PoolOptions;
  readonly #channel: string;
  readonly #onNotify: () => void;
  #client: SQL | null = null;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #isStopped = false;

  constructor(options: PoolOptions, channel: string, onNotify: () => void) {
    this.#options = { ...options, connectionsMax: 1 };
    this.#channel = channel;
    this.#onNotify = onNotify;
  }

  async connect(): Promise<void> {
    const client = new SQL({ ...toDriverOptions(this.#options), onclose: () => this.#dropOnly(client) });
    this.#client = client;
    const limit = setTimeout(() => this.#dropOnly(client), this.#options.callMsMax);
    try {
      await client.listen(this.#channel, this.#onNotify, this.#onNotify);
    } catch {
      this.#dropOnly(client);
    } finally {
      clearTimeout(limit);
    }
  }

  /** Gives up the connection, and makes another one in a second. */
  drop(): void {
    const lost = this.#client;
    if (lost === null) return;
    this.#client = null;
    void lost.close({ timeout: 0 }).catch(() => {});
    if (!this.#isStopped) this.#retry = setTimeout(() => void this.connect(), RETRY_MS);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#retry);
    const last = this.#client;
    this.#client = null;
    await last?.close({ timeout: 0 }).catch(() => {});
  }

  #dropOnly(client: SQL): void {
    if (this.#client === client) this.drop();
  }
}
