import { closeSync, constants, fsyncSync, openSync } from "node:fs";
import { open } from "node:fs/promises";
import { systemCode } from "#kernel/system-code.ts";

/** What systems answer that have no sync of a folder (CIFS, FUSE), and for a folder that may be used but not listed. */
const REFUSALS = new Set(["EPERM", "EINVAL", "EISDIR", "EACCES"]);

/**
 * fsync(2): the name of a new file is only durable once its folder is synced. Where the system refuses that for folders it
 * is left out, since nothing better can be done there; every other failure is thrown.
 */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  try {
    const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  } catch (cause) {
    if (!isRefusal(cause)) throw cause;
  }
}

/** Syncs a folder before it returns, for the start-up. */
export function syncFolderNow(path: string): void {
  if (process.platform === "win32") return;
  try {
    const folder = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      fsyncSync(folder);
    } finally {
      closeSync(folder);
    }
  } catch (cause) {
    if (!isRefusal(cause)) throw cause;
  }
}

function isRefusal(cause: unknown): boolean {
  return REFUSALS.has(systemCode(cause) ?? "");
}
