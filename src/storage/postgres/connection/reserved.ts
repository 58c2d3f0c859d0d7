import { DatabaseUnreachableError } from "./errors.ts";
import type { Lease, Pool } from "./pool.ts";
import { createSql, type Sql } from "./sql.ts";
import { runTransaction, type Limited, type Transaction, type TransactionOptions } from "./transaction.ts";

export interface Reserved {
  /** As `Postgres.transaction`. One at a time. */
  transaction<R>(step: (tx: Transaction) => Promise<R>, options?: TransactionOptions): Promise<R>;
  /** Gives the connection back, at the end of the transaction under way where there is one. The next transaction has another. */
  release(): void;
}

/** See `Postgres.reserve`. */
export function createReserved(
  pool: Pool,
  prepare: (sql: Sql) => Promise<void>,
  callMsMax: number,
): Reserved {
  let held: Lease | null = null;
  let isBusy = false;
  let isWanted = true;
  const drop = () => {
    held?.release();
    held = null;
  };
  const take = async (): Promise<Lease> => {
    if (held !== null && !held.isLost()) return held;
    drop();
    const lease = await pool.lease();
    held = lease;
    await prepare(createSql((statement) => lease.execute({ ...statement, commits: true }, { callMsMax })));
    return lease;
  };
  const takeOrDrop = () =>
    take().catch((cause: unknown) => {
      drop();
      throw cause;
    });
  const begin = async <R>(step: (tx: Transaction) => Promise<R>, options: Limited): Promise<R> => {
    const kept = held;
    const lease = await takeOrDrop();
    let hasBegun = false;
    const counted = (tx: Transaction) => {
      hasBegun = true;
      return step(tx);
    };
    try {
      return await runTransaction(lease, counted, options);
    } catch (cause) {
      // The server ended the connection between two transactions, which only BEGIN tells: after each restart of it a caller would fail.
      const isStale = lease === kept && !hasBegun && isEnded(cause);
      if (!isStale) throw cause;
      return await runTransaction(await takeOrDrop(), step, options);
    }
  };
  return {
    async transaction(step, changes = {}) {
      if (isBusy) throw new TypeError("a reserved connection has one transaction at a time");
      isBusy = true;
      isWanted = true;
      try {
        return await begin(step, { beginMsMax: callMsMax, callMsMax, ...changes });
      } finally {
        isBusy = false;
        if (!isWanted) drop();
      }
    },
    release() {
      isWanted = false;
      if (!isBusy) drop();
    },
  };
}

/** Whether the connection was ended, and not given up for its silence, which has used up the limit of the call already. */
function isEnded(cause: unknown): boolean {
  return cause instanceof DatabaseUnreachableError && cause.code !== "limit";
}
