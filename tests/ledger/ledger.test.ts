import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import type { OpenedLedger } from "#storage/sqlite/usage/ledger.ts";
import { openLedger } from "#storage/sqlite/usage/ledger.ts";
import type { ManualClock } from "./usage.ts";
import {
  createManualClock,
  createTestLog,
  DAY_US,
  ENDING,
  EVERYTHING,
  NEW_YEAR_US,
  SUBJECT,
} from "./usage.ts";

const PAGE = { limit: 100, offset: 0 };
const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Setup {
  readonly dataDir?: string;
  readonly clock?: ManualClock;
  readonly sync?: "interval" | "request";
  readonly retentionDays?: number | null;
}

function makeDataDir(): string {
  const dataDir = mkdtempSync(join(tmpdir(), "lockport-ledger-"));
  cleanups.push(() => rmSync(dataDir, { recursive: true, force: true }));
  return dataDir;
}

async function open(setup: Setup = {}) {
  const dataDir = setup.dataDir ?? makeDataDir();
  const { log, lines } = createTestLog();
  const opened = await openLedger({
    dataDir,
    clock: setup.clock ?? createManualClock(),
    log,
    sync: setup.sync ?? "interval",
    retentionDays: setup.retentionDays ?? null,
  });
  cleanups.push(() => opened.close());
  return { ...opened, dataDir, lines };
}

async function record({ ledger }: Pick<OpenedLedger, "ledger">, arrivedAtUs: number): Promise<void> {
  await ledger.open({ ...SUBJECT, arrivedAtUs }).end(ENDING);
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "fulfilled";
  } catch (cause) {
    return cause instanceof SetupError ? `${cause.kind}: ${cause.message}` : String(cause);
  }
}

describe("the ledger", () => {
  test("shows in the request log what ended before it was asked, and not what is still under way", async () => {
    const opened = await open();
    const running = opened.ledger.open({ ...SUBJECT, arrivedAtUs: NEW_YEAR_US + 5 });
    for (let index = 0; index < 3; index += 1) {
      await record(opened, NEW_YEAR_US + index);
      expect((await opened.stats.listRequests(EVERYTHING, PAGE)).total).toBe(index + 1);
    }
    await running.end(ENDING);
    const { rows } = await opened.stats.listRequests(EVERYTHING, PAGE);
    expect(rows.map((row) => row.arrivedAtUs - NEW_YEAR_US)).toEqual([5, 2, 1, 0]);
  });

  test("records in the strict setting as well", async () => {
    const opened = await open({ sync: "request" });
    await Promise.all([0, 1, 2, 3].map((index) => record(opened, NEW_YEAR_US + index)));
    await record(opened, NEW_YEAR_US + 4);
    expect((await opened.stats.listRequests(EVERYTHING, PAGE)).total).toBe(5);
  });

  test("closed and opened again goes on, and what was under way at the close becomes unreachable", async () => {
    const first = await open();
    await record(first, NEW_YEAR_US);
    first.ledger.open({ ...SUBJECT, arrivedAtUs: NEW_YEAR_US + 1 });
    await first.close();
    const second = await open({ dataDir: first.dataDir });
    await record(second, NEW_YEAR_US + 2);
    const { rows } = await second.stats.listRequests(EVERYTHING, PAGE);
    expect(rows.map((row) => [row.outcome, row.errorKind, row.statusCode, row.durationUs])).toEqual([
      ["ok", null, 200, ENDING.durationUs],
      ["unreachable", "connection_error", 502, 0],
      ["ok", null, 200, ENDING.durationUs],
    ]);
    expect(readdirSync(join(first.dataDir, "journal")).length).toBe(1);
  });

  test("of one folder is opened once: a second server is told so, and gets it when the first has closed", async () => {
    const first = await open();
    expect(await codeOf(open({ dataDir: first.dataDir }))).toStartWith(
      "configuration: Another lockport serves from this folder",
    );
    await first.close();
    await open({ dataDir: first.dataDir });
  });

  test("keeps its files to their owner", async () => {
    const { dataDir, ...opened } = await open();
    await record(opened, NEW_YEAR_US);
    await opened.ledger.flush();
    const names = ["usage.db", "usage.db-wal", join("journal", readdirSync(join(dataDir, "journal"))[0]!)];
    for (const name of names) expect([name, statSync(join(dataDir, name)).mode & 0o077]).toEqual([name, 0]);
  });

  test("refuses a newer, a foreign or a damaged usage.db and changes nothing in it", async () => {
    const newer = makeDataDir();
    const database = new Database(join(newer, "usage.db"));
    database.run("PRAGMA user_version = 99");
    database.close();
    expect(await codeOf(open({ dataDir: newer }))).toContain("newer lockport");

    const foreign = makeDataDir();
    const other = new Database(join(foreign, "usage.db"));
    other.run("CREATE TABLE mine (id)");
    other.close();
    expect(await codeOf(open({ dataDir: foreign }))).toContain("not a usage database");

    const damaged = makeDataDir();
    writeFileSync(join(damaged, "usage.db"), "this is no database at all, ".repeat(200));
    expect(await codeOf(open({ dataDir: damaged }))).toStartWith("configuration: ");
    expect(existsSync(join(damaged, "journal"))).toBe(false);
  });
});

