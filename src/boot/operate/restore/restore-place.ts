import { existsSync, readdirSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { formatInstant, type InstantUs } from "#kernel/clock.ts";
import { SetupError } from "#kernel/errors.ts";
import { syncFolder, syncFolderNow } from "#storage/files/sync-folder.ts";
import {
  CATALOG_NAME,
  USAGE_NAME,
  JOURNAL_NAME,
  SECRET_KEY_NAME,
  DATABASE_SUFFIXES,
} from "#storage/files/data-files.ts";
import { makePrivateFolder } from "#storage/files/private-file.ts";
import type { FileConfig } from "#boot/settings/config.ts";
import { move, takeBack, toRestoreMark, writeMark } from "#boot/folder/restore-mark.ts";

/** The first of an installation's own files that is there already, or null. A secret key alone is no data. */
function findData({ dataDir, database: { path: databasePath } }: FileConfig): string | null {
  const journal = join(dataDir, JOURNAL_NAME);
  if (existsSync(journal) && readdirSync(journal).length > 0) return journal;
  const candidates = [databasePath, join(dataDir, USAGE_NAME), toRestoreMark(dataDir)];
  return candidates.find((path) => existsSync(path)) ?? null;
}

/** Throws a `SetupError` for a folder that holds an installation, unless what it holds is to be put aside. */
export function requireEmpty(config: FileConfig, force: boolean): void {
  if (force) return;
  const found = findData(config);
  if (found === null) return;
  throw new SetupError(
    "failure",
    `There is data already (${found}): restore into another folder (--data-dir), or use --force, which puts what is there aside.`,
  );
}

export interface Placing {
  readonly config: FileConfig;
  readonly nowUs: InstantUs;
  /** False: the key that is in use stays. */
  readonly withSecretKey: boolean;
}

/**
 * Moves what is there into folders `before-restore-…` and what was unpacked into its place, and returns those folders. A
 * mark stands in the data folder meanwhile, with which nothing starts and from which the next restore takes the moves of a
 * killed one back. When a move fails all of them are taken back at once.
 */
export async function putInPlace(
  staging: string,
  { config, nowUs, withSecretKey }: Placing,
): Promise<readonly string[]> {
  const {
    dataDir,
    database: { path: databasePath },
  } = config;
  const asideName = toAsideName(
    `before-restore-${formatInstant(nowUs).replaceAll(/[-:]|\.\d+/g, "")}`,
    config,
  );
  const targets = [
    { from: join(staging, JOURNAL_NAME), to: join(dataDir, JOURNAL_NAME), old: [""] },
    { from: join(staging, USAGE_NAME), to: join(dataDir, USAGE_NAME), old: DATABASE_SUFFIXES },
    ...(withSecretKey
      ? [{ from: join(staging, SECRET_KEY_NAME), to: join(dataDir, SECRET_KEY_NAME), old: [""] }]
      : []),
    { from: join(staging, CATALOG_NAME), to: databasePath, old: DATABASE_SUFFIXES },
  ];
  const aside = targets.flatMap(({ to, old }) =>
    old
      .map((suffix) => `${to}${suffix}`)
      .filter((path) => existsSync(path))
      .map((path) => ({ from: path, to: join(dirname(path), asideName, basename(path)) })),
  );
  const placed = targets.filter(({ from }) => existsSync(from)).map(({ from, to }) => ({ from, to }));
  const asidePaths = new Set(aside.map(({ to }) => dirname(to)));
  const moves = { aside, placed };
  const mark = toRestoreMark(dataDir);
  const wasMarked = existsSync(mark);
  writeMark(mark, wasMarked ? null : moves);
  try {
    for (const folder of asidePaths) makePrivateFolder(folder);
    for (const each of [...aside, ...placed]) await move(each);
    for (const folder of new Set([
      dataDir,
      dirname(databasePath),
      join(dataDir, JOURNAL_NAME),
      ...asidePaths,
    ])) {
      await syncFolder(folder);
    }
  } catch (cause) {
    await takeBack(moves);
    if (!wasMarked) rmSync(mark, { force: true });
    throw cause;
  }
  rmSync(mark, { force: true });
  syncFolderNow(dataDir);
  return [...asidePaths];
}

/** One that is not there yet: what an earlier restore put aside stays whole. */
function toAsideName(name: string, { dataDir, database: { path: databasePath } }: FileConfig): string {
  const isTaken = (candidate: string) =>
    [dataDir, dirname(databasePath)].some((folder) => existsSync(join(folder, candidate)));
  let candidate = name;
  for (let number = 2; isTaken(candidate); number += 1) candidate = `${name}-${number}`;
  return candidate;
}
