import { Database } from "bun:sqlite";
import type { InstantUs } from "#kernel/clock.ts";
import { SetupError } from "#kernel/errors.ts";
import { withSetupErrors } from "#storage/files/setup-errors.ts";
import type { JournalPosition } from "#storage/journal/segments.ts";
import { hasFile, openSqlite, withReader } from "#storage/sqlite/file/open.ts";
import type { ServerRun } from "#storage/threads/ledger.ts";
import { APPLICATION_ID, SCHEMA_SQL, SCHEMA_VERSION, listMissingColumns, toMissingTables } from "./schema.ts";

/** Where the Workers find usage.db. */
export interface UsagePlace {
  readonly databasePath: string;
  /** The catalog beside it, for the writer of a server. */
  readonly catalogPath?: string | undefined;
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
 * Makes, upgrades or checks usage.db before anything is served. Throws SetupError for a file that is damaged, foreign, newer than this
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

/** Reads how far the journal is committed. */
export function readPosition(database: Database): JournalPosition {
  return findPosition(database) ?? { segment: 0, offsetBytes: 0 };
}

function findPosition(database: Database): JournalPosition | null {
  return database
    .query<JournalPosition, []>(
      "SELECT journal_segment AS segment, journal_offset AS offsetBytes FROM main.ledger_state",
    )
    .get();
}

/** The writer's connection. It never waits inside SQLite: a write is tried again, with other work in between. */
export function openForWriting(path: string): Database {
  const database = openSqlite(path);
  database.run("PRAGMA busy_timeout = 0");
  database.run(`PRAGMA cache_size = -${WRITER_CACHE_KIB}`);
  return database;
}

/**
 * The reader's connection: it could not change an event if it wanted to. A database of an earlier version, which its server has
 * not upgraded yet, is read as one of this version.
 */
export function openForReading(path: string): Database {
  const database = new Database(path, { readonly: true, strict: true });
  database.run(`PRAGMA busy_timeout = ${READER_BUSY_TIMEOUT_MS}`);
  database.run(`PRAGMA cache_size = -${READER_CACHE_KIB}`);
  database.run("PRAGMA trusted_schema = OFF");
  database.run("PRAGMA temp_store = MEMORY");
  const version = readSchemaVersion(database, path);
  if (version > 0 && version < SCHEMA_VERSION)
    database.run(toMissingTables(version).replaceAll("CREATE TABLE", "CREATE TEMP TABLE"));
  const added = Map.groupBy(listMissingColumns(version), ({ table }) => table);
  for (const [table, columns] of added) {
    const values = columns.map(({ name, value }) => `${value} AS ${name}`);
    // A name without its schema is looked up among temporary ones first.
    database.run(`CREATE TEMP VIEW ${table} AS SELECT *, ${values.join(", ")} FROM main.${table}`);
  }
  return database;
}

/** Looks for a usage database. Changes nothing. Throws a SetupError for a file that is damaged, foreign or newer. */
export function hasUsageDatabase(path: string): boolean {
  if (!hasFile(path)) return false;
  return withReader(path, (database) => {
    if (readSchemaVersion(database, path) > 0) return true;
    if (database.query("SELECT 1 FROM sqlite_schema").get() !== null) throw toForeignError(path);
    return false;
  });
}

interface UsageFacts {
  readonly schema: number;
  /** The position up to which its journal is in it. */
  readonly position: JournalPosition;
  /** The arrival of the newest event; null when there is none. */
  readonly newestAtUs: InstantUs | null;
}

/** Inspects a usage database and changes nothing. Throws a SetupError for a file that is damaged, foreign or newer. */
export function inspectUsage(path: string): UsageFacts {
  return withReader(path, (database) => {
    const schema = readSchemaVersion(database, path);
    if (schema === 0) throw toForeignError(path);
    const position = findPosition(database);
    if (position === null) {
      throw new SetupError(
        "configuration",
        `The database ${path} no longer says how far its journal is in it: restore a backup.`,
      );
    }
    const newest = database.query<{ id: number | null }, []>("SELECT max(id) AS id FROM event").get();
    return { schema, position, newestAtUs: newest?.id ?? null };
  });
}

/**
 * The schema of usage.db, at most `SCHEMA_VERSION`; zero for a file that has none yet. Throws a `SetupError` for another
 * program's file, which may carry any version, and for one of a newer version.
 */
export function readSchemaVersion(database: Database, path: string): number {
  const { version, application } = database
    .query<{ version: number; application: number }, []>(
      "SELECT user_version AS version, application_id AS application FROM pragma_user_version, pragma_application_id",
    )
    .get() ?? { version: 0, application: 0 };
  const isEmpty = application === 0 && version === 0;
  if (application !== APPLICATION_ID && !isEmpty) throw toForeignError(path);
  if (version <= SCHEMA_VERSION) return version;
  throw new SetupError(
    "configuration",
    `The database ${path} was written by a newer lockport: start that version, or restore a backup.`,
  );
}

function toForeignError(path: string): SetupError {
  return new SetupError("configuration", `The file ${path} is not a usage database: move it away.`);
}

function createSchema(database: Database, path: string): void {
  if (readSchemaVersion(database, path) === SCHEMA_VERSION) return;
  database.run("BEGIN IMMEDIATE");
  try {
    // Asked again under the lock: another process may have made it meanwhile.
    const version = readSchemaVersion(database, path);
    if (version === 0) {
      const { tables } = database
        .query<{ tables: number }, []>("SELECT count(*) AS tables FROM sqlite_schema")
        .get() ?? { tables: 0 };
      if (tables > 0) throw toForeignError(path);
      database.run(SCHEMA_SQL);
      database.run(`PRAGMA application_id = ${APPLICATION_ID}`);
    } else {
      for (const { table, name, type, value } of listMissingColumns(version))
        database.run(`ALTER TABLE ${table} ADD COLUMN ${name} ${type} DEFAULT ${value}`);
      database.run(toMissingTables(version));
    }
    database.run(`PRAGMA user_version = ${SCHEMA_VERSION}`);
    database.run("COMMIT");
  } finally {
    if (database.inTransaction) database.run("ROLLBACK");
  }
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
