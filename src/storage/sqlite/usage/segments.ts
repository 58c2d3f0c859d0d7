import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

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

/** The sizes in bytes of the segments that exist, ascending. */
export function measureSegments(directory: string): ReadonlyMap<number, number> {
  return new Map(
    listSegments(directory).map((segment) => [segment, statSync(segmentPath(directory, segment)).size]),
  );
}
