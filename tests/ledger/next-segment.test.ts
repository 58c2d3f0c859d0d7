import { afterAll, expect, spyOn, test } from "bun:test";
import { fstatSync, mkdirSync, readdirSync, readFileSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Journal } from "#storage/journal/journal.ts";
import { SegmentFile } from "#storage/journal/segment-file.ts";
import { SegmentReader } from "#storage/journal/segment-reader.ts";
import { listSegments, segmentPath } from "#storage/journal/segments.ts";
import { openLedger } from "#storage/sqlite/ledger/ledger.ts";
import { makeFolder } from "../support/folder.ts";
import { checkLedger } from "../support/invariants.ts";
import { createManualClock, createTestLog, EVERYTHING, RUN_LINE } from "./usage.ts";

const RESERVED_BYTES_MIN = 1024 * 1024;
const SEGMENT_BYTES_MAX = 500;

const folder = makeFolder();
afterAll(() => folder.remove());

let counter = 0;
function makeDirectory(): string {
  counter += 1;
  const directory = join(folder.path, String(counter));
  mkdirSync(directory);
  return directory;
}

/** What a reader that goes on beside the journal has read so far. */
function readBeside(directory: string) {
  const reader = new SegmentReader(directory);
  let at = { segment: 1, offsetBytes: 0 };
  let text = "";
  return {
    readOn() {
      for (let hasMore = true; hasMore;) {
        const chunk = reader.read(at);
        text += chunk.lines.toString();
        ({ next: at, hasMore } = chunk);
      }
    },
    text: () => text,
    close: () => reader.close(),
  };
}

test("a segment has its name only with its room: where the disk has none, the one before goes on and a reader beside loses no line", async () => {
  const directory = makeDirectory();
  const { log } = createTestLog();
  const disk = { roomBytes: Number.POSITIVE_INFINITY };
  const reader = readBeside(directory);
  const sizesBytes = new Set<number>();
  const journal = new Journal({
    directory,
    firstSegment: 1,
    log,
    onWritten: () => {},
    segmentBytesMax: SEGMENT_BYTES_MAX,
    write(fd, bytes, position) {
      // Between any two writes, as the thread of the reader may.
      reader.readOn();
      const last = listSegments(directory).at(-1);
      if (last !== undefined && last > 1) sizesBytes.add(statSync(segmentPath(directory, last)).size);
      const grown = Math.max(0, position + bytes.length - fstatSync(fd).size);
      if (grown > disk.roomBytes) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
      disk.roomBytes -= grown;
      return writeSync(fd, bytes, 0, bytes.length, position);
    },
  });
  const append = async (times: number) => {
    for (let index = 0; index < times; index += 1) {
      journal.lines.append(RUN_LINE);
      journal.appended();
      await journal.written();
    }
  };
  // Half of what a segment reserves.
  disk.roomBytes = RESERVED_BYTES_MIN / 2;
  const whileFull = 2_000;
  await append(whileFull);
  expect(readdirSync(directory)).toEqual(["000000000001.journal"]);
  disk.roomBytes = Number.POSITIVE_INFINITY;
  await append(whileFull);
  expect(listSegments(directory).length).toBeGreaterThan(1);
  await journal.close();
  reader.readOn();
  reader.close();
  expect(reader.text() === RUN_LINE.toString().repeat(2 * whileFull)).toBe(true);
  expect(Math.min(...sizesBytes)).toBeGreaterThanOrEqual(RESERVED_BYTES_MIN);
});

test("a kill while the next segment reserves its room leaves no segment without it, and a start that goes on from the last line", async () => {
  const dataDir = makeDirectory();
  const directory = join(dataDir, "journal");
  mkdirSync(directory);
  const script = join(import.meta.dir, "child-killed-rotating.ts");
  const child = Bun.spawn([process.execPath, "--no-env-file", script, directory], {
    stdout: "pipe",
    stderr: "inherit",
  });
  const said = (await child.stdout.text()).trim().split("\n").length;
  await child.exited;
  expect(child.signalCode).toBe("SIGKILL");
  expect(listSegments(directory)).toEqual([1]);
  expect(readdirSync(directory).length).toBe(2);

  const { log, lines } = createTestLog();
  const clock = createManualClock();
  const opened = await openLedger({ dataDir, clock, log, sync: "interval", retentionDays: null });
  expect(readdirSync(directory).filter((name) => !name.endsWith(".journal"))).toEqual([]);
  await opened.ledger.flush();
  expect((await opened.stats.listRequests(EVERYTHING, { limit: 1, offset: 0 })).total).toBe(said);
  await opened.close();
  expect(lines).toEqual([]);
  checkLedger(dataDir, { eventCount: said, isAtRest: true });
});

test("a journal whose reserved room cannot be given back is closed all the same, and says so", async () => {
  const directory = makeDirectory();
  const { log, lines } = createTestLog();
  const journal = new Journal({ directory, firstSegment: 1, log, onWritten: () => {} });
  journal.lines.append(RUN_LINE);
  journal.appended();
  await journal.written();
  const trim = spyOn(SegmentFile.prototype, "trim").mockImplementationOnce(() => {
    throw Object.assign(new Error("an I/O error"), { code: "EIO" });
  });
  const close = spyOn(SegmentFile.prototype, "close");
  try {
    await journal.close();
    expect(close).toHaveBeenCalledTimes(1);
  } finally {
    trim.mockRestore();
    close.mockRestore();
  }
  expect(lines).toEqual([expect.stringMatching(/what it had reserved.*EIO/)]);
  expect(readFileSync(segmentPath(directory, 1), "utf8").replace(/\0+$/, "")).toBe(RUN_LINE.toString());
});
