import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sha256Hex } from "#kernel/crypto.ts";
import { SetupError } from "#kernel/errors.ts";
import { EVERY_PROVIDER, NO_FILTER } from "#stats/filter.ts";
import type { StatsQuery } from "#stats/store.ts";
import { openLedger } from "#storage/sqlite/ledger/ledger.ts";
import type { LedgerReader } from "#storage/engine.ts";
import { openLedgerReader } from "#storage/sqlite/ledger/ledger-reader.ts";
import { makeFolder } from "../support/folder.ts";
import { createManualClock, createTestLog, ENDING, NEW_YEAR_US, SUBJECT } from "./usage.ts";

const ALL: StatsQuery = {
  window: { sinceUs: null, untilUs: null },
  filter: NO_FILTER,
  providers: EVERY_PROVIDER,
  principalId: null,
};
const PAGE = { limit: 10, offset: 0 };
const CONTEXT = { nowUs: NEW_YEAR_US, providerNames: new Map<string, string>() };

let folder: ReturnType<typeof makeFolder>;
let reader: LedgerReader;
const { log } = createTestLog();
beforeEach(() => {
  folder = makeFolder();
  reader = openLedgerReader({ dataDir: folder.path, log });
});
afterEach(async () => {
  await reader.close();
  folder.remove();
});

const openWriter = () =>
  openLedger({
    dataDir: folder.path,
    clock: createManualClock(NEW_YEAR_US),
    log,
    sync: "interval",
    retentionDays: null,
  });

describe("a reader beside the ledger's own process", () => {
  test("takes no lock, and has after settling what had ended before", async () => {
    const writer = await openWriter();
    for (let count = 1; count <= 5; count += 1) {
      const usage = writer.ledger.open({ ...SUBJECT, arrivedAtUs: NEW_YEAR_US + count });
      await usage.end(ENDING);
      expect(await reader.settle()).toBe(0);
      expect((await reader.stats.listRequests(ALL, PAGE)).total).toBe(count);
    }
    await writer.close();
    // The folder is free for the next server while the reader is open.
    const next = await openWriter();
    expect((await reader.stats.listRequests(ALL, PAGE)).total).toBe(5);
    await next.close();
  });

  test("of a folder without a ledger has empty reports and makes nothing; once there is one it reads it", async () => {
    expect(await reader.settle()).toBe(0);
    expect(await reader.stats.listRequests(ALL, PAGE)).toMatchObject({ rows: [], total: 0 });
    expect((await reader.stats.readSeries({ ...ALL, bucket: "day", nowUs: NEW_YEAR_US })).buckets).toEqual(
      [],
    );
    const summary = await reader.stats.readSummary({
      ...ALL,
      grouping: "team",
      format: "json",
      context: CONTEXT,
    });
    expect(await new Blob([...summary.chunks]).json()).toEqual({ usage: [] });
    expect(await reader.loadLastUsed(["key-1"])).toEqual(new Map());
    expect(readdirSync(folder.path)).toEqual([]);

    const writer = await openWriter();
    await writer.ledger.open(SUBJECT).end(ENDING);
    await writer.close();
    expect((await reader.stats.listRequests(ALL, PAGE)).total).toBe(1);
  });

  test("refuses a file of another version and one that is no ledger, and changes neither", async () => {
    await (await openWriter()).close();
    const path = join(folder.path, "usage.db");
    const change = (statement: string) => {
      const database = new Database(path);
      database.run(statement);
      database.close();
    };
    for (const [statement, sentence] of [
      ["PRAGMA user_version = 99", "newer lockport"],
      ["PRAGMA application_id = 7", "not a usage database"],
    ] as const) {
      change(statement);
      const before = sha256Hex(readFileSync(path));
      const refusal = await reader.stats.listRequests(ALL, PAGE).catch((cause: unknown) => cause);
      expect(refusal).toBeInstanceOf(SetupError);
      expect(String(refusal)).toContain(sentence);
      expect(sha256Hex(readFileSync(path))).toBe(before);
    }
  });
});
