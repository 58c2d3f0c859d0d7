import { SQL } from "bun";
import { resolves } from "#kernel/host-name.ts";
import { withinLimit } from "#kernel/timer.ts";
import { toDriverOptions, type PoolOptions } from "./driver-options.ts";
import {
  DatabaseUnreachableError,
  STANDBY,
  StatementError,
  toConnectionError,
  toDatabaseError,
  toVersionError,
} from "./errors.ts";
import { createPermits } from "./permits.ts";
import { execute, type CallLimits, type Result, type Statement } from "./statement.ts";

/** Connections that are made as needed. All are given up together once one has stayed silent for the limit of a call. */
export interface Pool {
  /** A connection of the caller's own until `release`. Throws DatabaseUnreachableError and SetupError. */
  lease(): Promise<Lease>;
  close(): Promise<void>;
}

/** A connection while one caller has it. */
export interface Lease {
  /** See `execute` in `statement.ts`. */
  execute<Row>(statement: Statement, limits: Omit<CallLimits, "onExpiry">): Promise<Result<Row>>;
  /**
   * What asks the server, by another connection, to end what this one runs, which then fails with SQLSTATE 57014. Once that
   * is fulfilled nothing that is sent later is ended by it; what is still on its way to the server is not either.
   */
  canceler(): Promise<() => Promise<void>>;
  /** True once a call has failed as the connection did. */
  isLost(): boolean;
  /** Gives the connection back; the driver closes one that is in a transaction. */
  release(): void;
}

const CLOSE_SECONDS_MAX = 2;
/** A server that takes no changes may say so to every call: it is reported at most this often. */
const REPORT_INTERVAL_MS = 30_000;

/** `onDiscard` is called when the connections were given up, since others to the same server may be silent as well. */
export function createPool(options: PoolOptions & { readonly onDiscard: () => void }): Pool {
  const { callMsMax, connectionsMax, log, onDiscard } = options;
  const permits = createPermits(connectionsMax);
  let current: SQL | null = null;
  let isClosed = false;
  const reportedMs = new Map<string, number>();

  const report = (reason: string): void => {
    const nowMs = performance.now();
    if (isClosed || nowMs - (reportedMs.get(reason) ?? Number.NEGATIVE_INFINITY) < REPORT_INTERVAL_MS) return;
    reportedMs.set(reason, nowMs);
    log.warn(`${reason}: all connections are made anew`);
  };
  const discard = (pool: SQL, reason: string, secondsLeft: number): void => {
    if (current !== pool) return;
    current = null;
    report(reason);
    void pool.close({ timeout: secondsLeft }).catch(() => {});
    onDiscard();
  };
  // Rejects at once what is under way: a call that waited for its own limit would hold its request up.
  const discardSilent = (pool: SQL) => discard(pool, "PostgreSQL gave no sign within the limit", 0);
  const toLease = (client: Bun.ReservedSQL, pool: SQL, giveBack: () => void): Lease => {
    let isLost = false;
    let isReleased = false;
    let backendId: number | null = null;
    const made: Lease = {
      async execute<Row>(statement: Statement, limits: Omit<CallLimits, "onExpiry">) {
        try {
          return await execute<Row>(client, statement, { ...limits, onExpiry: () => discardSilent(pool) });
        } catch (cause) {
          if (!(cause instanceof DatabaseUnreachableError)) throw cause;
          isLost = true;
          // The address may lead to another server by now.
          if (cause.code === STANDBY) discard(pool, "PostgreSQL takes no changes", CLOSE_SECONDS_MAX);
          throw cause;
        }
      },
      async canceler() {
        const backend = (backendId ??= await findBackend(made, callMsMax));
        const statement = { text: "SELECT pg_cancel_backend($1)", bindings: [backend], commits: false };
        return async () => {
          const beside = await lease();
          await beside.execute(statement, { callMsMax }).finally(() => beside.release());
        };
      },
      isLost: () => isLost,
      release() {
        if (isReleased) return;
        isReleased = true;
        void client.release().catch(() => {});
        giveBack();
      },
    };
    return made;
  };
  const lease = async (): Promise<Lease> => {
    const giveBack = await permits.take(callMsMax);
    try {
      if (isClosed) throw new DatabaseUnreachableError("closed", { mayBeCommitted: false });
      const pool = (current ??= new SQL(toDriverOptions(options)));
      return toLease(await reserve(pool, options, () => discardSilent(pool)), pool, giveBack);
    } catch (cause) {
      giveBack();
      throw await nameUnresolved(cause, options);
    }
  };
  return {
    lease,
    async close() {
      isClosed = true;
      const pool = current;
      current = null;
      await pool?.close({ timeout: CLOSE_SECONDS_MAX }).catch(() => {});
    },
  };
}

async function findBackend(lease: Pick<Lease, "execute">, callMsMax: number): Promise<number> {
  const asked = { text: "SELECT pg_backend_pid() AS pid", commits: false };
  const { rows } = await lease.execute<{ pid: number }>(asked, { callMsMax });
  const [found] = rows;
  if (found === undefined) throw new TypeError("PostgreSQL named no process");
  return found.pid;
}

/** A connection that is free, or a new one. */
async function reserve(pool: SQL, options: PoolOptions, onExpiry: () => void): Promise<Bun.ReservedSQL> {
  const reserving = pool.reserve();
  try {
    return await withinLimit(reserving, options.callMsMax, () => {
      // It may come after all, and would keep its place in the pool.
      void reserving.then((late) => late.close()).catch(() => {});
      onExpiry();
      throw new DatabaseUnreachableError("limit", { mayBeCommitted: false });
    });
  } catch (cause) {
    const failure = toDatabaseError(cause, { commits: false });
    throw failure instanceof StatementError ? await nameVersion(failure, options) : failure;
  }
}

/** SQLSTATE undefined_object: a server older than 14 knows none of our settings of a session that it brought. */
const UNKNOWN_SETTING = "42704";

/** Why a server makes no connection, with its version where that is the reason: it is asked on a connection without settings. */
async function nameVersion(refusal: StatementError, options: PoolOptions): Promise<Error> {
  if (refusal.code !== UNKNOWN_SETTING) return toConnectionError(refusal);
  const plain = new SQL({ ...toDriverOptions(options), max: 1, connection: {} });
  try {
    const asking = plain.unsafe<readonly { version: string }[]>(
      "SELECT current_setting('server_version') AS version",
    );
    const rows = await withinLimit(asking, options.callMsMax, () => []);
    return rows[0] === undefined ? toConnectionError(refusal) : toVersionError(rows[0].version);
  } catch {
    return toConnectionError(refusal);
  } finally {
    void plain.close({ timeout: 0 }).catch(() => {});
  }
}

/** The driver has one code for a host that refuses and for one whose name leads nowhere. */
async function nameUnresolved(cause: unknown, { address, callMsMax }: PoolOptions): Promise<unknown> {
  const isRefused = cause instanceof DatabaseUnreachableError && cause.code === "refused";
  if (!isRefused || address.socketFolder !== null) return cause;
  const isResolved = await withinLimit(resolves(address.hostname), callMsMax, () => true);
  return isResolved ? cause : new DatabaseUnreachableError("unresolved", { mayBeCommitted: false });
}
