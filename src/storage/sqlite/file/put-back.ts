import type { Database } from "bun:sqlite";
import { closeSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { DATABASE_SUFFIXES } from "#storage/files/data-files.ts";
import { makePrivateFile } from "#storage/files/private-file.ts";
import { putAside } from "#storage/files/put-aside.ts";
import { syncFolderNow } from "#storage/files/sync-folder.ts";

/**
 * Puts the database of a connection whose file has lost its name back under it, from what the connection still reads. A file
 * that has taken the name is put aside with its log. The connection must not write afterwards: its file stays without a name.
 */
export function putBackDatabase(database: Database, path: string): void {
  const unfinished = `${path}.unfinished`;
  rmSync(unfinished, { force: true });
  makePrivateFile(unfinished);
  database.query<unknown, [string]>("VACUUM INTO ?").run(unfinished);
  const file = openSync(unfinished, "r+");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  putAside(path, DATABASE_SUFFIXES);
  // The log of a file that is gone: SQLite would apply it to the one that comes.
  for (const suffix of DATABASE_SUFFIXES) rmSync(`${path}${suffix}`, { force: true });
  renameSync(unfinished, path);
  syncFolderNow(dirname(path));
}
