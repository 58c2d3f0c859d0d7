import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { findFileIdentity, toFileIdentity } from "./file-watch.ts";
import { ensureDatabaseFile } from "./private-file.ts";
import { isBusy, withSetupErrors } from "./setup-errors.ts";

export interface FolderLock {
  release(): void;
}

/** The lock of a server, which it keeps although the file may be removed. */
export interface ServerLock extends FolderLock {
  /** Tells the locked file from any other. */
  readonly file: string;
  /** False: the locked file is no longer the one under its name. */
  isInPlace(): boolean;
  /** Locks the file that is under its name now; false when another process has it. */
  lockAgain(): boolean;
}

/**
 * Lets one process serve from a data folder, whatever the engine: two would write one journal. The lock is a transaction on a file of its own,
 * held open; the operating system drops it with the process, however it ends. Throws SetupError when another holds it.
 */
export function lockDataFolder(dataDir: string): ServerLock {
  const path = toLockPath(dataDir);
  const held = takeLock(path);
  if (held === null) {
    throw new SetupError(
      "configuration",
      `Another lockport serves from this folder (${dataDir}): stop it, or set PROXY_DATA_DIR to another folder.`,
    );
  }
  let file = toFileIdentity(path);
  const all = [held];
  return {
    get file() {
      return file;
    },
    isInPlace: () => findFileIdentity(path) === file,
    lockAgain() {
      const again = takeLock(path);
      if (again === null) return false;
      all.push(again);
      file = toFileIdentity(path);
      return true;
    },
    release() {
      for (const database of all) database.close();
    },
  };
}

/** Takes the lock of the folder; null when another process holds it. */
export function tryLockDataFolder(dataDir: string): FolderLock | null {
  return tryLock(toLockPath(dataDir));
}

function tryLock(path: string): FolderLock | null {
  const database = takeLock(path);
  return database === null ? null : { release: () => database.close() };
}

function takeLock(path: string): Database | null {
  const take = () => {
    ensureDatabaseFile(path);
    const database = new Database(path, { readwrite: true });
    try {
      // A process that only asks (`isDataFolderLocked`) holds a shared lock for a moment.
      database.run("PRAGMA busy_timeout = 200");
      database.run("BEGIN EXCLUSIVE");
      return database;
    } catch (cause) {
      database.close();
      if (isBusy(cause)) return null;
      throw cause;
    }
  };
  return withSetupErrors(path, take, "lock file");
}

/** True while a process serves from the folder. Makes no file. Throws SetupError for a lock file that cannot be read. */
function isDataFolderLocked(dataDir: string): boolean {
  const path = toLockPath(dataDir);
  if (!existsSync(path)) return false;
  const ask = () => {
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
  };
  return withSetupErrors(path, ask, "lock file");
}

/** The file that says by its lock that a process serves from the folder. */
export function toLockPath(dataDir: string): string {
  return join(dataDir, "serving.lock");
}

/** The locks of data folders, for other rooms. */
export const folderLocks = {
  take: lockDataFolder,
  tryTake: tryLockDataFolder,
  /**
   * Takes the lock of the one command that rotates the secret key, beside a server or not; null when another process holds it.
   * Two rotations at once would write one `secret.key.next`, and lose the key that the catalog has.
   */
  tryTakeRotation: (dataDir: string) => tryLock(join(dataDir, "rotating.lock")),
  isTaken: isDataFolderLocked,
  toPath: toLockPath,
};
