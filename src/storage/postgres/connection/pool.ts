import { SQL } from "bun";
import { resolves } from "#kernel/host-name.ts";
import type { Log } from "#kernel/log.ts";
import { withinLimit } from "#kernel/timer.ts";
import {
  DatabaseUnreachableError,
  STANDBY,
  StatementError,
  toConnectionError,
  toDatabaseError,
} from "./errors.ts";
import type { Address, PostgresTarget } from "./target.ts";
import { decodeIntegers, quoteName, toParameter, type Binding } from "./values.ts";

export interface PostgresOptions {
  readonly target: PostgresTarget;
  /** Stands behind `lockport ` in pg_stat_activity, such as `writer`. */
  readonly purpose: string;
  readonly connectionsMax: number;
  /** Milliseconds that a call may take. Waiting for a connection, and making one, may each take as many again. */
  readonly callMsMax: number;
  readonly log: Log;
}

/** `address` is where the target leads. */
export type PoolOptions = PostgresOptions & { readonly address: Address };

export interface Statement {
  readonly text: string;
  readonly bindings?: readonly Binding[];
  /** True: it is committed by itself, so that a lost answer leaves open what was made. */
  readonly commits: boolean;
  /** True: it runs in a transaction that may not write, so that a refusal to write is its own fault. */
  readonly isReadOnly?: boolean;
  /** In place of the pool's limit. */
  readonly callMsMax?: number;
  /** Aborted: the statement is not sent, and fails with SQLSTATE 57014. One under way goes on (`Lease.canceler`). */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Statements with `$1`, `$2` … An array is bound as an array of PostgreSQL: the statement names its type (`$1::bigint[]`).
 * `bigint` and `count(*)` arrive as numbers, and fail with SQLSTATE 22003 beyond 2^53 where they are not what a number reads
 * as; `numeric` as text, `bytea` as Uint8Array, `timestamptz` as Date.
 */
export interface Sql {
  all<Row>(text: string, bindings?: readonly Binding[]): Promise<readonly Row[]>;
  /** Rows that were inserted, updated or deleted. Without bindings, several statements may stand in one text. */
  run(text: string, bindings?: readonly Binding[]): Promise<number>;
}

export type Call = <Row>(statement: Omit<Statement, "commits">) => Promise<Result<Row>>;

export function createSql(call: Call): Sql {
  return {
    all: async <Row>(text: string, bindings: readonly Binding[] = []) =>
      (await call<Row>({ text, bindings })).rows,
    run: async (text, bindings = []) => (await call({ text, bindings })).touched,
  };
}

export interface Result<Row> {
  readonly rows: readonly Row[];
  /** Rows that were inserted, updated or deleted; a SELECT whose WITH writes counts none. */
  readonly touched: number;
  /** The command tag, such as `COMMIT`; null for several statements at once. */
  readonly command: string | null;
}

const CLOSE_SECONDS_MAX = 2;
/** A server that takes no changes may say so to every call: it is reported at most this often. */
const REPORT_INTERVAL_MS = 30_000;
/** SQLSTATE query_canceled. */
const CANCELED = "57014";

/** Connections that are made as needed. All are given up together once one has stayed silent for the limit of a call. */
export class Pool {
  readonly #options: PoolOptions;
  readonly #onDiscard: () => void;
  readonly #permits: Permits;
  readonly #reportedMs = new Map<string, number>();
  #current: SQL | null = null;
  #isClosed = false;

  /** `onDiscard` is called when the connections were given up, since others to the same server may be silent as well. */
  constructor(options: PoolOptions, onDiscard: () => void) {
    this.#options = options;
    this.#onDiscard = onDiscard;
    this.#permits = new Permits(options.connectionsMax);
  }