describe("usage.db locked by another process", () => {
  test("loses nothing and blocks nobody: events are there when the lock is gone", async () => {
    const opened = await open();
    await record(opened, NEW_YEAR_US);
    await opened.ledger.flush();
    const other = new Database(join(opened.dataDir, "usage.db"));
    other.run("BEGIN IMMEDIATE");
    const before = performance.now();
    for (let index = 1; index <= 500; index += 1) await record(opened, NEW_YEAR_US + index);
    expect(performance.now() - before).toBeLessThan(2000);
    // Reports answer with what is committed instead of waiting for the lock.
    expect((await opened.stats.listRequests(EVERYTHING, PAGE)).total).toBe(1);
    opened.keyUse.saveLastUsed("key-1", NEW_YEAR_US);
    other.run("ROLLBACK");
    other.close();
    await opened.ledger.flush();
    expect((await opened.stats.listRequests(EVERYTHING, PAGE)).total).toBe(501);
  }, 20_000);
});

describe("a writer Worker that dies", () => {
  test("is started again and goes on where the last commit was", async () => {
    const workers: Worker[] = [];
    const RealWorker = globalThis.Worker;
    globalThis.Worker = class extends RealWorker {
      constructor(url: string | URL) {
        super(url);
        if (String(url).includes("writer")) workers.push(this);
      }
    };
    cleanups.push(() => void (globalThis.Worker = RealWorker));
    const opened = await open();
    for (let round = 0; round < 3; round += 1) {
      for (let index = 0; index < 50; index += 1) await record(opened, NEW_YEAR_US + round * 100 + index);
      const flushed = opened.ledger.flush();
      workers.at(-1)!.terminate();
      await flushed;
      expect((await opened.stats.listRequests(EVERYTHING, PAGE)).total).toBe((round + 1) * 50);
    }
    expect(opened.lines.some((line) => line.includes("usage writer: ended"))).toBe(true);
  }, 20_000);
});

describe("retention", () => {
  test("removes rows older than the limit, in slices, while what is younger stays", async () => {
    const clock = createManualClock(NEW_YEAR_US + 100 * DAY_US);
    const opened = await open({ clock, retentionDays: 30 });
    await record(opened, NEW_YEAR_US);
    for (let index = 0; index < 6000; index += 1) void record(opened, NEW_YEAR_US + DAY_US + index);
    await record(opened, NEW_YEAR_US + 90 * DAY_US);
    await opened.ledger.flush();
    await opened.maintain();
    const { rows, total } = await opened.stats.listRequests(EVERYTHING, PAGE);
    expect({ total, at: rows.map((row) => row.arrivedAtUs) }).toEqual({
      total: 1,
      at: [NEW_YEAR_US + 90 * DAY_US],
    });
    const database = new Database(join(opened.dataDir, "usage.db"), { readonly: true });
    expect(database.query("SELECT sum(requests) AS n FROM hour_total").get()).toEqual({ n: 6002 });
    expect(database.query("SELECT sum(requests) AS n FROM month_total").get()).toEqual({ n: 6002 });
    database.close();
  });
});

describe("the last use of a key", () => {
  test("is readable right away, outlives the process, and never goes back", async () => {
    const first = await open();
    first.keyUse.saveLastUsed("key-1", 10);
    first.keyUse.saveLastUsed("key-2", 20);
    expect(await first.keyUse.loadLastUsed(["key-1", "key-2", "never"])).toEqual(
      new Map([
        ["key-1", 10],
        ["key-2", 20],
      ]),
    );
    await first.close();
    const second = await open({ dataDir: first.dataDir });
    second.keyUse.saveLastUsed("key-1", 5);
    expect((await second.keyUse.loadLastUsed(["key-1"])).get("key-1")).toBe(10);
  });
});

describe("a data folder that may not be written", () => {
  test("is a permission error that names the file", async () => {
    if (process.getuid?.() === 0) return;
    const dataDir = makeDataDir();
    chmodSync(dataDir, 0o500);
    cleanups.push(() => chmodSync(dataDir, 0o700));
    expect(await codeOf(open({ dataDir }))).toStartWith("permission: ");
  });
});
