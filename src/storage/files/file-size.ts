import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { DATABASE_SUFFIXES } from "./data-files.ts";

/** The size of a database together with what SQLite keeps beside it, in bytes. */
export async function measureDatabase(path: string): Promise<number> {
  return add(await Promise.all(DATABASE_SUFFIXES.map((suffix) => measureFile(path + suffix))));
}

/** The size of all files in a folder, in bytes; 0 when there is none. */
export async function measureFiles(folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => []);
  return add(await Promise.all(names.map((name) => measureFile(join(folder, name)))));
}

/** What is not there, such as a log that was just taken in, has no size. */
async function measureFile(path: string): Promise<number> {
  return await stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

function add(sizes: readonly number[]): number {
  return sizes.reduce((sum, size) => sum + size, 0);
}
