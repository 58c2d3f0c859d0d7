import type { Log } from "#kernel/log.ts";
import type { Address } from "./target.ts";

export interface PoolOptions {
  readonly address: Address;
  readonly schema: string;
  /** Stands behind `lockport ` in pg_stat_activity. */
  readonly purpose: string;
  readonly connectionsMax: number;
  /** Limit of one call, of waiting for a free connection, and of making one. */
  readonly callMsMax: number;
  readonly log: Log;
}

/** The server gives a statement up this much before the client gives up the connection, so that a slow one costs no pool. */
const SERVER_HEAD_START_MS = 250;
/** A process that was stopped within a transaction holds its locks no longer than this. */
const IDLE_IN_TRANSACTION_MS = 5_000;

/** Every field is given: what is missing the driver takes from the environment. */
export function toDriverOptions(options: PoolOptions): Bun.SQL.PostgresOrMySQLOptions {
  const { address, schema, purpose, callMsMax } = options;
  return {
    adapter: "postgres",
    // Without a URL the driver takes one from the environment (DATABASE_URL); this one has nothing to hide.
    url: "postgres://localhost/",
    hostname: address.hostname,
    port: address.port,
    username: address.username,
    password: address.password,
    database: address.database,
    ...(address.socketFolder === null ? {} : { path: address.socketFolder }),
    tls: address.tls,
    max: options.connectionsMax,
    connectionTimeout: Math.ceil(callMsMax / 1000),
    connection: {
      application_name: `lockport ${purpose}`,
      search_path: quoteName(schema),
      TimeZone: "UTC",
      statement_timeout: toServerLimit(callMsMax),
      idle_in_transaction_session_timeout: Math.max(IDLE_IN_TRANSACTION_MS, callMsMax),
      // The server notices a client that is gone while it runs a statement of it, and one that a partition has cut off.
      client_connection_check_interval: 5_000,
      tcp_keepalives_idle: 30,
      tcp_keepalives_interval: 10,
      tcp_keepalives_count: 3,
      // A role or a database may have others by ALTER … SET: bytea in a form that the driver takes for a broken connection,
      // rounded instants, transactions that fail where they meet, locks that nobody waits for, connections that end unused.
      bytea_output: "hex",
      extra_float_digits: 1,
      default_transaction_isolation: "read committed",
      lock_timeout: 0,
      idle_session_timeout: 0,
    },
  };
}

/** The `statement_timeout` of calls that have this limit on the client's side. */
export function toServerLimit(callMsMax: number): number {
  return Math.max(callMsMax - SERVER_HEAD_START_MS, Math.ceil(callMsMax / 2));
}

/** A name of a schema or a table as SQL takes it. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
