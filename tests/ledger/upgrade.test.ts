import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { BUCKETS } from "#stats/bucket.ts";
import {
  openForReading,
  openForWriting,
  prepareUsageDatabase,
} from "#storage/sqlite/ledger/file/database.ts";
import { listRequests } from "#storage/sqlite/ledger/reports/request-log.ts";
import { readSeries } from "#storage/sqlite/ledger/reports/series.ts";
import { upgradeUsageDatabase } from "#storage/sqlite/ledger/write/upgrade.ts";
import { UsageWriter } from "#storage/sqlite/ledger/write/writer.ts";
import { makeFolder } from "../support/folder.ts";
import schema1Sql from "./schema-1.sql" with { type: "text" };
import { createTestLog, DAY_US, EVERYTHING, NEW_YEAR_US, SUBJECT, toBeginLine } from "./usage.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

let counter = 0;

/** A usage.db as the version before left it: committed to its file and, in part, to its write-ahead log. */
function makeFirst(damage = ""): string {
  counter += 1;
  const directory = join(folder.path, String(counter));
  mkdirSync(directory);
  const path = join(directory, "usage.db");
  const database = new Database(path);
  database.run("PRAGMA journal_mode = WAL");
  database.run(schema1Sql);
  database.run("INSERT INTO open_request VALUES (7, ?)", [toBeginLine(7, SUBJECT)]);
  if (damage !== "") database.run(damage);
  database.close();
  return path;
}

function readAll(path: string, sql: string): unknown[] {
  // As the product opens it: a file that a kill has left may have to be rolled back first.
  const database = new Database(path, { readwrite: true });
  try {
    return database.query(sql).all();
  } finally {
    database.close();
  }
}

const EVENT_COLUMNS = `e.id, e.combination, outcome, error_kind, status_code, streamed, prices, duration_us, first_byte_us,
  cost_hi, cost_lo, input_tokens, output_tokens, cached_input_tokens, audio_seconds, cache_creation_tokens`;
const EVENTS_1 = `SELECT ${EVENT_COLUMNS} FROM event e JOIN result r ON r.id = result JOIN price_set p ON p.id = price_set
  ORDER BY e.id`;
const EVENTS_2 = `SELECT ${EVENT_COLUMNS} FROM event e JOIN manner m ON m.id = manner JOIN result r ON r.id = m.result
  JOIN price_set p ON p.id = m.price_set ORDER BY e.id`;
const KEPT_TABLES = [
  "ledger_state",
  "open_request",
  "combination",
  "tag",
  "combination_tag",
  "result",
  "price_set",
  "hour_total",
  "day_total",
  "sealed_day_total",
  "month_total",
  "key_use",
];
/** So few that some values have totals, some later than others, and some have none. */
const FEW_DIMENSIONS = { dayRowsMin: 20, dayRowsMinOfMany: 20, valuesMax: 9 };
const BACKUP = ".before-schema-2";

