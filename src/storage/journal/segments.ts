import { closeSync, fstatSync, openSync, readdirSync, readSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { makePrivateFolder } from "#storage/files/private-file.ts";
import { isRightsCode, systemCode } from "#kernel/system-code.ts";

/** The journal is a row of numbered files; a higher number was written later. */
export interface JournalPosition {
  readonly segment: number;
  readonly offsetBytes: number;
}

export function isBefore(one: JournalPosition, other: JournalPosition): boolean {
  return one.segment === other.segment ? one.offsetBytes < other.offsetBytes : one.segment < other.segment;
}

export function isSame(one: JournalPosition, other: JournalPosition): boolean {
  return one.segment === other.segment && one.offsetBytes === other.offsetBytes;
}

/** The byte of room that is reserved for lines to come (`SegmentFile`): no line holds one. */
export const RESERVED = 0;
const MEASURED_BYTES = 64 * 1024;
/** Ends the name of a segment that is being made: it has no lines yet, or those of another one. */
export const UNFINISHED = ".unfinished";
const SEGMENT_PATTERN = /^(\d{12})\.journal$/;

export function segmentPath(directory: string, segment: number): string {
  return join(directory, `${String(segment).padStart(12, "0")}.journal`);
}

/** Makes the folder of the segments unless it is there. Throws SetupError for a file of its name. */
export function ensureJournalFolder(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return makePrivateFolder(path);
  if (found.isDirectory()) return;
  throw new SetupError("configuration", `The journal ${path} is a file, and no folder: move it away.`);
}

/** Removes what a process that was killed has left of a segment that it made. */
export function removeUnfinished(directory: string): void {
  for (const name of readdirSync(directory)) {
    if (name.endsWith(UNFINISHED)) rmSync(join(directory, name), { force: true });
  }
}

/** The numbers of the segments that exist, ascending. */
export function listSegments(directory: string): readonly number[] {
  return readdirSync(directory)
    .flatMap((name) => {
      const match = SEGMENT_PATTERN.exec(name);
      return match === null ? [] : [Number(match[1])];
    })
    .sort((left, right) => left - right);
}

/** The numbers of the segments, ascending; none for a folder that is absent, is a file, or is closed to this user. */
export function findSegments(directory: string): readonly number[] {
  try {
    return listSegments(directory);
  } catch (cause) {
    const code = systemCode(cause);
    if (code === "ENOENT" || code === "ENOTDIR" || isRightsCode(code)) return [];
    throw cause;
  }
}

/** True when the segments of a folder have all that follows a position, unless some were lost from among them. The first that is ever made is 1. */
export function reachesBackTo({ segment }: JournalPosition, directory: string): boolean {
  const segments = findSegments(directory);
  return segment === 0 ? (segments[0] ?? 1) === 1 : segments.includes(segment);
}

/** Measures the lines in the segments that exist, ascending, in bytes: without what is reserved for more. */
export function measureSegments(directory: string): ReadonlyMap<number, number> {
  return new Map(
    listSegments(directory).map((segment) => [segment, measureLines(segmentPath(directory, segment))]),
  );
}

/** Read from the end: what is reserved there is at most a megabyte and a quarter. */
function measureLines(path: string): number {
  const file = openSync(path, "r");
  try {
    const buffer = Buffer.alloc(MEASURED_BYTES);
    for (let end = fstatSync(file).size; end > 0;) {
      const begin = Math.max(0, end - MEASURED_BYTES);
      const written = countWritten(buffer.subarray(0, readSync(file, buffer, 0, end - begin, begin)));
      if (written > 0) return begin + written;
      end = begin;
    }
    return 0;
  } finally {
    closeSync(file);
  }
}

/** Without what is reserved behind it. */
export function countWritten(bytes: Uint8Array): number {
  let length = bytes.length;
  while (length > 0 && bytes[length - 1] === RESERVED) length -= 1;
  return length;
}

/** A segment stays so long after its end was committed: a database that is restored to a state of then misses nothing. */
export const KEPT_MS = 15 * 60 * 1000;
/** All kept segments take at most this: some minutes of the fastest ledger, days of a usual one. */
export const KEPT_BYTES_MAX = 256 * 1024 * 1024;

export interface KeptSegmentsOptions {
  readonly directory: string;
  readonly monotonicMs: () => number;
  readonly keptMs?: number;
  readonly keptBytesMax?: number;
}

/** The segments that are committed to their end, which stay for a while in case the database loses what it had committed. */
export class KeptSegments {
  readonly #options: KeptSegmentsOptions;
  /** By segment, when this process first saw that its end was committed. */
  readonly #committedMs = new Map<number, number>();

  constructor(options: KeptSegmentsOptions) {
    this.#options = options;
  }

  /** Removes the segments before the position's that are too old, and the oldest of those that are too many. */
  trim(positionSegment: number): void {
    const { directory, monotonicMs, keptMs = KEPT_MS, keptBytesMax = KEPT_BYTES_MAX } = this.#options;
    const nowMs = monotonicMs();
    // Lines of the position's segment, or of one after it, may not be committed yet.
    const committed = findSegments(directory).filter((segment) => segment < positionSegment);
    for (const segment of this.#committedMs.keys())
      if (segment >= positionSegment) this.#committedMs.delete(segment);
    let keptBytes = 0;
    for (const segment of committed.toReversed()) {
      const sinceMs = this.#committedMs.get(segment) ?? nowMs;
      this.#committedMs.set(segment, sinceMs);
      const path = segmentPath(directory, segment);
      keptBytes += statSync(path, { throwIfNoEntry: false })?.size ?? 0;
      if (nowMs - sinceMs < keptMs && keptBytes <= keptBytesMax) continue;
      rmSync(path, { force: true });
      this.#committedMs.delete(segment);
    }
  }
}
