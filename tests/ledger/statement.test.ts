import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { readStatement } from "#storage/reports/statement.ts";
import { scale } from "../support/scale.ts";
import { arbitraryCase, openUsages } from "./reports.ts";
import { DAY_US, ENDING, EVERYTHING, NEW_YEAR_US, SUBJECT } from "./usage.ts";

const MONTH = { ...EVERYTHING, window: { sinceUs: NEW_YEAR_US, untilUs: NEW_YEAR_US + 31 * DAY_US } };
const AS_WRITTEN = { sealBeforeUs: 0, pruneBeforeUs: 0, late: [] };

describe("the statement of a month", () => {
  test("has one hash and one cost for the same events in any order, sealed or not, and after their rows were removed", () => {
    fc.assert(
      fc.property(arbitraryCase, ({ usages, ...options }) => {
        using ledger = openUsages(usages, options);
        using reversed = openUsages(usages.toReversed(), AS_WRITTEN);
        const found = ledger.read(readStatement(MONTH));
        expect(reversed.read(readStatement(MONTH))).toEqual({ ...found, snapped: null });
        const costs = usages
          .filter(({ subject }) => subject.arrivedAtUs < MONTH.window.untilUs)
          .map(({ ending }) => ending.costPico ?? 0n);
        expect(found.total.costPico ?? 0n).toBe(costs.reduce((sum, cost) => sum + cost, 0n));
      }),
      { numRuns: 20 * scale },
    );
  }, 30_000);

  test("has another hash where one cost differs by the smallest amount, or one tag", () => {
    const hashOf = (subject = SUBJECT, ending = ENDING) => {
      using ledger = openUsages([{ subject: { ...subject, arrivedAtUs: NEW_YEAR_US }, ending }], AS_WRITTEN);
      return ledger.read(readStatement(MONTH)).hash;
    };
    const hash = hashOf();
    expect(hashOf()).toBe(hash);
    expect(hashOf(SUBJECT, { ...ENDING, costPico: (ENDING.costPico ?? 0n) + 1n })).not.toBe(hash);
    expect(hashOf({ ...SUBJECT, tags: ["team:other"] })).not.toBe(hash);
  });

  test("is refused beyond the sums that are held in memory", () => {
    const usages = ["a", "b", "c"].map((model, index) => ({
      subject: { ...SUBJECT, model, arrivedAtUs: NEW_YEAR_US + index },
      ending: ENDING,
    }));
    using ledger = openUsages(usages, AS_WRITTEN);
    expect(() => ledger.read(readStatement(MONTH, 2))).toThrow("2 at most");
  });
});
