import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { join } from "node:path";
import { compareWithTotals } from "#limits/limit-check.ts";
import type { Limit } from "#limits/limit.ts";
import type { LimitCheck } from "#storage/engine.ts";
import { sqliteEngine } from "#storage/sqlite/engine.ts";
import { LIMIT } from "../limits/limit.ts";
import { checkLedger } from "../support/invariants.ts";
import { makeFolder } from "../support/folder.ts";
import { scale } from "../support/scale.ts";
import {
  arbitraryUsage,
  DAY_US,
  ENDING,
  NEW_YEAR_US,
  type RandomUsage,
  SUBJECT,
  writeUsages,
  type WriteOptions,
} from "./usage.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

let counter = 0;

function makeLedger(usages: readonly RandomUsage[], options: WriteOptions = {}): string {
  counter += 1;
  const dataDir = join(folder.path, String(counter));
  const { reader, writer } = writeUsages(dataDir, usages, options);
  reader.close();
  writer.close();
  return dataDir;
}

function toLimit(fields: Partial<Limit>): Limit {
  const id = JSON.stringify({ ...fields, amount: 0 });
  return { ...LIMIT, measure: "cost", amount: 1n, window: "month", id, name: id, ...fields };
}

const LIMITS: readonly Limit[] = [
  ...(["minute", "hour", "day", "week", "month", "total"] as const).flatMap((window) => [
    toLimit({ window }),
    toLimit({ window, measure: "requests", each: { kind: "principal" } }),
    toLimit({ window, measure: "tokens", each: { kind: "tag", key: "app" } }),
    toLimit({ window, measure: "uncached_tokens", each: { kind: "key" } }),
  ]),
  toLimit({ window: "total", subject: { kind: "key", id: "key-1" }, model: "fast" }),
  toLimit({ window: "month", subject: { kind: "tag", pair: "env:prod" }, each: { kind: "key" } }),
];

function toPlace(dataDir: string) {
  return { dataDir, database: { kind: "sqlite", path: join(dataDir, "catalog.db") } } as const;
}

async function check(dataDir: string, nowUs: number): Promise<LimitCheck> {
  const signal = new AbortController().signal;
  const checked = await sqliteEngine.checkLimits({
    ...toPlace(dataDir),
    limits: LIMITS,
    nowUs,
    onShare: () => {},
    signal,
  });
  if (checked === null) throw new Error("there is no ledger");
  return checked;
}

describe("lockport limit check", () => {
  test("finds nothing in a ledger, however it came about: late events, long ones, sealed days, removed rows", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(arbitraryUsage, { minLength: 1, maxLength: 30 }),
        fc.array(arbitraryUsage, { maxLength: 5 }),
        fc.constantFrom(0, 1, 31, 59, 101),
        fc.constantFrom(0, 1, 30, 59),
        fc.constantFrom(0, 599_999_999, 600_000_000, 2 * DAY_US, 40 * DAY_US),
        async (usages, late, sealedDays, prunedDays, longUs) => {
          const [first, ...rest] = usages;
          const long = { ...first!, ending: { ...first!.ending, durationUs: longUs } };
          const dataDir = makeLedger([long, ...rest], {
            late,
            sealBeforeUs: NEW_YEAR_US + sealedDays * DAY_US,
            pruneBeforeUs: prunedDays === 0 ? 0 : NEW_YEAR_US + prunedDays * DAY_US + 1_800_000_000,
          });
          for (const day of [0, 1.5, 31, 60]) {
            const checked = await check(dataDir, NEW_YEAR_US + day * DAY_US + 5_000_000);
            expect(compareWithTotals(LIMITS, checked)).toEqual([]);
            if (prunedDays === 0) expect(toText(checked.byTotals)).toBe(toText(checked.whole));
          }
          // An oracle that reads the events one by one says so too.
          checkLedger(dataDir);
        },
      ),
      { numRuns: 12 * scale },
    );
  }, 120_000);

  test("finds what totals have and events have not, in the limits that count it and in no other", async () => {
    const one = (keyId: string, index: number): RandomUsage => ({
      subject: { ...SUBJECT, keyId, arrivedAtUs: NEW_YEAR_US + index },
      ending: ENDING,
    });
    const dataDir = makeLedger([one("key-1", 0), one("key-1", 1), one("key-2", 2)]);
    const database = new Database(join(dataDir, "usage.db"));
    database.run("DELETE FROM event WHERE id = (SELECT min(id) FROM event)");
    database.close();
    const limits = ["key-1", "key-2"].map((id) =>
      toLimit({ window: "month", measure: "requests", subject: { kind: "key", id } }),
    );
    const signal = new AbortController().signal;
    const options = { limits, nowUs: NEW_YEAR_US + 5, onShare: () => {}, signal };
    const checked = await sqliteEngine.checkLimits({ ...toPlace(dataDir), ...options });
    expect(compareWithTotals(limits, checked!)).toEqual([
      { limit: limits[0]!, of: "used", label: "", what: "totals", expected: 1, told: 2 },
      { limit: limits[0]!, of: "unpriced_requests", label: "", what: "totals", expected: 1, told: 2 },
    ]);
  });

  test("of a window that retention has cut compares what came later, and says from when on", async () => {
    const usages = [0, 10, 20].map((day): RandomUsage => ({
      subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + day * DAY_US },
      ending: ENDING,
    }));
    const dataDir = makeLedger(usages, {
      sealBeforeUs: NEW_YEAR_US + 15 * DAY_US,
      pruneBeforeUs: NEW_YEAR_US + 5 * DAY_US + 1,
    });
    const limit = toLimit({ window: "month", measure: "requests" });
    const signal = new AbortController().signal;
    const options = { limits: [limit], nowUs: NEW_YEAR_US + 25 * DAY_US, onShare: () => {}, signal };
    const checked = await sqliteEngine.checkLimits({ ...toPlace(dataDir), ...options });
    expect(checked).toMatchObject({ events: 2, rowsFromUs: NEW_YEAR_US + 6 * DAY_US });
    const amounts = ({ byRows, byTotals, whole }: LimitCheck) =>
      [byRows, byTotals, whole].map((sums) => sums[0]?.parts[0]?.amount);
    expect(amounts(checked!)).toEqual([2n, 2n, 3n]);
  });
});

/** Without what is zero: what was carried to another window leaves that. */
function toText(sums: LimitCheck["whole"]): string {
  return sums
    .flatMap(({ limitId, value, parts }) =>
      parts
        .filter(({ amount, unpriced, unknown }) => amount !== 0n || unpriced !== 0 || unknown !== 0)
        .map(
          ({ startUs, amount, unpriced, unknown }) =>
            `${limitId} ${value} ${startUs} ${amount} ${unpriced} ${unknown}`,
        ),
    )
    .sort()
    .join("\n");
}
