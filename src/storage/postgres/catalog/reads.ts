import { toUnreachableRefusal, UnreachableError } from "#kernel/errors.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { SqlWithOrm } from "#storage/postgres/connection/sql.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import type { Freshness } from "#storage/replicas/freshness.ts";

/** What is asked of the database without the catalog's lock. Throws `internal_error` when it cannot be reached. */
export interface Reads {
  /** Fulfilled when memory may be believed. */
  current(): Promise<void>;
  /** Statements that need not be of one state. They may also write what nothing remembers. */
  query<R>(step: (sql: SqlWithOrm) => Promise<R>): Promise<R>;
  /** Several statements that see one state of the database. */
  snapshot<R>(step: (tx: Transaction) => Promise<R>): Promise<R>;
  /** Several statements that are committed together, of what nothing remembers: no other replica is told. */
  writeAside<R>(step: (tx: Transaction) => Promise<R>): Promise<R>;
}

export function createReads(postgres: Postgres, freshness: Freshness): Reads {
  return {
    async current() {
      if (!freshness.isTrusted()) await freshness.refreshed().catch(throwAnswer);
    },
    query: (step) => step(postgres).catch(throwAnswer),
    snapshot: (step) =>
      postgres.transaction(step, { isReadOnly: true, isolation: "repeatable read" }).catch(throwAnswer),
    writeAside: (step) => postgres.transaction(step).catch(throwAnswer),
  };
}

function throwAnswer(cause: unknown): never {
  throw cause instanceof UnreachableError ? toUnreachableRefusal(cause) : cause;
}
