import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { getPriority } from "node:os";
import { join } from "node:path";
import { LAG_BYTES_MAX, LAG_MS_MAX, openThreads } from "#boot/process/threads.ts";
import type { LedgerGauges } from "#usage/gauges.ts";
import { createLog } from "#kernel/log.ts";
import { makeFolder } from "../support/folder.ts";
import { listThreads, mayReturn, SCHED_IDLE, SCHED_NORMAL } from "../support/threads.ts";

const WORKER_STEPS = 5;
const niceness = getPriority();
const folder = makeFolder();
afterAll(() => folder.remove());

/** A thread of this name that does nothing. */
async function startThread(name: string): Promise<{ readonly id: number; stop(): void }> {
  const path = join(folder.path, `${name.replace(" ", "-")}.ts`);
  writeFileSync(
    path,
    `import { readlinkSync, writeFileSync } from "node:fs";
     writeFileSync("/proc/thread-self/comm", ${JSON.stringify(name)});
     self.onmessage = () => {};
     postMessage(Number(readlinkSync("/proc/thread-self").split("/").at(-1)));`,
  );
  const worker = new Worker(path);
  const id = await new Promise<number>((resolve) =>
    worker.addEventListener("message", ({ data }: MessageEvent<number>) => resolve(data), { once: true }),
  );
  return { id, stop: () => worker.terminate() };
}

/** Looks as a server does, at a moment and a state of the ledger that the test sets. */
function openLooks({ awaitsWriter = false } = {}) {
  const gauges = { journalUncommittedBytes: 0, writerWaiting: 0, writerCommits: 0, readerWaiting: 0 };
  const at = { nowMs: 5_000, gauges };
  const told: string[] = [];
  const threads = openThreads({
    readGauges: () => at.gauges as LedgerGauges,
    monotonicMs: () => at.nowMs,
    awaitsWriter,
    log: createLog({ level: "debug", json: true, write: (line) => told.push(line), timestamp: () => "" }),
  });
  const find = (id: number) => listThreads(process.pid).find((thread) => thread.id === id);
  return {
    told,
    /** The thread after a look, `ms` later. */
    look: (id: number, ms: number, changed: Partial<typeof gauges>) => {
      at.nowMs += ms;
      at.gauges = { ...at.gauges, ...changed };
      threads?.look();
      return find(id);
    },
  };
}

const BEHIND = { policy: SCHED_NORMAL, niceness: niceness + WORKER_STEPS };
const UP_TO_DATE = mayReturn() ? { ...BEHIND, policy: SCHED_IDLE } : BEHIND;

test.skipIf(process.platform !== "linux")(
  "the writer is idle until nothing was committed for a second while lines wait, and again after a commit",
  async () => {
    const thread = await startThread("usage writer");
    const { look, told } = openLooks();
    expect(look(thread.id, 0, {})).toMatchObject(UP_TO_DATE);
    // A second without work is no second behind.
    expect(look(thread.id, LAG_MS_MAX * 10, {})).toMatchObject(UP_TO_DATE);
    expect(look(thread.id, 0, { journalUncommittedBytes: 1 })).toMatchObject(UP_TO_DATE);
    expect(look(thread.id, LAG_MS_MAX - 1, {})).toMatchObject(UP_TO_DATE);
    expect(look(thread.id, 1, {})).toMatchObject(BEHIND);
    expect(look(thread.id, LAG_MS_MAX, {})).toMatchObject(BEHIND);
    // Lines that came meanwhile wait, for less than a second.
    expect(look(thread.id, 1, { writerCommits: 1 })).toMatchObject(UP_TO_DATE);
    expect(look(thread.id, LAG_MS_MAX - 1, {})).toMatchObject(UP_TO_DATE);
    expect(told.length).toBe(mayReturn() ? 0 : 1);
    thread.stop();
  },
);

test.skipIf(process.platform !== "linux")(
  "the writer is no longer idle when maintenance has waited for a second, and never where responses wait for it",
  async () => {
    const thread = await startThread("usage writer");
    const { look } = openLooks();
    expect(look(thread.id, 0, { writerWaiting: 1 })).toMatchObject(UP_TO_DATE);
    expect(look(thread.id, LAG_MS_MAX, {})).toMatchObject(BEHIND);
    expect(look(thread.id, 1, { writerWaiting: 0 })).toMatchObject(UP_TO_DATE);
    const awaited = openLooks({ awaitsWriter: true });
    expect(awaited.look(thread.id, 0, {})).toMatchObject(BEHIND);
    thread.stop();
  },
);

test.skipIf(process.platform !== "linux")(
  "the writer is no longer idle with 2 MB of lines to write, although it commits, until half of them is left",
  async () => {
    const thread = await startThread("usage writer");
    const { look } = openLooks();
    expect(look(thread.id, 0, { journalUncommittedBytes: LAG_BYTES_MAX - 1 })).toMatchObject(UP_TO_DATE);
    expect(look(thread.id, 1, { journalUncommittedBytes: LAG_BYTES_MAX, writerCommits: 1 })).toMatchObject(
      BEHIND,
    );
    const half = { journalUncommittedBytes: LAG_BYTES_MAX / 2, writerCommits: 2 };
    expect(look(thread.id, 1, half)).toMatchObject(BEHIND);
    const less = { journalUncommittedBytes: LAG_BYTES_MAX / 2 - 1, writerCommits: 3 };
    expect(look(thread.id, 1, less)).toMatchObject(UP_TO_DATE);
    thread.stop();
  },
);

test.skipIf(process.platform !== "linux")(
  "a reader is idle until questions have waited for a second, and a thread without a rule stays as it is",
  async () => {
    const reader = await startThread("usage reader");
    const other = await startThread("another");
    const { look } = openLooks();
    expect(look(reader.id, 0, { readerWaiting: 2 })).toMatchObject(UP_TO_DATE);
    expect(look(reader.id, LAG_MS_MAX, { readerWaiting: 1 })).toMatchObject(BEHIND);
    expect(look(reader.id, 0, { readerWaiting: 0 })).toMatchObject(UP_TO_DATE);
    expect(look(other.id, 0, {})).toMatchObject({ policy: SCHED_NORMAL, niceness });
    for (const thread of [reader, other]) thread.stop();
  },
);
