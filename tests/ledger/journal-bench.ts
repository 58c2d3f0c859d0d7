import { fstatSync, mkdirSync, readdirSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Journal } from "#storage/journal/journal.ts";
import { SegmentReader } from "#storage/journal/segment-reader.ts";
import { Recorder } from "#usage/recorder.ts";
import type { UsageLedger } from "#usage/store.ts";
import { makeFolder } from "../support/folder.ts";
import { createTestLog } from "./usage.ts";

const folder = makeFolder();
process.on("exit", () => folder.remove());

let counter = 0;

/** A folder of a test's own, which goes with the process: files of tests share this one. */
export function makeDirectory(): string {
  const path = join(folder.path, String((counter += 1)));
  mkdirSync(path);
  return path;
}

export interface BenchOptions {
  /** A new one when absent. */
  readonly directory?: string;
  readonly segmentBytesMax?: number;
  /** The disk gives each write a new place: what replaces other bytes takes room as well. */
  readonly isCopying?: boolean;
  /** Called before each write. */
  readonly onWrite?: () => void;
}

/** A journal, and a recorder that writes to it, on a disk that has `disk.roomBytes` for files to grow into. */
export function openJournal({
  directory = makeDirectory(),
  segmentBytesMax,
  isCopying = false,
  onWrite = () => {},
}: BenchOptions = {}) {
  const disk = { roomBytes: Number.POSITIVE_INFINITY, writes: 0 };
  const { log, lines: said } = createTestLog();
  const journal = new Journal({
    directory,
    firstSegment: 1,
    log,
    onWritten: () => {},
    ...(segmentBytesMax === undefined ? {} : { segmentBytesMax }),
    write(fd, bytes, position) {
      onWrite();
      const { size } = fstatSync(fd);
      if (bytes[0] !== 0) disk.writes += 1;
      const free = isCopying ? 0 : Math.max(0, size - position);
      const length = Math.min(bytes.length, free + disk.roomBytes);
      if (length <= 0) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
      const taken = writeSync(fd, bytes, 0, length, position);
      disk.roomBytes -= Math.max(0, taken - free);
      return taken;
    },
  });
  const openRecorder = () =>
    new Recorder({
      journal,
      sync: "interval",
      findEvent: async () => ({ kind: "absent" }),
      flush: () => journal.stored(),
      close: () => journal.close(),
    });
  let ledger: UsageLedger | null = null;
  return {
    directory,
    disk,
    journal,
    /** Begins with a line of its own, once it is asked for. */
    get ledger() {
      return (ledger ??= openRecorder());
    },
    said,
    /** One turn after the other, each with one line. */
    append: async (line: Uint8Array, times = 1) => {
      for (let index = 0; index < times; index += 1) {
        journal.lines.append(line);
        journal.appended();
        await journal.written();
      }
    },
    /** All lines of all segments. */
    content: () =>
      readdirSync(directory)
        .toSorted()
        .map((name) => readFileSync(join(directory, name), "utf8").replace(/\0+$/, ""))
        .join(""),
  };
}

/** A reader that goes on from where it was: `text` is all that it has read. */
export function readFrom(directory: string, at = { segment: 1, offsetBytes: 0 }) {
  const reader = new SegmentReader(directory);
  const bench = {
    text: "",
    at,
    on() {
      for (let hasMore = true; hasMore;) {
        const chunk = reader.read(bench.at);
        bench.text += chunk.lines.toString();
        bench.at = chunk.next;
        hasMore = chunk.hasMore;
      }
      return bench.text;
    },
    close: () => reader.close(),
  };
  return bench;
}
