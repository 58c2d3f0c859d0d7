import type { Database } from "bun:sqlite";

/**
 * One picture of the file for everything that `read` asks: totals and rows of different commits would not fit together.
 * Within another one it is part of that.
 */
export function readTransaction<Answer>(database: Database, read: () => Answer): Answer {
  if (database.inTransaction) return read();
  database.run("BEGIN");
  try {
    return read();
  } finally {
    // An error may have rolled back by itself; a second time would throw, and hide it.
    if (database.inTransaction) database.run("ROLLBACK");
  }
}
