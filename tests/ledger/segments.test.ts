import { describe, expect, spyOn, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { JournalBacklog } from "#storage/journal/backlog.ts";
import { SegmentFile } from "#storage/journal/segment-file.ts";
import { countDamagedLines, SegmentReader } from "#storage/journal/segment-reader.ts";
import {
  KEPT_BYTES_MAX,
  KEPT_MS,
  KeptSegments,
  listSegments,
  measureSegments,
  segmentPath,
  UNFINISHED,
} from "#storage/journal/segments.ts";
import { serveLedger } from "../support/ledger.ts";
import { makeDirectory, openJournal, readFrom } from "./journal-bench.ts";
import { RUN_LINE, SUBJECT, toBeginLine } from "./usage.ts";

const RESERVED_BYTES_MIN = 1024 * 1024;
const SEGMENT_BYTES_MAX = 500;
const START = { segment: 1, offsetBytes: 0 };
const LINE = RUN_LINE.toString();
const reserved = (sizeBytes: number) => Buffer.alloc(sizeBytes);

describe("a segment", () => {
  test("ends for readers where its reserved room begins, and lines that replace that are read on", () => {
    const directory = makeDirectory();
    const file = new SegmentFile(segmentPath(directory, 1));
    file.reserve();
    const reader = new SegmentReader(directory);
    expect(reader.read(START)).toMatchObject({ next: START, tornBytes: 0, hasMore: false });
    file.append(RUN_LINE);
    // Half of a line, as a reader may meet it while it is written.
    file.append(RUN_LINE.subarray(0, 5));
    const first = reader.read(START);
    expect(first.lines.toString()).toBe(LINE);
    expect(first).toMatchObject({ next: { segment: 1, offsetBytes: RUN_LINE.length }, hasMore: false });
    file.append(RUN_LINE.subarray(5));
    file.reserve();
    expect(reader.read(first.next).lines.toString()).toBe(LINE);
    expect(measureSegments(directory)).toEqual(new Map([[1, RUN_LINE.length * 2]]));
    expect(statSync(file.path).size).toBeGreaterThan(RESERVED_BYTES_MIN);
    file.trim();
    expect(readFileSync(file.path, "utf8")).toBe(LINE.repeat(2));
    file.close();
    reader.close();
  });

  test("of a killed process has reserved room that counts neither as torn nor as waiting, and the next one follows", () => {
    const directory = makeDirectory();
    writeFileSync(segmentPath(directory, 1), Buffer.concat([RUN_LINE, reserved(1_300_000)]));
    expect(countDamagedLines(directory, START)).toBe(0);
    writeFileSync(segmentPath(directory, 2), RUN_LINE);
    expect(countDamagedLines(directory, START)).toBe(0);
    writeFileSync(segmentPath(directory, 3), reserved(70_000));
    expect([...measureSegments(directory).values()]).toEqual([RUN_LINE.length, RUN_LINE.length, 0]);
  });

  test("that a loss of power left with a gap loses the line behind it, and no more", () => {
    const directory = makeDirectory();
    const lines = Buffer.concat([RUN_LINE, reserved(600_000), RUN_LINE, RUN_LINE]);
    writeFileSync(segmentPath(directory, 1), lines);
    writeFileSync(segmentPath(directory, 2), RUN_LINE);
    const reading = readFrom(directory);
    const read = reading.on().split("\n");
    reading.close();
    expect(read.filter((line) => `${line}\n` === LINE)).toHaveLength(3);
    expect(countDamagedLines(directory, START)).toBe(1);
  });

  test("follows another at a size, also when the disk does not take back what was reserved, and no later line is lost", async () => {
    const trim = spyOn(SegmentFile.prototype, "trim").mockImplementationOnce(() => {
      throw Object.assign(new Error("no space"), { code: "ENOSPC" });
    });
    const { directory, journal, said, append } = openJournal({ segmentBytesMax: SEGMENT_BYTES_MAX });
    const line = toBeginLine(1, SUBJECT);
    const reading = readFrom(directory);
    try {
      for (let index = 0; index < 20; index += 1) {
        await append(line);
        reading.on();
      }
      await journal.close();
      expect(reading.on()).toBe(line.toString().repeat(20));
    } finally {
      trim.mockRestore();
      reading.close();
    }
    expect(listSegments(directory).length).toBeGreaterThan(3);
    expect(said).toEqual([expect.stringContaining("a change of segment was not complete")]);

    // As a next run reads it: from the beginning on, or from where the lines of the first segment end.
    expect(statSync(segmentPath(directory, 1)).size).toBeGreaterThan(RESERVED_BYTES_MIN);
    const offsetBytes = measureSegments(directory).get(1) ?? 0;
    for (const from of [START, { segment: 1, offsetBytes }]) {
      const next = readFrom(directory, from);
      expect(next.on()).toBe(line.toString().repeat(20 - from.offsetBytes / line.length));
      next.close();
    }
    expect(countDamagedLines(directory, START)).toBe(0);
  });

  test("has its name only with its room: where the disk has none, the one before goes on and a reader beside loses no line", async () => {
    const sizesBytes = new Set<number>();
    const bench = openJournal({
      segmentBytesMax: SEGMENT_BYTES_MAX,
      // Between any two writes, as the thread of the reader may.
      onWrite() {
        if (reading === null) return;
        reading.on();
        const last = listSegments(bench.directory).at(-1) ?? 1;
        if (last > 1) sizesBytes.add(statSync(segmentPath(bench.directory, last)).size);
      },
    });
    let reading: ReturnType<typeof readFrom> | null = null;
    const { directory, disk, journal, append } = bench;
    reading = readFrom(directory);
    // Half of what a segment reserves.
    disk.roomBytes = RESERVED_BYTES_MIN / 2;
    await append(RUN_LINE, 2_000);
    expect(readdirSync(directory)).toEqual(["000000000001.journal"]);
    disk.roomBytes = Number.POSITIVE_INFINITY;
    await append(RUN_LINE, 2_000);
    expect(listSegments(directory).length).toBeGreaterThan(1);
    await journal.close();
    expect(reading.on() === LINE.repeat(4_000)).toBe(true);
    reading.close();
    expect(Math.min(...sizesBytes)).toBeGreaterThanOrEqual(RESERVED_BYTES_MIN);
  });

  test("that a kill has left without its name is removed by the next start, which goes on from the last line", async () => {
    const { directory, journal, ledger } = openJournal();
    for (let later = 0; later < 3; later += 1)
      ledger.open({ ...SUBJECT, arrivedAtUs: SUBJECT.arrivedAtUs + later });
    await journal.close();
    const dataDir = makeDirectory();
    const moved = join(dataDir, "journal");
    mkdirSync(moved);
    writeFileSync(segmentPath(moved, 1), readFileSync(segmentPath(directory, 1)));
    writeFileSync(`${segmentPath(moved, 2)}${UNFINISHED}`, reserved(RESERVED_BYTES_MIN / 2));
    await using opened = await serveLedger({ dataDir });
    expect(readdirSync(moved).filter((name) => !name.endsWith(".journal"))).toEqual([]);
    await opened.ledger.flush();
    expect(await opened.countRecorded()).toBe(3);
    expect(opened.lines).toEqual([]);
  });

  test.skipIf(process.platform === "win32" || process.getuid?.() === 0)(
    "confirms its lines as well in a folder that may not be opened",
    async () => {
      const { directory, journal, said, append } = openJournal();
      chmodSync(directory, 0o300);
      await append(RUN_LINE);
      await journal.synced();
      await journal.close();
      chmodSync(directory, 0o700);
      expect(said).toEqual([]);
    },
  );

  test("whose reserved room cannot be given back is closed all the same, and that is said", async () => {
    const { directory, journal, said, append } = openJournal();
    await append(RUN_LINE);
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
    expect(said).toEqual([expect.stringMatching(/what it had reserved.*EIO/)]);
    expect(readFileSync(segmentPath(directory, 1), "utf8").replace(/\0+$/, "")).toBe(LINE);
  });
});

describe("segments that are committed", () => {
  function createKept(count: number, keptBytesMax = KEPT_BYTES_MAX) {
    const directory = makeDirectory();
    const clock = { nowMs: 1_000 };
    const write = (segment: number, sizeBytes = 10) =>
      writeFileSync(segmentPath(directory, segment), Buffer.alloc(sizeBytes));
    for (let segment = 1; segment <= count; segment += 1) write(segment);
    const kept = new KeptSegments({ directory, monotonicMs: () => clock.nowMs, keptBytesMax });
    const trim = (segment: number, laterMs = 0) => {
      clock.nowMs += laterMs;
      kept.trim(segment);
      return listSegments(directory);
    };
    return { write, trim };
  }

  test("stay a quarter of an hour after the commit of their end, however old their lines are", () => {
    const { trim } = createKept(3);
    trim(2);
    expect(trim(3, KEPT_MS - 1)).toEqual([1, 2, 3]);
    expect(trim(3, 1)).toEqual([2, 3]);
    // The lines of the last may not be committed yet.
    expect(trim(3, KEPT_MS)).toEqual([3]);
    expect(KEPT_MS).toBe(900_000);
  });

  test("begin their time anew with a database that goes back", () => {
    const { trim } = createKept(3);
    trim(3);
    trim(1, KEPT_MS - 1);
    expect(trim(3, 1)).toEqual([1, 2, 3]);
  });

  test("go, the oldest first, when all of them take more than their share, and none that is not committed", () => {
    const { trim, write } = createKept(5, 25);
    expect(trim(4)).toEqual([2, 3, 4, 5]);
    write(5, 1_000);
    expect(trim(4)).toEqual([2, 3, 4, 5]);
    expect(KEPT_BYTES_MAX).toBe(268_435_456);
  });
});

describe("the backlog", () => {
  test("is what was written and not committed, over segments of this process and of earlier ones", () => {
    const found = new Map([
      [3, 100],
      [4, 50],
    ]);
    const backlog = new JournalBacklog(found, { segment: 3, offsetBytes: 40 });
    const after = (segment: number, offsetBytes: number) => {
      backlog.commit({ segment, offsetBytes });
      return backlog.bytes;
    };
    expect(backlog.bytes).toBe(110);
    backlog.grow(5, 20);
    backlog.grow(5, 5);
    expect(backlog.bytes).toBe(135);
    expect(after(4, 10)).toBe(65);
    expect(after(5, 25)).toBe(0);
    // The next segment has begun and is still empty.
    expect(after(6, 0)).toBe(0);
    backlog.grow(6, 7);
    expect(backlog.bytes).toBe(7);
  });

  test("has no segment that was committed before the start, removed or not", () => {
    expect(new JournalBacklog(new Map([[1, 100]]), { segment: 2, offsetBytes: 0 }).bytes).toBe(0);
    expect(new JournalBacklog(new Map(), { segment: 2, offsetBytes: 70 }).bytes).toBe(0);
  });

  test("is as old as the write of its oldest line, to some seconds; what a process before has left, as this process", () => {
    let nowMs = 1_000_000;
    const pass = (seconds: number) => (nowMs += seconds * 1000);
    const backlog = new JournalBacklog(new Map([[1, 50]]), { segment: 1, offsetBytes: 10 }, () => nowMs);
    const after = (segment: number, offsetBytes: number) => {
      backlog.commit({ segment, offsetBytes });
      return backlog.ageMs;
    };
    pass(7);
    expect(backlog.ageMs).toBe(7_000);
    expect(after(1, 50)).toBe(0);
    pass(100);
    backlog.grow(2, 10);
    pass(1);
    backlog.grow(2, 10);
    pass(59);
    backlog.grow(2, 10);
    backlog.grow(3, 10);
    expect(backlog.ageMs).toBe(60_000);
    // The second line is not told apart from the first, which came a second before it.
    expect(after(2, 10)).toBe(60_000);
    pass(5);
    expect(after(2, 20)).toBe(5_000);
    expect(after(3, 10)).toBe(0);
    pass(100);
    backlog.grow(3, 1);
    expect(backlog.ageMs).toBe(0);
  });
});
