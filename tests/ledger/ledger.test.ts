import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { getPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { openLedgerReader } from "#storage/ledger-reader.ts";
import { findLedger } from "#storage/sqlite/ledger/ledger.ts";
import type { OpenedLedger } from "#storage/threads/ledger.ts";
import { APPLICATION_ID } from "#storage/sqlite/ledger/file/schema.ts";
import { busyLimit, timed } from "../support/waiting.ts";
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
import { openLedger } from "../support/ledger.ts";

const PAGE = { limit: 100, offset: 0 };
const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Setup {
  readonly dataDir?: string;
  readonly clock?: ManualClock;
  readonly sync?: "interval" | "request" | "database";
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

/** Until the test ends. */
function replaceWorker(replacement: typeof Worker): void {
  const real = globalThis.Worker;
  globalThis.Worker = replacement;
  cleanups.push(() => void (globalThis.Worker = real));
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
  test("keeps its files to their owner", async () => {
    const { dataDir, ...opened } = await open();
    await record(opened, NEW_YEAR_US);
    await opened.ledger.flush();
    const names = ["usage.db", "usage.db-wal", join("journal", readdirSync(join(dataDir, "journal"))[0]!)];
    for (const name of names) expect([name, statSync(join(dataDir, name)).mode & 0o077]).toEqual([name, 0]);
  });

  test.each<readonly [what: string, make: (path: string) => void, sentence: string]>([
    [
      "newer",
      (path) => runSql(path, `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 99`),
      "newer lockport",
    ],
    // The version of this schema, an older one and a newer one: another program counts from one as well.
    ...[0, 1, 99].map(
      (version) =>
        [
          `foreign (version ${version})`,
          (path: string) => runSql(path, `CREATE TABLE mine (id); PRAGMA user_version = ${version}`),
          "not a usage database",
        ] as const,
    ),
    ["damaged", (path) => writeFileSync(path, "this is no database at all, ".repeat(200)), "damaged"],
  ])(
    "refuses a %s usage.db to a server and to a reader, which changes nothing in it",
    async (_, make, sentence) => {
      const dataDir = makeDataDir();
      const path = join(dataDir, "usage.db");
      make(path);
      const before = readFileSync(path);
      const { log } = createTestLog();
      const reader = openLedgerReader(findLedger(dataDir), log);
      const asked = await codeOf(reader.stats.listRequests(EVERYTHING, PAGE));
      await reader.close();
      expect(readFileSync(path).equals(before)).toBe(true);
      for (const refusal of [asked, await codeOf(open({ dataDir }))]) {
        expect(refusal).toStartWith("configuration: ");
        expect(refusal).toContain(sentence);
      }
      expect(existsSync(join(dataDir, "journal"))).toBe(false);
    },
  );
});

function runSql(path: string, sql: string): void {
  const database = new Database(path);
  database.run(sql);
  database.close();
}

describe.skipIf(process.platform !== "linux")("the threads of the ledger", () => {
  test("stand behind the serving thread wherever both want one core", async () => {
    const { ledger, stats } = await open();
    await ledger.flush();
    await stats.listRequests(EVERYTHING, PAGE);
    const lower = readdirSync("/proc/self/task").map(Number).filter(isLower);
    // The writer and the reader.
    expect(lower.length).toBeGreaterThanOrEqual(2);
    expect(lower).not.toContain(process.pid);
  });

  function isLower(id: number): boolean {
    try {
      return getPriority(id) > getPriority(process.pid);
    } catch {
      // A thread of the runtime's own that has just ended.
      return false;
    }
  }
});

describe("a ledger that cannot be opened", () => {
  test.if(process.platform === "linux")(
    "leaves no file of the journal open and the folder free",
    async () => {
      const dataDir = makeDataDir();
      const real = globalThis.Worker;
      replaceWorker(
        class extends Worker {
          constructor(url: string | URL) {
            super(url);
            this.terminate();
            throw new Error("no thread can be started");
          }
        },
      );
      expect(await codeOf(open({ dataDir }))).toContain("no thread can be started");
      expect(listOpenFiles(join(dataDir, "journal"))).toEqual([]);
      globalThis.Worker = real;
      await open({ dataDir });
    },
  );
});

function listOpenFiles(path: string): string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const target = readlinkSync(join("/proc/self/fd", fd));
      return target.startsWith(path) ? [target] : [];
    } catch {
      // The one that the folder was read with.
      return [];
    }
  });
}

