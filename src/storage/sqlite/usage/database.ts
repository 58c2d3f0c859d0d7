import { Database } from "bun:sqlite";
import { SetupError } from "#kernel/errors.ts";
import { openSqlite, withSetupErrors } from "#storage/sqlite/open.ts";
import { APPLICATION_ID, SCHEMA_SQL, SCHEMA_VERSION } from "./schema.ts";

/** Some 16 MB of pages for the one writer; negative is KiB (sqlite.org/pragma.html#pragma_cache_size). */
const WRITER_CACHE_KIB = 16_384;
const READER_BUSY_TIMEOUT_MS = 5_000;

/**
 * Makes or checks usage.db before anything is served. Throws SetupError for a file that is damaged, foreign, newer than
 * this executable or not writable.
 */
export function prepareUsageDatabase(path: string): { readonly journalSegment: number } {
  const database = openSqlite(path);
  try {
    return withSetupErrors(path, () => {
      createSchema(database, path);
      const state = database
        .query<{ journal_segment: number }, []>("SELECT journal_segment FROM ledger_state")
        .get();
      return { journalSegment: state?.journal_segment ?? 0 };
    });
  } finally {
    database.close();
  }
}

/** The writer's connection. It never waits inside SQLite: whoever writes tries again, and does other work in between. */
export function openForWriting(path: string): Database {
  const database = openSqlite(path);
  database.run("PRAGMA busy_timeout = 0");
  database.run(`PRAGMA cache_size = -${WRITER_CACHE_KIB}`);
  return database;
}

/** The reader's connection: it could not change an event if it wanted to. Its temporary tables are in memory. */
export function openForReading(path: string): Database {
  const database = new Database(path, { readonly: true, strict: true });
  database.run(`PRAGMA busy_timeout = ${READER_BUSY_TIMEOUT_MS}`);
  database.run("PRAGMA trusted_schema = OFF");
  database.run("PRAGMA temp_store = MEMORY");
  return database;
}

function createSchema(database: Database, path: string): void {
  if (readVersion(database, path) === SCHEMA_VERSION) return;
  database.run("BEGIN IMMEDIATE");
  try {
    // Asked again under the lock: another process may have made it meanwhile.
    const version = readVersion(database, path);
    if (version > SCHEMA_VERSION) {
      throw new SetupError(
        "configuration",
        `The database ${path} was written by a newer lockport: start that version, or restore a backup.`,
      );
    }
    if (version === 0) {
      const { tables } = database
        .query<{ tables: number }, []>("SELECT count(*) AS tables FROM sqlite_schema")
        .get() ?? { tables: 0 };
      if (tables > 0) throw toForeignError(path);
      database.run(SCHEMA_SQL);
      database.run(`PRAGMA application_id = ${APPLICATION_ID}`);
      database.run(`PRAGMA user_version = ${SCHEMA_VERSION}`);
    }
    database.run("COMMIT");
  } finally {
    if (database.inTransaction) database.run("ROLLBACK");
  }
}

/** Zero for a file that has no schema yet. Another program's file may carry any version: the application tells. */
function readVersion(database: Database, path: string): number {
  const { version, application } = database
    .query<{ version: number; application: number }, []>(
      "SELECT user_version AS version, application_id AS application FROM pragma_user_version, pragma_application_id",
    )
    .get() ?? { version: 0, application: 0 };
  if (application === APPLICATION_ID || (application === 0 && version === 0)) return version;
  throw toForeignError(path);
}

function toForeignError(path: string): SetupError {
  return new SetupError("configuration", `The file ${path} is not a usage database: move it away.`);
}
