import {
  closeSync,
  existsSync,
  fsyncSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeSync,
} from "node:fs";
import { copyFile, open, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { systemCode } from "#kernel/system-code.ts";
import { syncFolderNow } from "#storage/files/sync-folder.ts";
import { makePrivateFile, openPrivateFile } from "#storage/files/private-file.ts";

/** A file or folder that gets another path. */
export interface Move {
  readonly from: string;
  readonly to: string;
}

/** The moves of a restore, in their order: none of the second begins before all of the first are done. */
export interface Moves {
  /** What was there, into folders of their own. */
  readonly aside: readonly Move[];
  /** What was unpacked, into its place, where nothing is then. */
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

/** Whether the mark knows how `path` was put aside, and so how all that was there before comes back. */
export function isPutAside(mark: string, path: string): boolean {
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
export async function takeBack({ aside, placed }: Moves): Promise<void> {
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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
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
