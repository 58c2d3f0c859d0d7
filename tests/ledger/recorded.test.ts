import { afterEach, describe, expect, test } from "bun:test";
import { openLedgerReader } from "#storage/ledger-reader.ts";
import { findLedger } from "#storage/sqlite/ledger/ledger.ts";
import { RecordedEvents } from "#storage/sqlite/ledger/ledger.ts";
import { makeFolder } from "../support/folder.ts";
import {
  createManualClock,
  createTestLog,
  ENDING,
  EVERYTHING,
  NEW_YEAR_US,
  SUBJECT,
  type ManualClock,
} from "./usage.ts";
import { openLedger } from "../support/ledger.ts";

const KEPT = 32_768;
const PAGE = { limit: 100, offset: 0 };
const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function open(dataDir = makeDataDir(), clock: ManualClock = createManualClock(NEW_YEAR_US)) {
  const { log } = createTestLog();
  const opened = await openLedger({ dataDir, clock, log, ledgerSync: "interval", usageRetentionDays: null });
  cleanups.push(() => opened.close());
  const look = async (after: string, filter = EVERYTHING.filter, window = EVERYTHING.window) => {
    const found = await opened.stats.listRecorded({ ...EVERYTHING, filter, window }, { ...PAGE, after });
    return { ...found, rows: found.rows.map(({ arrivedAtUs }) => arrivedAtUs - NEW_YEAR_US) };
  };
  return { ...opened, dataDir, look };
}

function makeDataDir(): string {
  const folder = makeFolder();
  cleanups.push(() => folder.remove());
  return folder.path;
}

const begin = ({ ledger }: Pick<Awaited<ReturnType<typeof open>>, "ledger">, at: number, model = "m") =>
  ledger.open({ ...SUBJECT, model, arrivedAtUs: NEW_YEAR_US + at });

describe("what was recorded since a cursor", () => {
  test("holds a request that began before others and ended after them, once, and nothing from before the cursor", async () => {
    const opened = await open();
    const slow = begin(opened, 1);
    await begin(opened, 2).end(ENDING);
    await opened.ledger.flush();
    const { cursor } = await opened.look("");
    await begin(opened, 3, "other").end(ENDING);
    await slow.end(ENDING);
    await opened.ledger.flush();
    const since = await opened.look(cursor);
    expect(since).toMatchObject({ rows: [3, 1], total: 2, hasGap: false });
    expect(await opened.look(since.cursor)).toEqual({ ...since, rows: [], total: 0 });
    const others = await opened.look(cursor, { ...EVERYTHING.filter, models: ["other"] });
    expect(others).toEqual({ ...since, rows: [3], total: 1 });
    const windowed = await opened.look(cursor, EVERYTHING.filter, {
      sinceUs: NEW_YEAR_US,
      untilUs: NEW_YEAR_US + 3,
    });
    expect(windowed).toEqual({ ...since, rows: [1], total: 1 });
  });

  test("asks no reader when nothing is new", async () => {
    const opened = await open();
    const real = globalThis.Worker;
    cleanups.push(() => void (globalThis.Worker = real));
    globalThis.Worker = class extends Worker {
      constructor(url: string | URL) {
        super(url);
        throw new Error(`a Worker was started: ${String(url)}`);
      }
    };
    const { cursor } = await opened.look("");
    expect(await opened.look(cursor)).toMatchObject({ rows: [], hasGap: false });
  });

  test("is a gap for a cursor of another start, also of the same folder, and for what is no cursor", async () => {
    const before = await open();
    const { cursor } = await before.look("");
    await before.close();
    const after = await open(before.dataDir, createManualClock(NEW_YEAR_US + 1));
    for (const unknown of [cursor, "x", `${cursor}.0`, "..", "-1"]) {
      expect(await after.look(unknown)).toMatchObject({ rows: [], total: 0, hasGap: true });
    }
    const { cursor: next } = await after.look(cursor);
    expect(await after.look(next)).toMatchObject({ hasGap: false });
  });

  test("is a gap in a process that only looks: it does not hear what another one commits", async () => {
    const { log } = createTestLog();
    const reader = openLedgerReader(findLedger(makeDataDir()), log);
    cleanups.push(() => reader.close());
    const found = await reader.stats.listRecorded(EVERYTHING, { ...PAGE, after: "" });
    expect(found).toEqual({ rows: [], total: 0, cursor: "", hasGap: true });
  });
});

describe("the order of recording", () => {
  test("is kept for a limited number of events: an older cursor is a gap, never a part", () => {
    const recorded = new RecordedEvents("e");
    const { cursor } = recorded.since("");
    recorded.add(Float64Array.from({ length: KEPT - 1 }, (_, index) => index));
    const middle = recorded.since(cursor);
    expect([middle.ids.length, middle.ids.at(-1)]).toEqual([KEPT - 1, KEPT - 2]);
    recorded.add(Float64Array.of(-1));
    expect(recorded.since(cursor).ids).toHaveLength(KEPT);
    recorded.add(Float64Array.of(-2));
    expect(recorded.since(cursor)).toMatchObject({ ids: [], hasGap: true });
    expect(recorded.since(middle.cursor)).toMatchObject({ ids: [-1, -2], hasGap: false });
  });

  test("knows no cursor of before a writer that died: what it committed last is not known", () => {
    const recorded = new RecordedEvents("e");
    recorded.add(Float64Array.of(1, 2));
    const { cursor } = recorded.since("");
    recorded.interrupt();
    expect(recorded.since(cursor).hasGap).toBe(true);
    const after = recorded.since("");
    recorded.add(Float64Array.of(3));
    expect(recorded.since(after.cursor)).toMatchObject({ ids: [3], hasGap: false });
  });
});
