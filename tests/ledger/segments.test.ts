import { afterAll, expect, spyOn, test } from "bun:test";
import {
  chmodSync,
  fstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { Journal } from "#storage/journal/journal.ts";
import { SegmentFile } from "#storage/journal/segment-file.ts";
import { countDamagedLines, SegmentReader } from "#storage/journal/segment-reader.ts";
import {
  listSegments,
  measureSegments,
  segmentPath,
  type JournalPosition,
} from "#storage/journal/segments.ts";
import { makeFolder } from "../support/folder.ts";
import { checkLedger } from "../support/invariants.ts";
import { createManualClock, createTestLog, EVERYTHING, RUN_LINE, SUBJECT, toBeginLine } from "./usage.ts";
import { openLedger } from "../support/ledger.ts";

const RESERVED_BYTES_MIN = 1024 * 1024;
const SEGMENT_BYTES_MAX = 500;
const START = { segment: 1, offsetBytes: 0 };

const folder = makeFolder();
afterAll(() => folder.remove());

let counter = 0;
function makeDirectory(): string {
  counter += 1;
  const directory = join(folder.path, String(counter));
  mkdirSync(directory);
  return directory;
}

function append(journal: Journal, line: Uint8Array): void {
  journal.lines.append(line);
  journal.appended();
}

function readFrom(reader: SegmentReader, from: JournalPosition) {
  let [next, text, hasMore] = [from, "", true];
  while (hasMore) {
    const chunk = reader.read(next);
    text += chunk.lines.toString();
    ({ next, hasMore } = chunk);
  }
  return { text, next };
}

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
  const read = readFrom(reader, START).text.split("\n");
  reader.close();
  expect(read.filter((line) => `${line}\n` === RUN_LINE.toString())).toHaveLength(3);
  expect(countDamagedLines(directory, START)).toBe(1);
});

test("segments follow one another at a size, also when the disk does not take back what was reserved, and no later line is lost", async () => {
  const directory = makeDirectory();
  const { log, lines: said } = createTestLog();
  const journal = new Journal({
    directory,
    firstSegment: 1,
    log,
    onWritten: () => {},
    segmentBytesMax: SEGMENT_BYTES_MAX,
  });
  const trim = spyOn(SegmentFile.prototype, "trim").mockImplementationOnce(() => {
    throw Object.assign(new Error("no space"), { code: "ENOSPC" });
  });
  const line = toBeginLine(1, SUBJECT).toString();
  const begin = { segment: 1, offsetBytes: 0 };
  const reader = new SegmentReader(directory);
  let [at, text] = [begin, ""];
  const readOn = () => {
    const read = readFrom(reader, at);
    at = read.next;
    text += read.text;
  };
  try {
    for (let index = 0; index < 20; index += 1) {
      append(journal, Buffer.from(line));
      await journal.written();
      readOn();
    }
    await journal.close();
    readOn();
  } finally {
    trim.mockRestore();
    reader.close();
  }
  expect(text).toBe(line.repeat(20));
  expect(readdirSync(directory).length).toBeGreaterThan(3);
  expect(said).toEqual([expect.stringContaining("a change of segment was not complete")]);

  // As a next run reads it: from the beginning on, or from where the lines of the first segment end.
  expect(statSync(segmentPath(directory, 1)).size).toBeGreaterThan(1024 * 1024);
  const offsetBytes = measureSegments(directory).get(1) ?? 0;
  for (const from of [begin, { segment: 1, offsetBytes }]) {
    const next = new SegmentReader(directory);
    expect(readFrom(next, from).text).toBe(line.repeat(20 - from.offsetBytes / line.length));
    next.close();
  }
  expect(countDamagedLines(directory, begin)).toBe(0);
});

test.skipIf(process.platform === "win32" || process.getuid?.() === 0)(
  "lines are confirmed as well in a folder that may not be opened",
  async () => {
    const directory = makeDirectory();
    chmodSync(directory, 0o300);
    const { log, lines } = createTestLog();
    const journal = new Journal({ directory, firstSegment: 1, log, onWritten: () => {} });
    append(journal, RUN_LINE);
    await journal.synced();
    await journal.close();
    chmodSync(directory, 0o700);
    expect(lines).toEqual([]);
  },
);

test("a segment has its name only with its room: where the disk has none, the one before goes on and a reader beside loses no line", async () => {
  const directory = makeDirectory();
  const { log } = createTestLog();
  const disk = { roomBytes: Number.POSITIVE_INFINITY };
  const reader = new SegmentReader(directory);
  let [at, read] = [START, ""];
  const readOn = () => {
    const part = readFrom(reader, at);
    at = part.next;
    read += part.text;
  };
  const sizesBytes = new Set<number>();
  const journal = new Journal({
    directory,
    firstSegment: 1,
    log,
    onWritten: () => {},
    segmentBytesMax: SEGMENT_BYTES_MAX,
    write(fd, bytes, position) {
      // Between any two writes, as the thread of the reader may.
      readOn();
      const last = listSegments(directory).at(-1);
      if (last !== undefined && last > 1) sizesBytes.add(statSync(segmentPath(directory, last)).size);
      const grown = Math.max(0, position + bytes.length - fstatSync(fd).size);
      if (grown > disk.roomBytes) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
      disk.roomBytes -= grown;
      return writeSync(fd, bytes, 0, bytes.length, position);
    },
  });
  const appendTimes = async (times: number) => {
    for (let index = 0; index < times; index += 1) {
      append(journal, RUN_LINE);
      await journal.written();
    }
  };
  // Half of what a segment reserves.
  disk.roomBytes = RESERVED_BYTES_MIN / 2;
  const whileFull = 2_000;
  await appendTimes(whileFull);
  expect(readdirSync(directory)).toEqual(["000000000001.journal"]);
  disk.roomBytes = Number.POSITIVE_INFINITY;
  await appendTimes(whileFull);
  expect(listSegments(directory).length).toBeGreaterThan(1);
  await journal.close();
  readOn();
  reader.close();
  expect(read === RUN_LINE.toString().repeat(2 * whileFull)).toBe(true);
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
  append(journal, RUN_LINE);
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
