import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  KEPT_BYTES_MAX,
  KEPT_MS,
  KeptSegments,
  findSegments,
  segmentPath,
} from "#storage/journal/segments.ts";

const folder = mkdtempSync(join(tmpdir(), "lockport-kept-"));
afterAll(() => rmSync(folder, { recursive: true }));

function createKept(name: string, keptBytesMax?: number) {
  const directory = join(folder, name);
  mkdirSync(directory);
  const clock = { nowMs: 1_000 };
  return {
    clock,
    kept: new KeptSegments({
      directory,
      monotonicMs: () => clock.nowMs,
      ...(keptBytesMax === undefined ? {} : { keptBytesMax }),
    }),
    write: (segment: number, sizeBytes = 10) =>
      writeFileSync(segmentPath(directory, segment), Buffer.alloc(sizeBytes)),
    segments: () => findSegments(directory),
  };
}

test("a segment stays a quarter of an hour after its end was committed, however old its lines are", () => {
  const { clock, kept, write, segments } = createKept("age");
  for (const segment of [1, 2, 3]) write(segment);
  kept.trim(2);
  clock.nowMs += KEPT_MS - 1;
  kept.trim(3);
  expect(segments()).toEqual([1, 2, 3]);
  clock.nowMs += 1;
  kept.trim(3);
  expect(segments()).toEqual([2, 3]);
  clock.nowMs += KEPT_MS;
  kept.trim(3);
  // Its lines may not be committed yet.
  expect(segments()).toEqual([3]);
  expect(KEPT_MS).toBe(900_000);
});

test("a database that goes back begins the time of its segments anew", () => {
  const { clock, kept, write, segments } = createKept("back");
  for (const segment of [1, 2, 3]) write(segment);
  kept.trim(3);
  clock.nowMs += KEPT_MS - 1;
  kept.trim(1);
  clock.nowMs += 1;
  kept.trim(3);
  expect(segments()).toEqual([1, 2, 3]);
});

test("the oldest committed segments go first when all of them take more than their share, and none that is not committed", () => {
  const { kept, write, segments } = createKept("size", 25);
  for (const segment of [1, 2, 3, 4, 5]) write(segment, 10);
  kept.trim(4);
  expect(segments()).toEqual([2, 3, 4, 5]);
  write(5, 1_000);
  kept.trim(4);
  expect(segments()).toEqual([2, 3, 4, 5]);
  expect(KEPT_BYTES_MAX).toBe(268_435_456);
});
