import type { Database } from "bun:sqlite";
import { withSetupErrors } from "#storage/files/setup-errors.ts";
import { openSqlite } from "#storage/sqlite/file/open.ts";

/** A server's time with the ledger. Each start has the next number; who finds a higher one than its own writes no more. */
export interface ServerRun {
  readonly number: number;
  /** True: the server before may still be running, since it held its lock on another file, and has not said that it ended. */
  readonly isOvertaking: boolean;
}

/** Begins a run. `lockFile` tells the file whose lock this server holds from any other. Throws SetupError. */
export function beginServerRun(path: string, lockFile: string): ServerRun {
  const database = openSqlite(path);
  try {
    return withSetupErrors(path, () => begin(database, lockFile));
  } finally {
    database.close();
  }
}

function begin(database: Database, lockFile: string): ServerRun {
  database.run("BEGIN IMMEDIATE");
  try {
    const before = database
      .query<{ number: number; lock_file: string }, []>("SELECT number, lock_file FROM server_run")
      .get() ?? { number: 0, lock_file: "" };
    const number = before.number + 1;
    database
      .query<unknown, [number, string]>("UPDATE server_run SET number = ?, lock_file = ?")
      .run(number, lockFile);
    database.run("COMMIT");
    return { number, isOvertaking: before.lock_file !== "" && before.lock_file !== lockFile };
  } finally {
    if (database.inTransaction) database.run("ROLLBACK");
  }
}

/** Says that this server writes no more. */
export function endServerRun(database: Database, number: number): void {
  database.query<unknown, [number]>("UPDATE server_run SET lock_file = '' WHERE number = ?").run(number);
}

/** The number of the last run that has begun. */
export function readServerRun(database: Database): number {
  return database.query<{ number: number }, []>("SELECT number FROM server_run").get()?.number ?? 0;
}
