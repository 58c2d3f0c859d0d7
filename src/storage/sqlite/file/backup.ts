import { Database } from "bun:sqlite";
import { closeSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { syncFolderNow } from "#storage/files/sync-folder.ts";
import { makePrivateFile } from "#storage/files/private-file.ts";

/**
 * Copies the last commit of the database at `path` to `target`, mode 0600, checked and synced; an older copy of that name is
 * replaced only by a good one. Returns `target`. Works while another connection holds the write lock. Throws SetupError.
 */
export function backUp(path: string, target: string): string {
  const unfinished = `${target}.unfinished`;
  rmSync(unfinished, { force: true });
  try {
    // VACUUM INTO accepts an empty file: made first, so that the copy is private from its first byte on.
    makePrivateFile(unfinished);
    copyInto(path, unfinished);
    requireIntact(unfinished);
    syncFile(unfinished);
    renameSync(unfinished, target);
    syncFolderNow(dirname(target));
    return target;
  } catch (cause) {
    rmSync(unfinished, { force: true });
    throw new SetupError(
      "configuration",
      `No backup of ${path} could be made, so it was left as it is: check the disk and the file.`,
      cause,
    );
  }
}

function copyInto(path: string, target: string): void {
  const source = new Database(path, { readwrite: true, strict: true });
  try {
    source.prepare("VACUUM INTO ?").run(target);
  } finally {
    source.close(true);
  }
}

function requireIntact(path: string): void {
  const copy = new Database(path, { readonly: true, strict: true });
  try {
    const result = copy.query<{ integrity_check: string }, []>("PRAGMA integrity_check(1)").get();
    if (result?.integrity_check !== "ok") throw new Error("integrity_check of the backup failed");
  } finally {
    copy.close(true);
  }
}

function syncFile(path: string): void {
  const file = openSync(path, "r+");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
