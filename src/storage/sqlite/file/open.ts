import { Database, SQLiteError } from "bun:sqlite";
import { accessSync, constants, statSync } from "node:fs";
import { SetupError } from "#kernel/errors.ts";
import { findCode, systemCode } from "#kernel/system-code.ts";
import { makePrivateFile } from "#storage/files/private-file.ts";

/** How long opening and migrating wait for another process that does the same. Nothing is served yet, so they may block. */
const OPEN_BUSY_TIMEOUT_MS = 5_000;
const WAL_RETRY_INTERVAL_MS = 10;

/**
 * Opens a SQLite file for reading and writing, made with mode 0600 when it is absent, with the pragmas that every
 * connection of ours has. The folder must exist. Throws SetupError with one line that says what to do.
 */
export function openSqlite(path: string): Database {
  return withSetupErrors(path, () => {
    ensureDatabaseFile(path);
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

/**
 * Opens a SQLite file for looking at it: nothing is written and no file is made. Not with SQLite's own read-only mode, which
 * leaves the `-wal` and `-shm` behind that reading needs. The file must exist. Throws SetupError.
 */
export function openSqliteReader(path: string): Database {
  return withSetupErrors(path, () => {
    accessSync(path, constants.R_OK);
    const db = new Database(path, { readwrite: true, strict: true });
    try {
      db.run(`PRAGMA busy_timeout = ${OPEN_BUSY_TIMEOUT_MS}`);
      db.run("PRAGMA query_only = ON");
      db.run("PRAGMA trusted_schema = OFF");
      db.run("PRAGMA temp_store = MEMORY");
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

/** True for a lock that another connection holds, in any of its extended codes (sqlite.org/rescode.html). */
export function isBusy(cause: unknown): boolean {
  if (cause instanceof SQLiteError) return (cause.code ?? "").startsWith("SQLITE_BUSY");
  // drizzle wraps what a one-time statement throws.
  return cause instanceof Error && cause.cause !== undefined && isBusy(cause.cause);
}

/** True for a file that is damaged, or no database at all. */
export function isDamage(cause: unknown): boolean {
  const code = findCode(cause) ?? "";
  return DAMAGE_CODES.some((known) => extendsCode(code, known));
}

/**
 * Makes the file unless it is there. SQLite would make it with the umask's mode; its -wal and -shm files inherit the mode
 * and the owner of the file itself.
 */
export function ensureDatabaseFile(path: string): void {
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
    makePrivateFile(path);
  } catch (cause) {
    // Another process that starts at the same moment was first.
    if (systemCode(cause) !== "EEXIST") throw cause;
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
  // A file that was tampered with must not run functions out of its schema.
  db.run("PRAGMA trusted_schema = OFF");
  // Sorters must not spill names and hashes into files of other modes.
  db.run("PRAGMA temp_store = MEMORY");
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

const DAMAGE_CODES = ["SQLITE_CORRUPT", "SQLITE_NOTADB"];

/** By the first of these codes that it has or extends (sqlite.org/rescode.html), what a failure means. */
const FAULTS: readonly {
  readonly codes: readonly string[];
  readonly kind: SetupError["kind"];
  readonly say: (path: string) => string;
}[] = [
  {
    codes: ["EACCES", "EPERM", "EROFS", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_CANTOPEN", "SQLITE_AUTH"],
    kind: "permission",
    say: (path) =>
      `The database ${path} cannot be read and written: check the owner and mode of the file and its folder.`,
  },
  {
    codes: DAMAGE_CODES,
    kind: "configuration",
    say: (path) => `The file ${path} is damaged or is not a database: restore it from a backup.`,
  },
  {
    codes: ["SQLITE_BUSY"],
    kind: "configuration",
    say: (path) => `The database ${path} is locked by another process: stop it and start again.`,
  },
  {
    codes: ["ENOENT", "ENOTDIR"],
    kind: "configuration",
    say: (path) => `The folder of the database ${path} does not exist: create it or set another path.`,
  },
  {
    // SQLite has IOERR also for a log that finds no room.
    codes: ["ENOSPC", "EDQUOT", "SQLITE_FULL", "SQLITE_IOERR"],
    kind: "configuration",
    say: (path) =>
      `The database ${path} cannot be written: its disk is full or fails. Make room on it, or look into the log of the system (dmesg).`,
  },
];

function toSetupError(path: string, cause: unknown): unknown {
  if (cause instanceof SetupError) return cause;
  const code = findCode(cause) ?? "";
  const fault = FAULTS.find(({ codes }) => codes.some((known) => extendsCode(code, known)));
  return fault === undefined ? cause : new SetupError(fault.kind, fault.say(path), cause);
}

function extendsCode(code: string, known: string): boolean {
  return code === known || code.startsWith(`${known}_`);
}
