import { SetupError } from "#kernel/errors.ts";
import { findCode } from "#kernel/system-code.ts";

/** The kind of file that a step of the start-up opens, as messages call it. */
type Kept = "database" | "journal" | "lock file";

/** Runs a step of the start-up; a failure of the file or of SQLite becomes a SetupError that names the file. */
export function withSetupErrors<Result>(path: string, step: () => Result, kept: Kept = "database"): Result {
  try {
    return step();
  } catch (cause) {
    throw toSetupError(path, cause, kept);
  }
}

/** True for a lock that another connection holds, in any of its extended codes (sqlite.org/rescode.html). */
export function isBusy(cause: unknown): boolean {
  return extendsCode(findCode(cause) ?? "", "SQLITE_BUSY");
}

/** True for a file that is damaged, or no database at all. */
export function isDamage(cause: unknown): boolean {
  const code = findCode(cause) ?? "";
  return DAMAGE_CODES.some((known) => extendsCode(code, known));
}

const DAMAGE_CODES = ["SQLITE_CORRUPT", "SQLITE_NOTADB"];

/** By the first of these codes that it has or extends (sqlite.org/rescode.html), what a failure means. */
const FAULTS: readonly {
  readonly codes: readonly string[];
  readonly kind: SetupError["kind"];
  /** The sentence: `named` says what is kept there, with its path. */
  readonly say: (named: string, path: string, kept: Kept) => string;
}[] = [
  {
    codes: ["EACCES", "EPERM", "EROFS", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_CANTOPEN", "SQLITE_AUTH"],
    kind: "permission",
    say: (named) =>
      `The ${named} cannot be read and written: check its owner and mode, and those of its folder.`,
  },
  {
    codes: DAMAGE_CODES,
    kind: "configuration",
    // Nothing is in a lock file that a backup could bring back.
    say: (_named, path, kept) =>
      kept === "lock file"
        ? `The lock file ${path} is damaged: stop the server that runs from its folder, if one does, and remove the file.`
        : `The file ${path} is damaged or is not a database: restore it from a backup.`,
  },
  {
    codes: ["SQLITE_BUSY"],
    kind: "configuration",
    say: (named) => `The ${named} is locked by another process: stop it and start again.`,
  },
  {
    codes: ["ENOENT", "ENOTDIR"],
    kind: "configuration",
    say: (named) => `The folder of the ${named} does not exist: create it or set another path.`,
  },
  {
    // SQLite has IOERR also for a log that finds no room.
    codes: ["ENOSPC", "EDQUOT", "SQLITE_FULL", "SQLITE_IOERR"],
    kind: "configuration",
    say: (named) =>
      `The ${named} cannot be written: its disk is full or fails. Make room on it, or look into the log of the system (dmesg).`,
  },
];

/** A SetupError that names the file, of a failure of the file or of SQLite; another failure is returned as it is. */
export function toSetupError(path: string, cause: unknown, kept: Kept = "database"): unknown {
  if (cause instanceof SetupError) return cause;
  const code = findCode(cause) ?? "";
  const fault = FAULTS.find(({ codes }) => codes.some((known) => extendsCode(code, known)));
  return fault === undefined
    ? cause
    : new SetupError(fault.kind, fault.say(`${kept} ${path}`, path, kept), cause);
}

function extendsCode(code: string, known: string): boolean {
  return code === known || code.startsWith(`${known}_`);
}
