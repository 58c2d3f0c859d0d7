import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { PRIVATE_FOLDER_MODE } from "#storage/files/data-files.ts";
import { makePrivateFolder } from "#storage/files/private-file.ts";
import { locks } from "#boot/settings/engine.ts";
import type { System } from "#boot/process/system.ts";

const PREFIX = ".lockport-staging-";
const NAME_BYTES = 6;

interface StagingOptions {
  readonly system: Pick<System, "ids">;
  /**
   * The owner of it and of the files in it. A folder that a backup is written to may belong to a user who is to see nothing of
   * the installation; what a restore unpacks is the data folder's owner's.
   */
  readonly owner: "process" | "parent";
}

/**
 * Gives `work` a private folder of its own in `parent`, and takes it away afterwards, whatever happened. What killed
 * processes have left there of the kind goes first: one that is in use is locked.
 */
export async function withStaging<Result>(
  parent: string,
  { system: { ids }, owner }: StagingOptions,
  work: (staging: string) => Promise<Result>,
): Promise<Result> {
  removeLeftovers(parent);
  const staging = join(parent, `${PREFIX}${Buffer.from(ids.randomBytes(NAME_BYTES)).toString("hex")}`);
  if (owner === "parent") makePrivateFolder(staging);
  else mkdirSync(staging, { mode: PRIVATE_FOLDER_MODE });
  try {
    const lock = locks.take(staging);
    try {
      return await work(staging);
    } finally {
      lock.release();
    }
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

/** Removes the staging folders that killed processes have left. */
export function removeLeftovers(parent: string): void {
  for (const name of readdirSync(parent)) {
    if (name.startsWith(PREFIX)) removeUnlocked(join(parent, name));
  }
}

/** Removes the folder if it can: it may be another user's, or about to be locked. */
function removeUnlocked(path: string): void {
  try {
    if (!existsSync(locks.toPath(path)) || locks.isTaken(path)) return;
    rmSync(path, { recursive: true, force: true });
  } catch {
    return;
  }
}
