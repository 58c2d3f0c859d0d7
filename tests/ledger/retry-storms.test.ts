import { expect, test } from "bun:test";
import { readRetryStorms } from "#storage/reports/retry-storms.ts";
import { openUsages } from "./reports.ts";
import { ENDING, EVERYTHING, NEW_YEAR_US, SUBJECT } from "./usage.ts";

const HOUR_US = 3_600_000_000;
const FAILED = {
  ...ENDING,
  statusCode: 500,
  outcome: "upstream_error",
  usage: null,
  costPico: null,
} as const;

test("of a window with more requests than are read the newest hours tell of storms, and the answer says which", () => {
  // A storm in each of three hours.
  using ledger = openUsages(
    [0, 1, 2].flatMap((hour) =>
      [0, 1, 2, 3, 4].map((second) => ({
        subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + hour * HOUR_US + second * 3_000_000 },
        ending: second === 4 ? ENDING : FAILED,
      })),
    ),
  );
  const window = { sinceUs: NEW_YEAR_US, untilUs: NEW_YEAR_US + 3 * HOUR_US };
  const read = (rowsMax: number) => ledger.read(readRetryStorms({ ...EVERYTHING, window }, { rowsMax }));
  const hoursOf = (rowsMax: number) =>
    read(rowsMax).storms.map(({ firstUs }) => (firstUs - NEW_YEAR_US) / HOUR_US);
  expect([hoursOf(15), hoursOf(14), hoursOf(5), hoursOf(1)]).toEqual([[2, 1, 0], [2, 1], [2], [2]]);
  expect(read(15)).toMatchObject({
    snapped: null,
    total: { storms: 3, attempts: 15, costPico: 3n * (ENDING.costPico ?? 0n) },
  });
  expect(read(10).snapped).toEqual({ ...window, sinceUs: NEW_YEAR_US + HOUR_US });
  // The prompt is the whole one, and only the answer told it.
  expect(read(5).storms).toMatchObject([
    { attempts: 5, failed: 4, inputTokens: 100, costPico: 175_000_000n },
  ]);
});

test("an empty ledger has no storms", () => {
  using ledger = openUsages([]);
  expect(ledger.read(readRetryStorms(EVERYTHING))).toMatchObject({ storms: [], total: { storms: 0 } });
});