/** Another process's write lock, taken when the writer lets go: the ledger is maintained as it starts. */
function lockUsage(dataDir: string): Database {
  const database = new Database(join(dataDir, "usage.db"));
  database.run("PRAGMA busy_timeout = 5000");
  database.run("BEGIN IMMEDIATE");
  return database;
}

describe("usage.db locked by another process", () => {
  test("loses nothing and blocks nobody: events are there when the lock is gone", async () => {
    const opened = await open();
    await record(opened, NEW_YEAR_US);
    await opened.ledger.flush();
    const other = lockUsage(opened.dataDir);
    const { tookMs } = await timed(async () => {
      for (let index = 1; index <= 500; index += 1) await record(opened, NEW_YEAR_US + index);
    });
    expect(tookMs).toBeLessThan(busyLimit(2_000));
    // Reports answer with what is committed instead of waiting for the lock.
    expect((await opened.stats.listRequests(EVERYTHING, PAGE)).total).toBe(1);
    opened.keyUse.saveLastUsed("key-1", NEW_YEAR_US);
    other.run("ROLLBACK");
    other.close();
    await opened.ledger.flush();
    expect((await opened.stats.listRequests(EVERYTHING, PAGE)).total).toBe(501);
  }, 20_000);

  test("holds up the end of a request that waits for the database, and no other", async () => {
    const opened = await open({ sync: "database" });
    await record(opened, NEW_YEAR_US);
    expect((await opened.stats.listRequests(EVERYTHING, PAGE)).total).toBe(1);
    const other = lockUsage(opened.dataDir);
    let isEnded = false;
    const ended = record(opened, NEW_YEAR_US + 1).then(() => (isEnded = true));
    // It has failed to commit at least once by now.
    while (opened.gauges().writerFailures === 0) await Bun.sleep(1);
    expect(isEnded).toBe(false);
    const interval = await open();
    await record(interval, NEW_YEAR_US);
    other.run("ROLLBACK");
    other.close();
    await ended;
    expect(opened.gauges().writerEvents).toBe(2);
  });

  test("has a request refused before it goes upstream once the database has confirmed nothing for ten seconds, where ends wait for it", async () => {
    let laterMs = 0;
    const clock = { ...createManualClock(), monotonicMs: () => performance.now() + laterMs };
    const opened = await open({ sync: "database", clock });
    const interval = await open({ clock });
    const locks = [opened, interval].map(({ dataDir }) => lockUsage(dataDir));
    const under = opened.ledger.open({ ...SUBJECT, arrivedAtUs: NEW_YEAR_US });
    interval.ledger.open({ ...SUBJECT, arrivedAtUs: NEW_YEAR_US });
    await opened.ledger.written();
    expect(() => opened.ledger.open({ ...SUBJECT, arrivedAtUs: NEW_YEAR_US + 1 })).not.toThrow();
    laterMs = 10_001;
    expect(() => opened.ledger.open({ ...SUBJECT, arrivedAtUs: NEW_YEAR_US + 2 })).toThrow(
      "the database does not confirm it",
    );
    expect(() => interval.ledger.open({ ...SUBJECT, arrivedAtUs: NEW_YEAR_US + 2 })).not.toThrow();
    for (const lock of locks) {
      lock.run("ROLLBACK");
      lock.close();
    }
    // What was under way is recorded all the same, and the next one is taken again.
    await under.end(ENDING);
    await record(opened, NEW_YEAR_US + 3);
    expect(opened.gauges().writerEvents).toBe(2);
  });

  test("is asked for one flush at a time, however many wait, and each of them sees what ended before it", async () => {
    let asked = 0;
    replaceWorker(
      class extends Worker {
        override postMessage(...message: [any, any?]): void {
          if (message[0].name === "flush") asked += 1;
          super.postMessage(...message);
        }
      },
    );
    const opened = await open();
    const other = lockUsage(opened.dataDir);
    const flushes: Promise<void>[] = [];
    for (let index = 0; index < 50; index += 1) {
      await record(opened, NEW_YEAR_US + index);
      flushes.push(opened.ledger.flush());
    }
    expect(asked).toBe(1);
    other.run("ROLLBACK");
    other.close();
    await Promise.all(flushes);
    expect(asked).toBe(2);
    const database = new Database(join(opened.dataDir, "usage.db"), { readonly: true });
    expect(database.query("SELECT count(*) AS n FROM event").get()).toEqual({ n: 50 });
    database.close();
  }, 20_000);
});

