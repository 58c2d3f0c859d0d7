import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "#boot/settings/config.ts";
import { DATABASE_SUFFIXES, JOURNAL_NAME, SPOOL_NAME, USAGE_NAME } from "#storage/files/data-files.ts";

/** What an installation takes on the disk, in bytes. */
export async function measureFolder({ dataDir, database }: Pick<Config, "dataDir" | "database">) {
  const [catalogBytes, usageBytes, journalBytes] = await Promise.all([
    database.kind === "sqlite" ? measureDatabase(database.path) : 0,
    measureDatabase(join(dataDir, USAGE_NAME)),
    measureFiles(join(dataDir, database.kind === "sqlite" ? JOURNAL_NAME : SPOOL_NAME)),
  ]);
  return { catalogBytes, usageBytes, journalBytes };
}

async function measureDatabase(path: string): Promise<number> {
  return add(await Promise.all(DATABASE_SUFFIXES.map((suffix) => measureFile(path + suffix))));
}

async function measureFiles(folder: string): Promise<number> {
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
