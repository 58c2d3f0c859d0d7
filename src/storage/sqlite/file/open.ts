import { Database } from "bun:sqlite";
import { accessSync, constants, statSync } from "node:fs";
import { SetupError } from "#kernel/errors.ts";
import { ensureDatabaseFile } from "#storage/files/private-file.ts";
import { isBusy, withSetupErrors } from "#storage/files/setup-errors.ts";
import type { DataPlace } from "#storage/engine.ts";

/** Opening and migrating wait so long for another process that does the same. Nothing is served yet, so they may block. */
const OPEN_BUSY_TIMEOUT_MS = 5_000;
const WAL_RETRY_INTERVAL_MS = 10;

/** The file of the catalog. The settings have picked this engine by it. */
export function toCatalogPath({ database }: Pick<DataPlace, "database">): string {
  if (database.kind !== "sqlite") throw new TypeError("SQLite keeps its catalog in a file");
  return database.path;
}

/**
 * Opens a SQLite file for reading and writing, made with mode 0600 when it is absent, with the pragmas that every
 * connection of ours has. The folder must exist. Throws SetupError with one line that says what to do.
 */
export function openSqlite(path: string): Database {
  return withSetupErrors(path, () => {
    ensureDatabaseFile(path);
    return open(path, (db) => {
      switchToWal(db);
      // WAL with NORMAL may lose the last commits on a loss of power: a key that was shown once would be gone.
      db.run("PRAGMA synchronous = FULL");
      // Off by default, and per connection: without it a deleted principal would leave its keys behind.
      db.run("PRAGMA foreign_keys = ON");
    });
  });
}

/**
 * Opens a SQLite file for looking at it: nothing is written and no file is made. Not with SQLite's own read-only mode, which
 * leaves the `-wal` and `-shm` behind that reading needs. The file must exist. Throws SetupError.
 */
export function openSqliteReader(path: string): Database {
  return withSetupErrors(path, () => {
    accessSync(path, constants.R_OK);
    return open(path, (db) => db.run("PRAGMA query_only = ON"));
  });
}

function open(path: string, prepare: (db: Database) => void): Database {
  const db = new Database(path, { readwrite: true, strict: true });
  try {
    // Four processes that start at once wait for one another instead of failing.
    db.run(`PRAGMA busy_timeout = ${OPEN_BUSY_TIMEOUT_MS}`);
    prepare(db);
    // A file that was tampered with must not run functions out of its schema.
    db.run("PRAGMA trusted_schema = OFF");
    // Sorters must not spill names and hashes into files of other modes.
    db.run("PRAGMA temp_store = MEMORY");
    return db;
  } catch (cause) {
    db.close(true);
    throw cause;
  }
}

/** Unlike `existsSync`, it tells a folder that is closed to this user from one without the file. */
export function hasFile(path: string): boolean {
  return withSetupErrors(path, () => statSync(path, { throwIfNoEntry: false })) !== undefined;
}

/** Throws a SetupError that says `name` unless every page, every index and every reference is sound. */
export function requireIntact(path: string, name: string = path): void {
  withReader(path, (database) => {
    requireSound(database, name, "integrity_check");
    requireReferences(database, name);
  });
}

/** Returns what `read` does; nothing is changed, and the file is closed. Throws a SetupError for a file that cannot be used. */
export function withReader<Result>(path: string, read: (database: Database) => Result): Result {
  return withSetupErrors(path, () => {
    const database = openSqliteReader(path);
    try {
      return read(database);
    } finally {
      database.close();
    }
  });
}

/**
 * Throws a `SetupError` unless every page is sound, and with `integrity_check` every index too (sqlite.org/pragma.html).
 * Reads the whole file. The sentence says `name`, since a copy's own path means nothing to its reader.
 */
export function requireSound(db: Database, name: string, check: "quick_check" | "integrity_check"): void {
  const [[finding] = []] = db.query(`PRAGMA ${check}(1)`).values();
  if (finding === "ok") return;
  throw new SetupError("configuration", `The database ${name} is damaged: restore it from a backup.`);
}

/** Throws a `SetupError` when a row refers to one that is not there. */
export function requireReferences(db: Database, name: string): void {
  if (db.query("PRAGMA foreign_key_check").get() === null) return;
  throw new SetupError(
    "configuration",
    `The database ${name} holds rows that refer to missing ones: restore it from a backup.`,
  );
}

/** WAL lets readers go on while a writer is at work. It stays set in the file, but the switch itself ignores `busy_timeout`. */
function switchToWal(db: Database): void {
  for (let waitedMs = 0; ; waitedMs += WAL_RETRY_INTERVAL_MS) {
    try {
      db.run("PRAGMA journal_mode = WAL");
      return;
    } catch (cause) {
      if (!isBusy(cause) || waitedMs >= OPEN_BUSY_TIMEOUT_MS) throw cause;
      Bun.sleepSync(WAL_RETRY_INTERVAL_MS);
    }
  }
}
