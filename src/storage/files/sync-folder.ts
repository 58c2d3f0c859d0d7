import { closeSync, constants, fdatasync, fsyncSync, openSync } from "node:fs";
import { open } from "node:fs/promises";
import { systemCode } from "#kernel/system-code.ts";

/** Codes of systems that have no sync of a folder (CIFS, FUSE), and of a folder that may be used but not listed. */
const REFUSALS = new Set(["EPERM", "EINVAL", "EISDIR", "EACCES"]);
const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY;

/**
 * fsync(2): the name of a new file is only durable once its folder is synced. Where the system refuses that for folders it
 * is left out, since nothing better can be done there; every other failure is thrown.
 */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  try {
    const folder = await open(path, FOLDER);
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  } catch (cause) {
    requireRefusal(cause);
  }
}

/** Syncs a folder before it returns, for the start-up. */
export function syncFolderNow(path: string): void {
  if (process.platform === "win32") return;
  try {
    syncOpened(openSync(path, FOLDER));
  } catch (cause) {
    requireRefusal(cause);
  }
}

/** Syncs a file before it returns. */
export function syncFileNow(path: string): void {
  syncOpened(openSync(path, "r+"));
}

function syncOpened(descriptor: number): void {
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function requireRefusal(cause: unknown): void {
  if (!REFUSALS.has(systemCode(cause) ?? "")) throw cause;
}

/** Syncs the content of an open file. Not by `promisify`: loading node:util takes 1 ms and 2 MB of each start. */
export function syncData(fd: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  fdatasync(fd, (cause) => (cause === null || cause === undefined ? resolve() : reject(cause)));
  return promise;
}
