import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { GroupBy, GroupOrder } from "#stats/series-grouping.ts";
import type { UnpricedUnit } from "#stats/store.ts";
import { readMissingPrices } from "#storage/reports/missing-prices.ts";
import { readGroupedSeries } from "#storage/reports/series.ts";
import { scale } from "../support/scale.ts";
import { arbitraryCase, CONTEXT, decode, openUsages } from "./reports.ts";
import { DAY_US, ENDING, EVERYTHING, NEW_YEAR_US, SUBJECT } from "./usage.ts";

const usages = ["a", "b", "c"].map((model, index) => ({
  subject: { ...SUBJECT, model, arrivedAtUs: NEW_YEAR_US + index * DAY_US },
  ending: { ...ENDING, prices: {}, costPico: null, unpriced: true },
}));

test("a report by group that needs more sums than may be in memory answers the same: the largest groups, and the rest as other", () => {
  fc.assert(
    fc.property(
      arbitraryCase,
      fc.constantFrom<GroupBy>({ field: "client" }, { field: "key" }, { field: "tag", tagKey: "app" }),
      fc.constantFrom<GroupOrder>("cost", "requests", "tokens"),
      fc.integer({ min: 1, max: 3 }),
      ({ usages: random, queries, ...options }, by, order, top) => {
        using ledger = openUsages(random, options);
        for (const [index, query] of queries.slice(0, 4).entries()) {
          const bucket = (["hour", "day", "week", "month"] as const)[index] ?? "day";
          // Hours of all that is asked for may be too many buckets.
          const window =
            bucket === "hour" ? { sinceUs: NEW_YEAR_US, untilUs: NEW_YEAR_US + 4 * DAY_US } : query.window;
          const asked = { ...query, window, bucket, grouping: { by, order, top }, context: CONTEXT } as const;
          const folded = ledger.read(readGroupedSeries(asked, { sumsMax: 0 }));
          const whole = ledger.read(readGroupedSeries(asked));
          expect({ asked, snapped: folded.snapped, ...JSON.parse(decode(folded)) }).toEqual({
            asked,
            snapped: whole.snapped,
            ...JSON.parse(decode(whole)),
          });
        }
      },
    ),
    { numRuns: 5 * scale },
  );
}, 30_000);

test("of what has no value a unit is zero where that was reported, and nothing where nothing was", () => {
  const ofDay = (day: number, usage: typeof ENDING.usage) => [
    { subject: { ...SUBJECT, arrivedAtUs: NEW_YEAR_US + day * DAY_US }, ending: ENDING },
    {
      subject: { ...SUBJECT, tags: [], arrivedAtUs: NEW_YEAR_US + day * DAY_US + 1 },
      ending: { ...ENDING, usage },
    },
  ];
  const none = { shape: "inclusive", quantities: { input_tokens: 7, cached_input_tokens: 0 } } as const;
  using ledger = openUsages([...ofDay(0, none), ...ofDay(1, null), ...ofDay(40, null)], {
    sealBeforeUs: NEW_YEAR_US + 60 * DAY_US,
  });
  const grouping = { by: { field: "tag", tagKey: "app" }, order: "requests", top: 5 } as const;
  const window = { sinceUs: NEW_YEAR_US, untilUs: NEW_YEAR_US + 41 * DAY_US };
  const asked = { ...EVERYTHING, window, bucket: "day", grouping, context: CONTEXT } as const;
  const report = JSON.parse(decode(ledger.read(readGroupedSeries(asked))));
  const { series } = report.groups.find(({ value }: { value: string | null }) => value === null);
  expect([0, 1, 2, 40].map((day) => [series[day].requests, series[day].units])).toEqual([
    [1, { input_tokens: 7, cached_input_tokens: 0 }],
    [1, {}],
    [0, {}],
    [1, {}],
  ]);
});

test("prices that are missing under more names than may be in memory are told of the most used, and of the others together", () => {
  using ledger = openUsages([
    ...usages,
    {
      subject: { ...SUBJECT, model: "c", arrivedAtUs: NEW_YEAR_US + 2 * DAY_US + 1 },
      ending: usages[0]!.ending,
    },
  ]);
  const folded = ledger.read(readMissingPrices(EVERYTHING, { sumsMax: 1 }));
  expect([...new Set(folded.rows.map(({ model }) => model))]).toEqual(["(other)", "c"]);
  expect(folded.truncated).toBe(true);
  const whole = ledger.read(readMissingPrices(EVERYTHING, { sumsMax: 3 }));
  expect([...new Set(whole.rows.map(({ model }) => model))]).toEqual(["a", "b", "c"]);
  expect(whole.truncated).toBe(false);
  const sum = (rows: readonly UnpricedUnit[]) => rows.reduce((total, { requests }) => total + requests, 0);
  expect(sum(folded.rows)).toBe(sum(whole.rows));
  expect(() => ledger.read(readMissingPrices(EVERYTHING, { rowsMax: 3 }))).toThrow(
    expect.objectContaining({ code: "range_too_large", param: "since" }),
  );
});
