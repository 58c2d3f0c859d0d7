import type { Script } from "#storage/sql/script.ts";
import type { StoreMemory } from "./memory.ts";

/**
 * Runs scripts on the catalog of an engine, each in one transaction. A script is a function that makes one, since what was
 * refused because of a lock runs again: it must not change anything but the database.
 *
 *     read: () => driver.read(function* () { return yield* select(sessions, "ORDER BY expires_at_us"); })
 *     change: () => driver.change(function* () { yield* insert(limits, [row]); yield* changed("limit", row.id); })
 *
 * Throws what the script throws, after a ROLLBACK, and `internal_error` when the database is locked for too long or away.
 */
export interface CatalogDriver {
  /** Reads of one moment. What is remembered is asked of `memory`, not read. */
  readonly read: <Answer>(script: () => Script<Answer>) => Promise<Answer>;
  /** As `read`, where statements need not be of one moment, as one of them is by itself: PostgreSQL spares two round trips. */
  readonly ask: <Answer>(script: () => Script<Answer>) => Promise<Answer>;
  /**
   * A change under the catalog's lock (`changeCatalog`): what the script reads stays true until its COMMIT, and while it runs
   * `memory` is as the lock has found the catalog. Each row that memory holds and that was changed is told by
   * `yield* changed(kind, id)`, also one that goes by ON DELETE CASCADE. Own memory has the change, and every replica follows
   * it, when this is fulfilled; what tells nothing is waited for by none.
   */
  readonly change: <Answer>(script: () => Script<Answer>) => Promise<Answer>;
  /** A write of what no memory holds: sessions, notices, marks, kept responses. It waits for no other replica. */
  readonly aside: <Answer>(script: () => Script<Answer>) => Promise<Answer>;
  /** As `aside`, of one statement: on PostgreSQL this spares two round trips. */
  readonly put: <Answer>(script: () => Script<Answer>) => Promise<Answer>;
  /** True where several servers have the catalog, of which each sends the notices that it has claimed. */
  readonly isShared: boolean;
  /** Never older than the last `current` that was fulfilled. */
  readonly memory: StoreMemory;
  /** Tells whether nothing has changed since, so that memory may be believed without asking. Cheap enough for every request. */
  readonly isTrusted: () => boolean;
  /** Fulfilled when memory is at least as new as the database was at the call. */
  readonly current: () => Promise<void>;
}
