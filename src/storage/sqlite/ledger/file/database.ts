import { Database } from "bun:sqlite";
import { withSetupErrors } from "#storage/files/setup-errors.ts";
import { openSqlite } from "#storage/sqlite/file/open.ts";
import { readSchemaVersion, toForeignError } from "./schema-version.ts";
import { APPLICATION_ID, SCHEMA_SQL, SCHEMA_VERSION } from "./schema.ts";
import type { JournalPosition } from "#storage/journal/segments.ts";

/** Where the Workers find usage.db. */
export interface UsagePlace {
  readonly databasePath: string;
}

/** Some 16 MB of pages for the one writer; negative is KiB (sqlite.org/pragma.html#pragma_cache_size). */
const WRITER_CACHE_KIB = 16_384;
/**
 * Some 64 MB of pages for the one reader. It is also how much its sorters hold before they spill, which took half as long
 * again over two million rows.
 */
const READER_CACHE_KIB = 65_536;
const READER_BUSY_TIMEOUT_MS = 5_000;

/**
 * Makes or checks usage.db before anything is served. Throws SetupError for a file that is damaged, foreign, newer than this
 * executable or not writable. Returns how far the journal is committed.
 */
export function prepareUsageDatabase(path: string): JournalPosition {
  const database = openSqlite(path);
  try {
    return withSetupErrors(path, () => {
      createSchema(database, path);
      return readPosition(database);
    });
  } finally {
    database.close();
  }
}

/** How far the journal is committed. */
export function readPosition(database: Database): JournalPosition {
  const state = database
    .query<{ journal_segment: number; journal_offset: number }, []>(
      "SELECT journal_segment, journal_offset FROM ledger_state",
    )
    .get();
  return { segment: state?.journal_segment ?? 0, offsetBytes: state?.journal_offset ?? 0 };
}

/** The writer's connection. It never waits inside SQLite: a write is tried again, with other work in between. */
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
  database.run(`PRAGMA cache_size = -${READER_CACHE_KIB}`);
  database.run("PRAGMA trusted_schema = OFF");
  database.run("PRAGMA temp_store = MEMORY");
  return database;
}

function createSchema(database: Database, path: string): void {
  if (readSchemaVersion(database, path) === SCHEMA_VERSION) return;
  database.run("BEGIN IMMEDIATE");
  try {
    // Asked again under the lock: another process may have made it meanwhile.
    if (readSchemaVersion(database, path) === 0) {
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