  /** A connection of the caller's own until `release`. Throws DatabaseUnreachableError and SetupError. */
  async lease(): Promise<Lease> {
    const { callMsMax } = this.#options;
    const giveBack = await this.#permits.take(callMsMax);
    try {
      if (this.#isClosed) throw new DatabaseUnreachableError("closed", { mayBeCommitted: false });
      const made = (this.#current ??= new SQL(toDriverOptions(this.#options)));
      const discard = (failure: DatabaseUnreachableError) => this.#discard(made, failure);
      const client = await reserve(made, this.#options, discard);
      return new Lease(client, { callMsMax, discard, giveBack, leaseBeside: () => this.lease() });
    } catch (cause) {
      giveBack();
      throw await nameUnresolved(cause, this.#options);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const last = this.#current;
    this.#current = null;
    await last?.close({ timeout: CLOSE_SECONDS_MAX }).catch(() => {});
  }

  /** Gives up all connections when the server is silent, or takes no changes: the address may lead to another one by now. */
  #discard(made: SQL, { code }: DatabaseUnreachableError): void {
    if ((code !== "limit" && code !== STANDBY) || this.#current !== made) return;
    this.#current = null;
    const isSilent = code === "limit";
    this.#report(isSilent ? "PostgreSQL gave no sign within the limit" : "PostgreSQL takes no changes");
    // A silent server's connections reject at once what is under way: a call that waited for its own limit would hold its request up.
    void made.close({ timeout: isSilent ? 0 : CLOSE_SECONDS_MAX }).catch(() => {});
    this.#onDiscard();
  }

  #report(reason: string): void {
    const nowMs = performance.now();
    const lastMs = this.#reportedMs.get(reason) ?? Number.NEGATIVE_INFINITY;
    if (this.#isClosed || nowMs - lastMs < REPORT_INTERVAL_MS) return;
    this.#reportedMs.set(reason, nowMs);
    this.#options.log.warn(`${reason}: all connections are made anew`);
  }
}

interface LeaseParts {
  readonly callMsMax: number;
  readonly discard: (failure: DatabaseUnreachableError) => void;
  readonly giveBack: () => void;
  readonly leaseBeside: () => Promise<Lease>;
}

/** A connection while one caller has it. */
export class Lease {
  readonly #client: Bun.ReservedSQL;
  readonly #parts: LeaseParts;
  #isLost = false;
  #isReleased = false;
  #backendId: number | null = null;

  constructor(client: Bun.ReservedSQL, parts: LeaseParts) {
    this.#client = client;
    this.#parts = parts;
  }

  /** True once a call has failed as the connection did. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /**
   * One statement to the server and back, within a limit of its own: a silent partition leaves the driver's promise pending for
   * ever. Throws only errors of `errors.ts`, SetupError, and TypeError for a binding that has no form in PostgreSQL.
   */
  async execute<Row>(statement: Statement): Promise<Result<Row>> {
    const { text, bindings = [], commits, signal } = statement;
    if (signal?.aborted === true) throw new StatementError(CANCELED, null);
    // Without parameters the driver speaks the simple protocol, which several statements at once need.
    const parameters = bindings.length === 0 ? undefined : bindings.map(toParameter);
    const query = this.#client.unsafe<Row[]>(text, parameters);
    try {
      // The driver sends a query when it is awaited.
      const answer = await withinLimit(query, statement.callMsMax ?? this.#parts.callMsMax, () => {
        throw new DatabaseUnreachableError("limit", { mayBeCommitted: commits });
      });
      return toResult(answer);
    } catch (cause) {
      const failure = toDatabaseError(cause, statement);
      if (failure instanceof DatabaseUnreachableError) {
        this.#isLost = true;
        this.#parts.discard(failure);
      }
      throw failure;
    }
  }

  /**
   * Returns a function that asks the server, by another connection, to end what this one runs, which then fails with SQLSTATE 57014. Once that
   * is fulfilled nothing that is sent later is ended by it; what is still on its way to the server is not either.
   */
  async canceler(): Promise<() => Promise<void>> {
    const backend = (this.#backendId ??= await this.#findBackend());
    const statement = { text: "SELECT pg_cancel_backend($1)", bindings: [backend], commits: false };
    return async () => {
      const beside = await this.#parts.leaseBeside();
      await beside.execute(statement).finally(() => beside.release());
    };
  }

  /** Gives the connection back; the driver closes one that is in a transaction. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    void this.#client.release().catch(() => {});
    this.#parts.giveBack();
  }

  async #findBackend(): Promise<number> {
    const { rows } = await this.execute<{ pid: number }>({
      text: "SELECT pg_backend_pid() AS pid",
      commits: false,
    });
    if (rows[0] === undefined) throw new TypeError("PostgreSQL named no process");
    return rows[0].pid;
  }
}

function toResult<Row>(answer: Row[] & Bun.SQL.ResultMetadata): Result<Row> {
  // Several statements at once are answered by a plain array, which has none of these three.
  const {
    columns,
    affectedRows,
    command,
  }: { [Name in keyof Bun.SQL.ResultMetadata]?: Bun.SQL.ResultMetadata[Name] | undefined } = answer;
  if (columns !== undefined && columns !== null) decodeIntegers(answer, columns);
  return { rows: answer, touched: affectedRows ?? 0, command: command ?? null };
}

/** No more calls at once than connections: a call that only waits its turn does not tell of a silent server. */
class Permits {
  #free: number;
  readonly #queue: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Waits for its turn; returns what gives the permit back. Throws DatabaseUnreachableError once the limit has passed. */
  async take(limitMs: number): Promise<() => void> {
    const give = () => {
      const next = this.#queue.shift();
      if (next === undefined) this.#free += 1;
      else next();
    };
    if (this.#free > 0) {
      this.#free -= 1;
      return give;
    }
    return new Promise((resolve, reject) => {
      const grant = () => {
        clearTimeout(timer);
        resolve(give);
      };
      const timer = setTimeout(() => {
        this.#queue.splice(this.#queue.indexOf(grant), 1);
        reject(new DatabaseUnreachableError("busy", { mayBeCommitted: false }));
      }, limitMs);
      this.#queue.push(grant);
    });
  }
}

/** A connection that is free, or a new one. */
async function reserve(
  pool: SQL,
  options: PoolOptions,
  discard: LeaseParts["discard"],
): Promise<Bun.ReservedSQL> {
  const reserving = pool.reserve();
  try {
    return await withinLimit(reserving, options.callMsMax, () => {
      // It may come after all, and would keep its place in the pool.
      void reserving.then((late) => late.close()).catch(() => {});
      throw new DatabaseUnreachableError("limit", { mayBeCommitted: false });
    });
  } catch (cause) {
    const failure = toDatabaseError(cause, { commits: false });
    if (failure instanceof DatabaseUnreachableError) discard(failure);
    throw failure instanceof StatementError ? toConnectionError(failure) : failure;
  }
}

/** The driver has one code for a host that refuses and for one whose name leads nowhere. */
async function nameUnresolved(cause: unknown, { address, callMsMax }: PoolOptions): Promise<unknown> {
  const isRefused = cause instanceof DatabaseUnreachableError && cause.code === "refused";
  if (!isRefused || address.path !== undefined) return cause;
  const isResolved = await withinLimit(resolves(address.hostname), callMsMax, () => true);
  return isResolved ? cause : new DatabaseUnreachableError("unresolved", { mayBeCommitted: false });
}

/** The server gives a statement up this much before the client gives up the connection, so that a slow one costs no pool. */
const SERVER_HEAD_START_MS = 250;
/** A process that was stopped within a transaction holds its locks no longer than this. */
const IDLE_IN_TRANSACTION_MS = 5_000;

/** The `statement_timeout` of calls that have this limit on the client's side. */
export function toServerLimit(callMsMax: number): number {
  return Math.max(callMsMax - SERVER_HEAD_START_MS, Math.ceil(callMsMax / 2));
}

/** Every field is given: what is missing the driver takes from the environment. */
export function toDriverOptions(options: PoolOptions): Bun.SQL.PostgresOrMySQLOptions {
  const { address, target, purpose, callMsMax } = options;
  return {
    adapter: "postgres",
    // Without a URL the driver takes one from the environment (DATABASE_URL); this one has nothing to hide.
    url: "postgres://localhost/",
    ...address,
    max: options.connectionsMax,
    connectionTimeout: Math.ceil(callMsMax / 1000),
    connection: {
      application_name: `lockport ${purpose}`,
      search_path: quoteName(target.schema),
      TimeZone: "UTC",
      statement_timeout: toServerLimit(callMsMax),
      idle_in_transaction_session_timeout: Math.max(IDLE_IN_TRANSACTION_MS, callMsMax),
      // The server notices a client that is gone while it runs a statement of it, and one that a partition has cut off.
      client_connection_check_interval: 5_000,
      tcp_keepalives_idle: 30,
      tcp_keepalives_interval: 10,
      tcp_keepalives_count: 3,
      // A role or a database may have others by ALTER … SET: bytea in a form that the driver takes for a broken connection,
      // rounded instants, transactions that fail where they meet, locks that are not waited for, connections that end unused.
      bytea_output: "hex",
      extra_float_digits: 1,
      default_transaction_isolation: "read committed",
      lock_timeout: 0,
      idle_session_timeout: 0,
    },
  };
}
