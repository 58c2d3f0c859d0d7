import { Database, SQLiteError } from "bun:sqlite";
import { accessSync, closeSync, constants, openSync, statSync } from "node:fs";
import { SetupError } from "#kernel/errors.ts";

/** How long opening and migrating wait for another process that does the same. Nothing is served yet, so they may block. */
const OPEN_BUSY_TIMEOUT_MS = 5_000;
const WAL_RETRY_INTERVAL_MS = 10;

/**
 * Opens a SQLite file for reading and writing, made with mode 0600 when it is absent, with the pragmas that every
 * connection of ours has. The folder must exist. Throws SetupError with one line that says what to do.
 */
export function openSqlite(path: string): Database {
  return withSetupErrors(path, () => {
    createPrivateFile(path);
    const db = new Database(path, { readwrite: true, strict: true });
    try {
      applyPragmas(db);
      return db;
    } catch (cause) {
      db.close(true);
      throw cause;
    }
  });
}

/** Runs a step of the start-up; a failure of the file or of SQLite becomes a SetupError that names the file. */
export function withSetupErrors<Result>(path: string, step: () => Result): Result {
  try {
    return step();
  } catch (cause) {
    throw toSetupError(path, cause);
  }
}

/** True for a lock that somebody else holds, in any of its extended codes (sqlite.org/rescode.html). */
export function isBusy(cause: unknown): boolean {
  if (cause instanceof SQLiteError) return (cause.code ?? "").startsWith("SQLITE_BUSY");
  // drizzle wraps what a one-time statement throws.
  return cause instanceof Error && cause.cause !== undefined && isBusy(cause.cause);
}

/** SQLite would make the file with the umask's mode; its -wal and -shm files inherit the mode of the file itself. */
function createPrivateFile(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) {
    // Exclusive, and never for a file that exists: closing any descriptor of it would drop the locks that other
    // connections of this process hold on it (sqlite.org/howtocorrupt.html, section 2.2).
    closeIfCreated(path);
    return;
  }
  if (found.isDirectory()) {
    throw new SetupError("configuration", `The database ${path} is a folder: set the path of a file.`);
  }
  // SQLite opens a file that it may not write for reading only, and would say so at the first mutation.
  accessSync(path, constants.R_OK | constants.W_OK);
}

function closeIfCreated(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (cause) {
    // Another process that starts at the same moment was first.
    if (!(cause instanceof Error && "code" in cause && cause.code === "EEXIST")) throw cause;
  }
}

function applyPragmas(db: Database): void {
  // Four processes that start at once wait for one another instead of failing.
  db.run(`PRAGMA busy_timeout = ${OPEN_BUSY_TIMEOUT_MS}`);
  switchToWal(db);
  // WAL with NORMAL may lose the last commits on a loss of power: a key that was shown once would be gone.
  db.run("PRAGMA synchronous = FULL");
  // Off by default, and per connection: without it a deleted principal would leave its keys behind.
  db.run("PRAGMA foreign_keys = ON");
  // A file that somebody tampered with must not run functions out of its schema.
  db.run("PRAGMA trusted_schema = OFF");
  // Sorters must not spill names and hashes into files of other modes.
  db.run("PRAGMA temp_store = MEMORY");
}

/** WAL lets readers go on while anybody writes. It stays set in the file, but the switch itself ignores `busy_timeout`. */
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

const PERMISSION_CODES = [
  "EACCES",
  "EPERM",
  "EROFS",
  "SQLITE_READONLY",
  "SQLITE_PERM",
  "SQLITE_CANTOPEN",
  "SQLITE_AUTH",
];
const DAMAGE_CODES = ["SQLITE_CORRUPT", "SQLITE_NOTADB"];

function toSetupError(path: string, cause: unknown): unknown {
  if (cause instanceof SetupError) return cause;
  const code = cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : "";
  const matches = (codes: readonly string[]) =>
    codes.some((known) => code === known || code.startsWith(`${known}_`));
  if (matches(PERMISSION_CODES)) {
    return new SetupError(
      "permission",
      `The database ${path} cannot be written: check the owner and mode of the file and its folder.`,
      cause,
    );
  }
  if (matches(DAMAGE_CODES)) {
    return new SetupError(
      "configuration",
      `The file ${path} is damaged or is not a database: restore it from a backup.`,
      cause,
    );
  }
  if (isBusy(cause)) {
    return new SetupError(
      "configuration",
      `The database ${path} is locked by another process: stop it and start again.`,
      cause,
    );
  }
  if (code === "ENOENT" || code === "ENOTDIR") {
    return new SetupError(
      "configuration",
      `The folder of the database ${path} does not exist: create it or set another path.`,
      cause,
    );
  }
  if (code === "ENOSPC" || code === "SQLITE_FULL" || code.startsWith("SQLITE_IOERR")) {
    return new SetupError(
      "configuration",
      `The database ${path} cannot be written: the disk is full or fails.`,
      cause,
    );
  }
  return cause;
}