function expectUpgraded(path: string): void {
  const before = makeFirst();
  const events = readAll(before, EVENTS_1);
  expect(events.length).toBeGreaterThan(100);
  expect(readAll(path, EVENTS_2)).toEqual(events);
  for (const table of KEPT_TABLES) {
    expect([table, readAll(path, `SELECT * FROM ${table}`)]).toEqual([
      table,
      readAll(before, `SELECT * FROM ${table}`),
    ]);
  }
  expect(readAll(path, "PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
  expect(readAll(path, "PRAGMA user_version")).toEqual([{ user_version: 2 }]);
}

describe("a usage.db of schema 1", () => {
  test("keeps every event, total, open request and key use, and the file as it was stays beside it", () => {
    const path = makeFirst();
    const { log, lines } = createTestLog();
    prepareUsageDatabase(path, log);
    expect(readdirSync(join(path, "..")).sort()).toEqual(["usage.db", `usage.db${BACKUP}`]);
    expectUpgraded(path);
    expect(readAll(path + BACKUP, EVENTS_1)).toEqual(readAll(makeFirst(), EVENTS_1));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(lines.join("")).toMatch(/seconds_about=\d+.*\n.*previous_file="usage\.db\.before-schema-2"/);
  });

  test("is upgraded once, and an up-to-date one is left alone without a word", () => {
    const path = makeFirst();
    prepareUsageDatabase(path);
    const { ino } = statSync(path);
    const { log, lines } = createTestLog();
    prepareUsageDatabase(path, log);
    expect(statSync(path).ino).toBe(ino);
    expect(lines).toEqual([]);
  });

  test("answers every report as its rows add up, by any dimension", () => {
    const path = makeFirst();
    upgradeUsageDatabase(path, FEW_DIMENSIONS);
    const kinds = readAll(path, "SELECT DISTINCT kind FROM dimension ORDER BY kind");
    expect(kinds.length).toBeGreaterThan(3);
    const database = openForReading(path);
    const nowUs = NEW_YEAR_US + 70 * DAY_US;
    for (const [filter, where] of [
      [{}, "true"],
      [{ clientPrefix: "curl" }, "client GLOB 'curl*'"],
      [{ principal: "bob" }, "principal_name = 'bob'"],
      [{ keyId: "key-1" }, "key_id = 'key-1'"],
      [{ model: "fast" }, "model = 'fast'"],
      [{ tags: ["app:checkout"] }, "tags LIKE '%app:checkout%'"],
      [{ tags: ["env:prod"], clientPrefix: "日" }, "tags LIKE '%env:prod%' AND client GLOB '日*'"],
    ] as const) {
      const query = { ...EVERYTHING, filter: { ...EVERYTHING.filter, ...filter } };
      const [expected] = readAll(
        path,
        `SELECT count(*) AS requests, sum(CAST(cost_hi * 1e9 + cost_lo AS INTEGER)) AS cost, sum(output_tokens) AS output
         FROM event JOIN combination c ON c.id = combination WHERE ${where}`,
      ) as { requests: number; cost: number; output: number }[];
      expect(expected?.requests).toBeGreaterThan(0);
      for (const bucket of BUCKETS.filter((each) => each !== "hour")) {
        const { buckets } = readSeries(database, { ...query, bucket, nowUs });
        const sum = (of: (each: (typeof buckets)[number]) => number) =>
          buckets.reduce((total, each) => total + of(each), 0);
        expect({
          requests: sum((each) => each.requests),
          cost: sum((each) => Number(each.costPico ?? 0n)),
          output: sum((each) => each.units.output_tokens ?? 0),
        }).toEqual(expected!);
      }
      expect(listRequests(database, query, { limit: 5, offset: 50 }).total).toBe(expected!.requests);
    }
    database.close();
  });

  test("goes on: the request that was open is recorded, and the next day is sealed into the same dimensions", () => {
    const path = makeFirst();
    upgradeUsageDatabase(path, FEW_DIMENSIONS);
    const before = readAll(path, "SELECT id, kind, value FROM dimension ORDER BY id");
    const writer = new UsageWriter({
      database: openForWriting(path),
      journalDirectory: join(path, ".."),
      onDamage: () => {},
      dimensionLimits: FEW_DIMENSIONS,
    });
    while (writer.sealDay(NEW_YEAR_US / DAY_US + 65));
    writer.close();
    const days = readAll(
      path,
      `SELECT d.kind, max(t.day) AS day FROM dimension_total t JOIN dimension d ON d.id = t.dimension
       WHERE d.kind = 'principal'`,
    );
    expect(days).toEqual([{ kind: "principal", day: NEW_YEAR_US / DAY_US + 62 }]);
    expect(
      readAll(path, "SELECT id, kind, value FROM dimension ORDER BY id").slice(0, before.length),
    ).toEqual(before);
  });

  test("with rows that refer to nothing is refused and left as it was", () => {
    const path = makeFirst("UPDATE event SET price_set = 99 WHERE id = (SELECT min(id) FROM event)");
    const events = readAll(path, "SELECT * FROM event");
    expect(() => prepareUsageDatabase(path)).toThrow(SetupError);
    expect(readAll(path, "SELECT * FROM event")).toEqual(events);
    expect(readAll(path, "PRAGMA user_version")).toEqual([{ user_version: 1 }]);
    expect(readdirSync(join(path, ".."))).not.toContain("usage.db.unfinished");
  });

  test("that another process has open is refused and left as it was", () => {
    const path = makeFirst();
    const other = new Database(path);
    other.run("BEGIN IMMEDIATE");
    expect(() => prepareUsageDatabase(path)).toThrow(SetupError);
    other.run("ROLLBACK");
    other.close();
    expect(readAll(path, EVENTS_1).length).toBeGreaterThan(100);
    prepareUsageDatabase(path);
    expectUpgraded(path);
  }, 20_000);
});

describe("an upgrade that was killed", () => {
  test("before the copy took its place begins anew, whatever it left behind", () => {
    const path = makeFirst();
    writeFileSync(`${path}.unfinished`, readFileSync(path).subarray(0, 10_000));
    linkSync(path, path + BACKUP);
    prepareUsageDatabase(path);
    expectUpgraded(path);
    expect(existsSync(`${path}.unfinished`)).toBe(false);
  });

  test("at any moment has changed all or nothing, and the next start finishes it", async () => {
    const whole: number[] = [];
    for (const delayMs of [0, 4, 8, 12, 16, 20, 25, 30, 40, 60]) {
      const path = makeFirst();
      const child = Bun.spawn({
        cmd: [process.execPath, join(import.meta.dir, "child-upgrade.ts"), path],
        stdout: "pipe",
        stderr: "inherit",
      });
      const { value } = await child.stdout.getReader().read();
      expect(Buffer.from(value ?? []).toString()).toStartWith("begins");
      // Where the kill falls is chance: every moment is to be as good.
      await Bun.sleep(delayMs);
      child.kill("SIGKILL");
      await child.exited;
      const [{ user_version: version } = { user_version: 0 }] = readAll(path, "PRAGMA user_version") as {
        user_version: number;
      }[];
      whole.push(version);
      const events = readAll(path, version === 1 ? EVENTS_1 : EVENTS_2);
      expect(events.length).toBe(readAll(makeFirst(), EVENTS_1).length);
      prepareUsageDatabase(path);
      expectUpgraded(path);
    }
    expect(whole.every((version) => version === 1 || version === 2)).toBe(true);
  }, 20_000);
});

test("a usage.db of a later schema is refused and left as it was", () => {
  const path = makeFirst("PRAGMA user_version = 3");
  const events = readAll(path, EVENTS_1);
  expect(() => prepareUsageDatabase(path)).toThrow("newer lockport");
  expect(readAll(path, EVENTS_1)).toEqual(events);
});
