import { expect, test } from "bun:test";
import { explainCost } from "#stats/cost-change.ts";
import { readCostWindows } from "#storage/reports/cost-change.ts";
import { openUsages } from "./reports.ts";
import { DAY_US, ENDING, EVERYTHING, NEW_YEAR_US, SUBJECT } from "./usage.ts";

const day = (from: number, to: number) => ({
  sinceUs: NEW_YEAR_US + from * DAY_US,
  untilUs: NEW_YEAR_US + to * DAY_US,
});

test("windows with more requests than prices are read of have the same costs, and nothing of them is guessed", () => {
  using ledger = openUsages(
    [0, 1, 1, 1].map((on, index) => ({
      subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + on * DAY_US + index },
      ending: ENDING,
    })),
  );
  const asked = { ...EVERYTHING, window: day(1, 2), before: day(0, 1) };
  const whole = ledger.read(readCostWindows(asked));
  expect([whole.before.rows, whole.now.rows]).toEqual(["exact", "exact"]);
  const some = ledger.read(readCostWindows(asked, { rowsMax: 2 }));
  expect([some.before.rows, some.now.rows]).toEqual(["exact", "too_many_requests"]);
  expect(some.now.models.flatMap(({ billed }) => billed)).toEqual([]);
  const [known, unknown] = [whole, some].map(({ before, now }) => explainCost(before, now));
  expect([unknown?.differencePico, unknown?.terms]).toEqual([known?.differencePico, known?.terms]);
  expect(known?.terms).toMatchObject({ volume: 2n * (ENDING.costPico ?? 0n), unexplained: 0n });
});
