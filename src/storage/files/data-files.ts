import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** Names in a data folder. A backup has the same names in it. */
export const CATALOG_NAME = "catalog.db";
export const USAGE_NAME = "usage.db";
export const JOURNAL_NAME = "journal";
/** The journal of a replica. Not `journal`, which is SQLite's: its segments are in `usage.db`, and would be counted a second time. */
export const SPOOL_NAME = "spool";
export const SECRET_KEY_NAME = "secret.key";
/** The next one, while it is rotated. */
export const NEXT_SECRET_KEY_NAME = "secret.key.next";
/** Begins the name of one that was rotated away; the moment follows. */
export const FORMER_KEY_PREFIX = `${SECRET_KEY_NAME}.until-`;
export const ADMIN_PASSWORD_NAME = "admin-password";
/** The newest refusals of the server of this folder. In no backup: nothing depends on it. */
export const REFUSALS_NAME = "refusals.jsonl";

/** A database and what SQLite keeps beside it, which belongs to the file of its name and goes where that goes. */
export const DATABASE_SUFFIXES = ["", "-wal", "-shm", "-journal"] as const;

/** All of it is its owner's alone: keys, and who asked what when. */
export const PRIVATE_FILE_MODE = 0o600;
export const PRIVATE_FOLDER_MODE = 0o700;

/** The size of a database together with what SQLite keeps beside it, in bytes. */
export async function measureDatabase(path: string): Promise<number> {
  return add(await Promise.all(DATABASE_SUFFIXES.map((suffix) => measureFile(path + suffix))));
}

/** The size of all files in a folder, in bytes; 0 when there is none. */
export async function measureFiles(folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => []);
  return add(await Promise.all(names.map((name) => measureFile(join(folder, name)))));
}

/** A file that is not there, such as a log that was just taken in, has no size. */
async function measureFile(path: string): Promise<number> {
  return await stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

function add(sizes: readonly number[]): number {
  return sizes.reduce((sum, size) => sum + size, 0);
}
