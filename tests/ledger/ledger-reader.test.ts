import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sha256Hex } from "#kernel/crypto.ts";
import { SetupError } from "#kernel/errors.ts";
import { EVERY_PROVIDER, filterBy } from "#stats/filter.ts";
import type { StatsQuery } from "#stats/store.ts";
import type { LedgerReader } from "#storage/engine.ts";
import { openLedgerReader } from "#storage/ledger-reader.ts";
import { findLedger } from "#storage/sqlite/ledger/ledger.ts";
import { makeFolder } from "../support/folder.ts";
import { createManualClock, createTestLog, NEW_YEAR_US } from "./usage.ts";
import { openLedger } from "../support/ledger.ts";

const ALL: StatsQuery = {
  window: { sinceUs: null, untilUs: null },
  filter: filterBy({}),
  providers: EVERY_PROVIDER,
  principalId: null,
};
const PAGE = { limit: 10, offset: 0 };

let folder: ReturnType<typeof makeFolder>;
let reader: LedgerReader;
const { log } = createTestLog();
beforeEach(() => {
  folder = makeFolder();
  reader = openLedgerReader(findLedger(folder.path), log);
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
