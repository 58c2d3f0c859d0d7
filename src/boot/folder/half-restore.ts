import {
  existsSync,
  closeSync,
  fsyncSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeSync,
} from "node:fs";
import { parseJson } from "#kernel/json.ts";
import type { Log } from "#kernel/log.ts";
import { locks } from "#boot/settings/engine.ts";
import type { FilePlace, FileConfig } from "#boot/settings/config.ts";
import { toFileError } from "./permission-problem.ts";
import { removeLeftovers } from "./staging.ts";
import { copyFile, open, rename } from "node:fs/promises";
import { dirname, join, basename } from "node:path";
import { systemCode } from "#kernel/system-code.ts";
import { syncFolderNow, syncFolder } from "#storage/files/sync-folder.ts";
import { makePrivateFile, openPrivateFile, makePrivateFolder } from "#storage/files/private-file.ts";
import { formatInstant, type InstantUs } from "#kernel/clock.ts";
import { SetupError } from "#kernel/errors.ts";
import {
  CATALOG_NAME,
  USAGE_NAME,
  JOURNAL_NAME,
  SECRET_KEY_NAME,
  DATABASE_SUFFIXES,
} from "#storage/files/data-files.ts";

/**
 * Puts an installation in place again over which a restore was killed. A restore that is at work is left alone: it holds
 * the folder's lock. Throws a `SetupError` when it cannot be done.
 */
export async function goBackBeforeRestore({ dataDir, database }: FilePlace, log: Log): Promise<void> {
  const mark = toRestoreMark(dataDir);
  try {
    if (!isPutAside(mark, database.path)) return;
    const lock = locks.tryTake(dataDir);
    if (lock === null) return;
    try {
      await takeBackUnfinished(mark);
      removeLeftovers(dataDir);
    } finally {
      lock.release();
    }
  } catch (cause) {
    const task = "What was there before a restore that was cut off could not be put back";
    throw toFileError(cause, { path: mark, use: "change", task });
  }
  log.warn("a restore was cut off half-way: what was there before it is in place again");
}

/** A restore that has not come to its end; null when there is none. Throws a `SetupError` for a lock that cannot be asked. */
export function findHalfRestore({ dataDir, database }: FilePlace): Finding | null {
  const mark = toRestoreMark(dataDir);
  if (!existsSync(mark)) return null;
  if (locks.isTaken(dataDir)) {
    return { finding: `${dataDir} holds a restore that is under way`, advice: "wait until it has ended" };
  }
  return {
    finding: `${dataDir} holds a restore that was cut off half-way`,
    advice: isPutAside(mark, database.path)
      ? "start the server (lockport serve), which goes back to what was there before, or run lockport restore FILE --force again"
      : "run lockport restore FILE --force again; without that file, move what is in the folder away, and back into their places what its folders before-restore-… hold, if there are any",
  };
}

/** The reason why an installation cannot be used, in words. */
export interface Finding {
  readonly finding: string;
  /** The remedy, without a capital and a full stop: it is a part of a sentence as well. */
  readonly advice: string;
}

/** Advice that stands by itself. */
export function toOwnSentence(advice: string): string {
  return `${advice.charAt(0).toUpperCase()}${advice.slice(1)}.`;
}

/** A file or folder that gets another path. */
export interface Move {
  readonly from: string;
  readonly to: string;
}

/** The moves of a restore, in their order: none of the second begins before all of the first are done. */
export interface Moves {
  /** The old files, into folders of their own. */
  readonly aside: readonly Move[];
  /** The unpacked files, into their places, where nothing is then. */
  readonly placed: readonly Move[];
}

/** Stands in the data folder while a restore puts its files there. */
export function toRestoreMark(dataDir: string): string {
  return join(dataDir, "restore.unfinished");
}

/** Says, on disk before the first of them, which moves are about to be made. Null: it is no longer known. */
export function writeMark(mark: string, moves: Moves | null): void {
  const unfinished = `${mark}.new`;
  const file = openPrivateFile(unfinished, "w");
  try {
    writeSync(file, moves === null ? "" : JSON.stringify(moves));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(unfinished, mark);
  syncFolderNow(dirname(mark));
}

/**
 * Takes the moves of a restore back that was killed between the first and the last of them, and its mark with them: what
 * was there before is whole again. A mark that names no moves stays.
 */
export async function takeBackUnfinished(mark: string): Promise<void> {
  const moves = readMark(mark);
  if (moves === null) return;
  await takeBack(moves);
  for (const folder of new Set(moves.aside.map(({ from }) => dirname(from)))) syncFolderNow(folder);
  rmSync(mark, { force: true });
  syncFolderNow(dirname(mark));
}

/** True when the mark knows how `path` was put aside, and so how all that was there before comes back. */
function isPutAside(mark: string, path: string): boolean {
  return readMark(mark)?.aside.some(({ from }) => from === path) === true;
}

/** By its name alone where it can be, else as a copy that is on the disk before it has its name. */
export async function move({ from, to }: Move): Promise<void> {
  try {
    await rename(from, to);
  } catch (cause) {
    if (systemCode(cause) !== "EXDEV") throw cause;
    const unfinished = toUnfinished(to);
    rmSync(unfinished, { force: true });
    makePrivateFile(unfinished);
    await copyFile(from, unfinished);
    const file = await open(unfinished, "r+");
    try {
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(unfinished, to);
    rmSync(from);
  }
}

/** Whatever state they were left in. What was there before is never removed. */
async function takeBack({ aside, placed }: Moves): Promise<void> {
  // While one of the old files is in its place, none of the new ones is.
  const isPlacing = aside.every(({ to }) => existsSync(to));
  if (isPlacing) {
    for (const { from, to } of placed.toReversed()) {
      if (!existsSync(to)) continue;
      // A copy whose original is still there, or a copy whose place is no longer known.
      if (existsSync(from) || !existsSync(dirname(from))) rmSync(to, { recursive: true, force: true });
      else await move({ from: to, to: from });
    }
  }
  for (const { from, to } of aside.toReversed()) {
    if (existsSync(to) && !existsSync(from)) await move({ from: to, to: from });
  }
  for (const folder of new Set(aside.map(({ to }) => dirname(to)))) removeEmpty(folder);
}

function removeEmpty(folder: string): void {
  if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
}

function toUnfinished(path: string): string {
  return `${path}.unfinished`;
}

function readMark(mark: string): Moves | null {
  if (!existsSync(mark)) return null;
  const value = parseJson(readFileSync(mark, "utf8"));
  if (typeof value !== "object" || value === null || !("aside" in value) || !("placed" in value)) return null;
  const [aside, placed] = [parseMoves(value.aside), parseMoves(value.placed)];
  return aside === null || placed === null ? null : { aside, placed };
}

function parseMoves(value: unknown): readonly Move[] | null {
  if (!Array.isArray(value)) return null;
  const moves = value.flatMap((entry: unknown) => parseMove(entry) ?? []);
  return moves.length === value.length ? moves : null;
}

function parseMove(value: unknown): Move | null {
  if (typeof value !== "object" || value === null || !("from" in value) || !("to" in value)) return null;
  const { from, to } = value;
  return typeof from === "string" && typeof to === "string" ? { from, to } : null;
}

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

interface Placing {
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
