import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { isRightsCode, systemCode } from "#kernel/system-code.ts";

/** The journal is a row of numbered files; a higher number was written later. */
export interface JournalPosition {
  readonly segment: number;
  readonly offsetBytes: number;
}

const SEGMENT_PATTERN = /^(\d{12})\.journal$/;

export function segmentPath(directory: string, segment: number): string {
  return join(directory, `${String(segment).padStart(12, "0")}.journal`);
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

/** The sizes in bytes of the segments that exist, ascending. */
export function measureSegments(directory: string): ReadonlyMap<number, number> {
  return new Map(
    listSegments(directory).map((segment) => [segment, statSync(segmentPath(directory, segment)).size]),
  );
}
