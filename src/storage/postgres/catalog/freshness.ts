import type { Sql } from "#storage/postgres/connection/sql.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";

/**
 * One thing that a transaction has changed, as other replicas read it again. A principal stands for all that goes with it.
 * `id` null: everything of the kind. `catalog` and `limit` are read whole in any case, `session` is remembered nowhere.
 */
export interface Change {
  readonly kind: "catalog" | "principal" | "key" | "relay_token" | "limit" | "session" | "secret";
  readonly id: string | null;
}

/** What a step under the catalog's lock has done. Without changes it is committed, and no replica is waited for. */
export interface Mutation<R> {
  readonly result: R;
  readonly changes: readonly Change[];
}

/** Whether what a replica remembers of the database may be believed, and how it changes what all of them remember. */
export interface Freshness {
  /** Costs one comparison of clocks: every request asks. */
  isTrusted(): boolean;
  /** Fulfilled when memory is at least as new as the database was at this call. Throws DatabaseUnreachableError. */
  refreshed(): Promise<void>;
  /**
   * Runs `step` in a transaction that holds the catalog's lock, commits it, and waits until every replica has applied its
   * changes or may not answer from memory any more. What `step` throws is thrown after the ROLLBACK. Throws `internal_error`
   * when the database cannot be reached, and says so when the change may have been made.
   */
  mutate<R>(step: (tx: Transaction) => Promise<Mutation<R>>): Promise<R>;
}

/** What a replica remembers of the database. Calls of `load` and `apply` come one after the other. */
export interface Memory {
  /** Reads everything; `sql` must show one state of the database throughout. */
  load(sql: Sql): Promise<void>;
  /** Reads again what has changed. Nothing is replaced before everything is read, and then in one turn of the event loop. */
  apply(sql: Sql, changes: readonly Change[]): Promise<void>;
}
