import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { getPriority } from "node:os";
import { join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { openLedgerReader } from "#storage/ledger-reader.ts";
import { findLedger } from "#storage/sqlite/ledger/ledger.ts";
import { prepareUsageDatabase } from "#storage/sqlite/ledger/file/database.ts";
import { APPLICATION_ID } from "#storage/sqlite/ledger/file/schema.ts";
import { serveLedger } from "../support/ledger.ts";
import { busyLimit, timed } from "../support/waiting.ts";
import { makeDirectory } from "./journal-bench.ts";
import {
  createManualClock,
  createTestLog,
  DAY_US,
  ENDING,
  EVERYTHING,
  NEW_YEAR_US,
  SUBJECT,
} from "./usage.ts";
import { LIMIT } from "../limits/limit.ts";

const PAGE = { limit: 100, offset: 0 };
const subjectAt = (later: number) => ({ ...SUBJECT, arrivedAtUs: NEW_YEAR_US + later });

/** Sees each start of a thread, and each message to one, until the end of the test. */
function watchWorker({
  onStart = () => {},
  onMessage = () => {},
}: {
  readonly onStart?: (worker: Worker, url: string) => void;
  readonly onMessage?: (name: string) => void;
}): Disposable {
  const real = globalThis.Worker;
  globalThis.Worker = class extends Worker {
    constructor(url: string | URL) {
      super(url);
      onStart(this, String(url));
    }
    override postMessage(...message: [any, any?]): void {
      onMessage(message[0].name);
      super.postMessage(...message);
    }
  };
  return { [Symbol.dispose]: () => void (globalThis.Worker = real) };
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "fulfilled";
  } catch (cause) {
    return cause instanceof SetupError ? `${cause.kind}: ${cause.message}` : String(cause);
  }
}

function runSql(path: string, sql: string): void {
  using database = new Database(path);
  database.run("PRAGMA busy_timeout = 5000");
  database.run(sql);
}

/** Another process's write lock, taken when the writer lets go: the ledger is maintained as it starts. */
function lockUsage(dataDir: string): Disposable {
  const database = new Database(join(dataDir, "usage.db"));
  database.run("PRAGMA busy_timeout = 5000");
  database.run("BEGIN IMMEDIATE");
  return {
    [Symbol.dispose]() {
      if (database.inTransaction) database.run("ROLLBACK");
      database.close();
    },
  };
}

