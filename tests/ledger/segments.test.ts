import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SegmentFile } from "#storage/journal/segment-file.ts";
import { countDamagedLines, SegmentReader } from "#storage/journal/segment-reader.ts";
import { measureSegments, segmentPath } from "#storage/journal/segments.ts";
import { RUN_LINE } from "./usage.ts";

const folder = mkdtempSync(join(tmpdir(), "lockport-segments-"));
afterAll(() => rmSync(folder, { recursive: true }));

let counter = 0;
function makeDirectory(): string {
  counter += 1;
  const directory = join(folder, String(counter));
  mkdirSync(directory);
  return directory;
}

const START = { segment: 1, offsetBytes: 0 };
const reserved = (sizeBytes: number) => Buffer.alloc(sizeBytes);

test("what is reserved behind the lines of a segment is its end, and lines that replace it are read on", () => {
  const directory = makeDirectory();
  const file = new SegmentFile(segmentPath(directory, 1));
  file.reserve();
  const reader = new SegmentReader(directory);
  expect(reader.read(START)).toMatchObject({ next: START, tornBytes: 0, hasMore: false });
  file.append(RUN_LINE);
  // Half of a line, as a reader may meet it while it is written.
  file.append(RUN_LINE.subarray(0, 5));
  const first = reader.read(START);
  expect(first.lines.toString()).toBe(RUN_LINE.toString());
  expect(first).toMatchObject({ next: { segment: 1, offsetBytes: RUN_LINE.length }, hasMore: false });
  file.append(RUN_LINE.subarray(5));
  file.reserve();
  const second = reader.read(first.next);
  expect(second.lines.toString()).toBe(RUN_LINE.toString());
  expect(measureSegments(directory)).toEqual(new Map([[1, RUN_LINE.length * 2]]));
  expect(statSync(file.path).size).toBeGreaterThan(1024 * 1024);

  file.trim();
  expect(readFileSync(file.path, "utf8")).toBe(RUN_LINE.toString().repeat(2));
  file.close();
  reader.close();
});

test("a killed process's reserved room counts neither as torn nor as waiting, and the next segment follows", () => {
  const directory = makeDirectory();
  writeFileSync(segmentPath(directory, 1), Buffer.concat([RUN_LINE, reserved(1_300_000)]));
  expect(countDamagedLines(directory, START)).toBe(0);
  writeFileSync(segmentPath(directory, 2), RUN_LINE);
  expect(countDamagedLines(directory, START)).toBe(0);
  expect(measureSegments(directory)).toEqual(new Map([1, 2].map((segment) => [segment, RUN_LINE.length])));
  writeFileSync(segmentPath(directory, 3), reserved(70_000));
  expect(measureSegments(directory).get(3)).toBe(0);
});

test("a gap that a loss of power left in a finished segment costs the line behind it, and no more", () => {
  const directory = makeDirectory();
  const lines = Buffer.concat([RUN_LINE, reserved(600_000), RUN_LINE, RUN_LINE]);
  writeFileSync(segmentPath(directory, 1), lines);
  writeFileSync(segmentPath(directory, 2), RUN_LINE);
  const reader = new SegmentReader(directory);
  let whole = 0;
  let [at, hasMore] = [START, true];
  while (hasMore) {
    const chunk = reader.read(at);
    whole += chunk.lines
      .toString()
      .split("\n")
      .filter((line) => `${line}\n` === RUN_LINE.toString()).length;
    ({ next: at, hasMore } = chunk);
  }
  reader.close();
  expect(whole).toBe(3);
  expect(countDamagedLines(directory, START)).toBe(1);
});
