import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import type { FolderLock } from "#storage/engine.ts";
import { ensureDatabaseFile, isBusy, isDamage, withSetupErrors } from "./open.ts";

/**
 * Lets one process serve from a data folder: two would write one journal. The lock is a transaction on a file of its own,
 * held open; the operating system drops it with the process, however it ends. Throws SetupError when another holds it.
 */
export function lockDataFolder(dataDir: string): FolderLock {
  const lock = tryLockDataFolder(dataDir);
  if (lock !== null) return lock;
  throw new SetupError(
    "configuration",
    `Another lockport serves from this folder (${dataDir}): stop it, or set PROXY_DATA_DIR to another folder.`,
  );
}

/** Takes the lock of the folder; null when another process holds it. */
export function tryLockDataFolder(dataDir: string): FolderLock | null {
  const path = toLockPath(dataDir);
  return withLockErrors(path, () => {
    ensureDatabaseFile(path);
    const database = new Database(path, { readwrite: true });
    try {
      // A process that only asks (`isDataFolderLocked`) holds a shared lock for a moment.
      database.run("PRAGMA busy_timeout = 200");
      database.run("BEGIN EXCLUSIVE");
    } catch (cause) {
      database.close();
      if (isBusy(cause)) return null;
      throw cause;
    }
    return { release: () => database.close() };
  });
}

/** Whether a process serves from the folder now. Makes no file. Throws SetupError for a lock file that cannot be read. */
export function isDataFolderLocked(dataDir: string): boolean {
  const path = toLockPath(dataDir);
  if (!existsSync(path)) return false;
  return withLockErrors(path, () => {
    const database = new Database(path, { readonly: true });
    try {
      database.run("PRAGMA busy_timeout = 0");
      // A shared lock for a moment, which the server's exclusive one refuses.
      database.query("SELECT count(*) FROM sqlite_schema").get();
      return false;
    } catch (cause) {
      if (isBusy(cause)) return true;
      throw cause;
    } finally {
      database.close();
    }
  });
}

/** The file that says by its lock that a process serves from the folder. */
export function toLockPath(dataDir: string): string {
  return join(dataDir, "serving.lock");
}

/** Nothing is in the file that a backup could bring back. */
function withLockErrors<Result>(path: string, step: () => Result): Result {
  return withSetupErrors(path, () => {
    try {
      return step();
    } catch (cause) {
      if (!isDamage(cause)) throw cause;
      throw new SetupError(
        "configuration",
        `The lock file ${path} is damaged: stop the server that runs from its folder, if one does, and remove the file.`,
        cause,
      );
    }
  });
}