describe("the ledger", () => {
  test("keeps its files to their owner", async () => {
    await using opened = await serveLedger();
    await opened.record(0);
    await opened.ledger.flush();
    const { dataDir } = opened;
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
      const dataDir = makeDirectory();
      const path = join(dataDir, "usage.db");
      make(path);
      const before = readFileSync(path);
      const reader = openLedgerReader(findLedger(dataDir), createTestLog().log);
      const asked = await codeOf(reader.stats.listRequests(EVERYTHING, PAGE));
      await reader.close();
      expect(readFileSync(path).equals(before)).toBe(true);
      for (const refusal of [asked, await codeOf(serveLedger({ dataDir }))]) {
        expect(refusal).toStartWith("configuration: ");
        expect(refusal).toContain(sentence);
      }
      expect(existsSync(join(dataDir, "journal"))).toBe(false);
    },
  );

  test.skipIf(process.getuid?.() === 0)(
    "in a data folder that may not be written is a permission error that names the file",
    async () => {
      const dataDir = makeDirectory();
      chmodSync(dataDir, 0o500);
      expect(await codeOf(serveLedger({ dataDir }))).toStartWith("permission: ");
      chmodSync(dataDir, 0o700);
    },
  );

  test.if(process.platform === "linux")(
    "that cannot be opened leaves no file of the journal open and the folder free",
    async () => {
      const dataDir = makeDirectory();
      {
        using _threads = watchWorker({
          onStart(worker) {
            worker.terminate();
            throw new Error("no thread can be started");
          },
        });
        expect(await codeOf(serveLedger({ dataDir }))).toContain("no thread can be started");
      }
      expect(listOpenFiles(join(dataDir, "journal"))).toEqual([]);
      await using _opened = await serveLedger({ dataDir });
    },
  );

  test("takes a retention back that once went ahead of the present, also when rows are kept for ever now", async () => {
    const [dataDir, clock] = [makeDirectory(), createManualClock(NEW_YEAR_US + 40 * DAY_US)];
    await (await serveLedger({ dataDir, clock })).close();
    const ahead = NEW_YEAR_US + 1500 * DAY_US;
    const path = join(dataDir, "usage.db");
    runSql(path, `UPDATE ledger_state SET pruned_before_us = ${ahead}, refused_before_us = ${ahead}`);
    await using second = await serveLedger({ dataDir, clock });
    await second.maintain();
    await second.record(40 * DAY_US - 1, 40 * DAY_US);
    // A row that a clock ahead has removed stays removed; what comes from now on is kept.
    const { rows } = await second.stats.listRequests(EVERYTHING, PAGE);
    expect(rows.map(({ arrivedAtUs }) => arrivedAtUs)).toEqual([clock.now]);
  });
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

describe("usage.db locked by another process", () => {
  test("loses nothing and blocks nobody: events are there when the lock is gone", async () => {
    await using opened = await serveLedger();
    await opened.record(0);
    await opened.ledger.flush();
    {
      using _lock = lockUsage(opened.dataDir);
      const later = Array.from({ length: 500 }, (_, index) => index + 1);
      expect((await timed(() => opened.record(...later))).tookMs).toBeLessThan(busyLimit(2_000));
      // Reports answer with what is committed instead of waiting for the lock.
      expect(await opened.countRecorded()).toBe(1);
      opened.keyUse.saveLastUsed("key-1", NEW_YEAR_US);
    }
    await opened.ledger.flush();
    expect(await opened.countRecorded()).toBe(501);
  }, 20_000);

  test("holds up the end of a request that waits for the database, and no other", async () => {
    await using opened = await serveLedger({ ledgerSync: "database" });
    await opened.record(0);
    expect(await opened.countRecorded()).toBe(1);
    let isEnded = false;
    let ended;
    {
      using _lock = lockUsage(opened.dataDir);
      ended = opened.record(1).then(() => (isEnded = true));
      // It has failed to commit at least once by now.
      while (opened.gauges().writerFailures === 0) await Bun.sleep(1);
      expect(isEnded).toBe(false);
      await using interval = await serveLedger();
      await interval.record(0);
    }
    await ended;
    expect(opened.gauges().writerEvents).toBe(2);
  });

  test("has a request refused before it goes upstream once the database has confirmed nothing for ten seconds, where ends wait for it", async () => {
    let laterMs = 0;
    const clock = { ...createManualClock(), monotonicMs: () => performance.now() + laterMs };
    await using opened = await serveLedger({ ledgerSync: "database", clock });
    await using interval = await serveLedger({ clock });
    let under;
    {
      using _lock = lockUsage(opened.dataDir);
      using _other = lockUsage(interval.dataDir);
      under = opened.ledger.open(SUBJECT);
      interval.ledger.open(SUBJECT);
      await opened.ledger.written();
      expect(() => opened.ledger.open(subjectAt(1))).not.toThrow();
      laterMs = 10_001;
      expect(() => opened.ledger.open(subjectAt(2))).toThrow("the database does not confirm it");
      expect(() => interval.ledger.open(subjectAt(2))).not.toThrow();
    }
    // A request that was under way is recorded all the same, and the next one is taken again.
    await under.end(ENDING);
    await opened.ledger.open(subjectAt(3)).end(ENDING);
    expect(opened.gauges().writerEvents).toBe(2);
  });

  test("is asked for one flush at a time, however many wait, and each of them sees what ended before it", async () => {
    let asked = 0;
    using _threads = watchWorker({ onMessage: (name) => void (asked += Number(name === "flush")) });
    await using opened = await serveLedger();
    const flushes: Promise<void>[] = [];
    {
      using _other = lockUsage(opened.dataDir);
      for (let index = 0; index < 50; index += 1) {
        await opened.record(index);
        flushes.push(opened.ledger.flush());
      }
      expect(asked).toBe(1);
    }
    await Promise.all(flushes);
    expect(asked).toBe(2);
    using database = new Database(join(opened.dataDir, "usage.db"), { readonly: true });
    expect(database.query("SELECT count(*) AS n FROM event").get()).toEqual({ n: 50 });
  }, 20_000);
});

describe("sums for limits", () => {
  test("have what a restored database takes in of the journal, past a watermark that the server before has set", async () => {
    const dataDir = makeDirectory();
    const databasePath = join(dataDir, "usage.db");
    prepareUsageDatabase(databasePath);
    copyFileSync(databasePath, join(dataDir, "older"));
    const before = await serveLedger({ dataDir });
    await before.limitLedger.sumLimits([LIMIT], NEW_YEAR_US);
    await before.record(0);
    await before.close();
    copyFileSync(join(dataDir, "older"), databasePath);
    await using after = await serveLedger({ dataDir });
    const sums = await after.limitLedger.sumLimits([LIMIT], NEW_YEAR_US);
    expect(sums).toMatchObject([{ limitId: LIMIT.id, parts: [{ amount: 1n }] }]);
  });
});

describe("a thread of the ledger", () => {
  test("that takes no flush is a warning: the report is read all the same, and closing still lets go of the folder", async () => {
    const dataDir = makeDirectory();
    let isFailing = false;
    using _threads = watchWorker({
      onMessage(name) {
        if (isFailing && name === "flush") throw new Error("the thread takes no message");
      },
    });
    const opened = await serveLedger({ dataDir });
    await opened.record(0);
    await opened.ledger.flush();
    isFailing = true;
    expect(await opened.countRecorded()).toBe(1);
    expect(opened.lines.some((line) => line.includes("could not be committed yet"))).toBe(true);
    await opened.close();
    isFailing = false;
    await using _opened = await serveLedger({ dataDir });
  });

  test("that reads and dies before it was ready fails the question that started it, and the next question starts another", async () => {
    let readers = 0;
    using _threads = watchWorker({
      onStart(worker, url) {
        if (url.includes("reader") && (readers += 1) === 1) worker.terminate();
      },
    });
    await using opened = await serveLedger();
    await opened.record(0);
    await opened.ledger.flush();
    expect(await codeOf(opened.countRecorded())).toContain("could not be read");
    expect(await opened.countRecorded()).toBe(1);
    expect(readers).toBe(2);
  });

  test("that writes and dies is started again and goes on where the last commit was", async () => {
    const writers: Worker[] = [];
    using _threads = watchWorker({
      onStart: (worker, url) => void (url.includes("writer") && writers.push(worker)),
    });
    await using opened = await serveLedger();
    for (let round = 0; round < 3; round += 1) {
      await opened.record(...Array.from({ length: 50 }, (_, index) => round * 100 + index));
      const flushed = opened.ledger.flush();
      writers.at(-1)!.terminate();
      await flushed;
      expect(await opened.countRecorded()).toBe((round + 1) * 50);
    }
    expect(opened.lines.some((line) => line.includes("usage writer: ended"))).toBe(true);
  }, 20_000);

  test("that writes and has died is waited for by a close before its restart", async () => {
    const writers: Worker[] = [];
    using _threads = watchWorker({
      onStart: (worker, url) => void (url.includes("writer") && writers.push(worker)),
    });
    const opened = await serveLedger();
    const hasLine = (words: string) => opened.lines.some((line) => line.includes(words));
    await opened.record(0);
    writers[0]!.terminate();
    while (!hasLine("usage writer: ended")) await Bun.sleep(1);
    await opened.record(1);
    await opened.close();
    expect(writers).toHaveLength(2);
    expect(hasLine("closed before everything was committed")).toBe(false);
  });

  test.skipIf(process.platform !== "linux")(
    "stands behind the serving thread wherever both want one core",
    async () => {
      await using opened = await serveLedger();
      await opened.ledger.flush();
      await opened.countRecorded();
      const lower = readdirSync("/proc/self/task").map(Number).filter(isLower);
      // The writer and the reader.
      expect(lower.length).toBeGreaterThanOrEqual(2);
      expect(lower).not.toContain(process.pid);
    },
  );

  function isLower(id: number): boolean {
    try {
      return getPriority(id) > getPriority(process.pid);
    } catch {
      // A thread of the runtime's own that has just ended.
      return false;
    }
  }
});
