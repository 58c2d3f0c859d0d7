import { Database } from "bun:sqlite";
import { join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { isBusy, withSetupErrors } from "#storage/sqlite/open.ts";

export interface FolderLock {
  release(): void;
}

/**
 * Lets one process serve from a data folder: two would write one journal. The lock is a transaction on a file of its own,
 * held open; the operating system drops it with the process, however it ends. Throws SetupError when another holds it.
 */
export function lockDataFolder(dataDir: string): FolderLock {
  const path = join(dataDir, "serving.lock");
  return withSetupErrors(path, () => {
    const database = new Database(path, { create: true, readwrite: true });
    try {
      database.run("PRAGMA busy_timeout = 0");
      database.run("BEGIN EXCLUSIVE");
    } catch (cause) {
      database.close();
      if (!isBusy(cause)) throw cause;
      throw new SetupError(
        "configuration",
        `Another lockport serves from this folder (${dataDir}): stop it, or set PROXY_DATA_DIR to another folder.`,
        cause,
      );
    }
    return { release: () => database.close() };
  });
}
