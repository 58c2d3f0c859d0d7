import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { findUnitPrice, UNITS } from "#kernel/units.ts";
import type { BilledUnit } from "#stats/store.ts";
import { readBilledDay } from "#storage/reports/billed-day.ts";
import { toBilledQuantities } from "#usage/cost.ts";
import { scale } from "../support/scale.ts";
import { arbitraryCase, openUsages } from "./reports.ts";
import { DAY_US, ENDING, EVERYTHING, NEW_YEAR_US, type RandomUsage, SUBJECT } from "./usage.ts";

const DAYS = 101;
const toWindow = (day: number) => ({
  sinceUs: NEW_YEAR_US + day * DAY_US,
  untilUs: NEW_YEAR_US + (day + 1) * DAY_US,
});

/** By brute force: what the events of a day cost, and how much of each unit has a price and has none. */
function toExpected(usages: readonly RandomUsage[], day: number) {
  const { sinceUs, untilUs } = toWindow(day);
  let costPico = 0n;
  const units: Record<string, number> = {};
  for (const { subject, ending } of usages) {
    if (subject.arrivedAtUs < sinceUs || subject.arrivedAtUs >= untilUs) continue;
    costPico += ending.costPico ?? 0n;
    const billed = ending.usage === null ? {} : toBilledQuantities(ending.usage);
    for (const unit of UNITS) {
      const key = `${unit} ${findUnitPrice(ending.prices, unit) === null ? "unpriced" : "priced"}`;
      if ((billed[unit] ?? 0) > 0) units[key] = (units[key] ?? 0) + (billed[unit] ?? 0);
    }
  }
  return { costPico, units: rounded(units) };
}

function toFound(rows: readonly BilledUnit[]) {
  const units: Record<string, number> = {};
  for (const { unit, quantity, costPico } of rows) {
    if (unit === null) continue;
    const key = `${unit} ${costPico === null ? "unpriced" : "priced"}`;
    units[key] = (units[key] ?? 0) + (quantity ?? 0);
  }
  return { costPico: rows.reduce((sum, row) => sum + (row.costPico ?? 0n), 0n), units: rounded(units) };
}

const rounded = (units: Record<string, number>) =>
  Object.fromEntries(Object.entries(units).map(([unit, quantity]) => [unit, Math.round(quantity * 1e3)]));

describe("what was billed on a day, by unit", () => {
  test("adds up to the events' costs to the pico, and each quantity is in one row; after retention the costs still do", () => {
    fc.assert(
      fc.property(arbitraryCase, ({ usages, ...options }) => {
        using ledger = openUsages(usages, options);
        for (let day = 0; day < DAYS; day += 1) {
          const expected = toExpected(usages, day);
          const { rows } = ledger.read(readBilledDay({ ...EVERYTHING, window: toWindow(day) }));
          const found = toFound(rows);
          expect(found.costPico).toBe(expected.costPico);
          if (rows.some(({ reason }) => reason === "rows removed by retention")) {
            expect(rows.filter(({ unit, costPico }) => unit !== null && costPico !== null)).toEqual([]);
          } else expect(found.units).toEqual(expected.units);
        }
      }),
      { numRuns: 20 * scale },
    );
  }, 30_000);

  test("of a day whose rows were removed are quantities without a cost, and one row has the cost of all units", () => {
    const usages = [{ subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + 1 }, ending: ENDING }];
    using ledger = openUsages(
      [...usages, { subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + 9 * DAY_US }, ending: ENDING }],
      { sealBeforeUs: NEW_YEAR_US + 5 * DAY_US, pruneBeforeUs: NEW_YEAR_US + 5 * DAY_US, late: [] },
    );
    const { rows } = ledger.read(readBilledDay({ ...EVERYTHING, window: toWindow(0) }));
    expect(rows.map(({ reason }) => reason)).toEqual(rows.map(() => "rows removed by retention"));
    expect(rows.filter(({ unit }) => unit === null).map(({ costPico }) => costPico)).toEqual([
      ENDING.costPico,
    ]);
    for (const { unit, costPico, pricePico } of rows) {
      expect(pricePico).toBeNull();
      if (unit !== null) expect(costPico).toBeNull();
    }
  });

  test("is refused beyond the rows that are held in memory", () => {
    const usages = ["a", "b", "c"].map((model, index) => ({
      subject: { ...SUBJECT, model, arrivedAtUs: NEW_YEAR_US + index },
      ending: ENDING,
    }));
    using ledger = openUsages(usages, { sealBeforeUs: 0, pruneBeforeUs: 0, late: [] });
    expect(() => ledger.read(readBilledDay({ ...EVERYTHING, window: toWindow(0) }, 2))).toThrow("2 at most");
  });
});
