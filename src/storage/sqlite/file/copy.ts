import { Database } from "bun:sqlite";
import { renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { DATABASE_SUFFIXES } from "#storage/files/data-files.ts";
import { makePrivateFile, putAside } from "#storage/files/private-file.ts";
import { syncFileNow, syncFolderNow } from "#storage/files/sync-folder.ts";
import { requireSound, withReader } from "./open.ts";

/**
 * Copies the last commit of the database at `path` to `target`, mode 0600, checked and synced; an older copy of that name is
 * replaced only by a good one. Returns `target`. Works while another connection holds the write lock. Throws SetupError.
 */
export function backUp(path: string, target: string): string {
  try {
    const source = new Database(path, { readwrite: true, strict: true });
    try {
      copyInto(source, target, (unfinished) =>
        withReader(unfinished, (copy) => requireSound(copy, unfinished, "integrity_check")),
      );
    } finally {
      source.close(true);
    }
    return target;
  } catch (cause) {
    throw new SetupError(
      "configuration",
      `No backup of ${path} could be made, so it was left as it is: check the disk and the file.`,
      cause,
    );
  }
}

/**
 * Restores the file of a connection that has lost its name, from what the connection still reads. A file that has taken the
 * name is put aside with its log. The connection must not write afterwards: its file stays without a name.
 */
export function restoreDatabaseFile(database: Database, path: string): void {
  copyInto(database, path, () => {
    putAside(path, DATABASE_SUFFIXES);
    // The log of a file that is gone: SQLite would apply it to the one that comes.
    for (const suffix of DATABASE_SUFFIXES) rmSync(`${path}${suffix}`, { force: true });
  });
}

/** The copy gets its name once it is whole and synced, and `beforeNamed` has returned. */
function copyInto(source: Database, target: string, beforeNamed: (unfinished: string) => void): void {
  const unfinished = `${target}.unfinished`;
  rmSync(unfinished, { force: true });
  try {
    // VACUUM INTO accepts an empty file: made first, so that the copy is private from its first byte on.
    makePrivateFile(unfinished);
    source.query<unknown, [string]>("VACUUM INTO ?").run(unfinished);
    syncFileNow(unfinished);
    beforeNamed(unfinished);
    renameSync(unfinished, target);
    syncFolderNow(dirname(target));
  } catch (cause) {
    rmSync(unfinished, { force: true });
    throw cause;
  }
}