describe("a flush that fails", () => {
  test("is a warning: the report is read all the same, and closing still lets go of the folder", async () => {
    let isFailing = false;
    replaceWorker(
      class extends Worker {
        override postMessage(...message: [any, any?]): void {
          if (isFailing && message[0].name === "flush") throw new Error("the thread takes no message");
          super.postMessage(...message);
        }
      },
    );
    const opened = await open();
    await record(opened, NEW_YEAR_US);
    await opened.ledger.flush();
    isFailing = true;
    expect((await opened.stats.listRequests(EVERYTHING, PAGE)).total).toBe(1);
    expect(opened.lines.some((line) => line.includes("could not be committed yet"))).toBe(true);
    await opened.close();
    isFailing = false;
    await open({ dataDir: opened.dataDir });
  });
});

describe("a reader Worker that dies before it was ready", () => {
  test("fails the question that started it, and the next question starts another", async () => {
    let readers = 0;
    replaceWorker(
      class extends Worker {
        constructor(url: string | URL) {
          super(url);
          if (!String(url).includes("reader")) return;
          readers += 1;
          if (readers === 1) this.terminate();
        }
      },
    );
    const opened = await open();
    await record(opened, NEW_YEAR_US);
    await opened.ledger.flush();
    expect(await codeOf(opened.stats.listRequests(EVERYTHING, PAGE))).toContain("could not be read");
    expect((await opened.stats.listRequests(EVERYTHING, PAGE)).total).toBe(1);
    expect(readers).toBe(2);
  });
});

describe("a writer Worker that dies", () => {
  test("is started again and goes on where the last commit was", async () => {
    const workers: Worker[] = [];
    replaceWorker(
      class extends Worker {
        constructor(url: string | URL) {
          super(url);
          if (String(url).includes("writer")) workers.push(this);
        }
      },
    );
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
  test("that once went ahead of the present is taken back, also when rows are kept for ever now", async () => {
    const clock = createManualClock(NEW_YEAR_US + 40 * DAY_US);
    const { dataDir, ...first } = await open({ clock });
    await first.close();
    const database = new Database(join(dataDir, "usage.db"));
    database.run("PRAGMA busy_timeout = 5000");
    database.run("UPDATE ledger_state SET pruned_before_us = ?1, refused_before_us = ?1", [
      NEW_YEAR_US + 1500 * DAY_US,
    ]);
    database.close();
    const second = await open({ dataDir, clock });
    await second.maintain();
    await record(second, clock.now - 1);
    await record(second, clock.now);
    // What a clock ahead has removed stays removed; what comes from now on is kept.
    expect(await listArrivals(second)).toEqual([clock.now]);
  });
});

async function listArrivals({ stats }: Pick<OpenedLedger, "stats">): Promise<number[]> {
  const { rows, total } = await stats.listRequests(EVERYTHING, PAGE);
  expect(total).toBe(rows.length);
  return rows.map((row) => row.arrivedAtUs);
}

describe("a data folder that may not be written", () => {
  test("is a permission error that names the file", async () => {
    if (process.getuid?.() === 0) return;
    const dataDir = makeDataDir();
    chmodSync(dataDir, 0o500);
    cleanups.push(() => chmodSync(dataDir, 0o700));
    expect(await codeOf(open({ dataDir }))).toStartWith("permission: ");
  });
});
