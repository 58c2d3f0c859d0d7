import { afterAll, expect, test } from "bun:test";
import * as fc from "fast-check";
import { join } from "node:path";
import type { GroupBy, GroupOrder } from "#stats/series-grouping.ts";
import type { UnpricedUnit } from "#stats/store.ts";
import { readMissingPrices } from "#storage/ledger/reports/missing-prices.ts";
import { readFrom } from "#storage/sqlite/ledger/reports/reading.ts";
import { readGroupedSeries } from "#storage/ledger/reports/series-groups.ts";
import { makeFolder } from "../support/folder.ts";
import { scale } from "../support/scale.ts";
import { arbitraryCase, CONTEXT, decode, writeCase } from "./reports.ts";
import { DAY_US, ENDING, EVERYTHING, NEW_YEAR_US, SUBJECT, writeUsages } from "./usage.ts";

const folder = makeFolder();
afterAll(() => folder.remove());
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
        const { reader, writer } = writeCase(folder.path, { usages: random, ...options });
        for (const [index, query] of queries.slice(0, 4).entries()) {
          const bucket = (["hour", "day", "week", "month"] as const)[index] ?? "day";
          // Hours of all that is asked for may be too many buckets.
          const window =
            bucket === "hour" ? { sinceUs: NEW_YEAR_US, untilUs: NEW_YEAR_US + 4 * DAY_US } : query.window;
          const asked = { ...query, window, bucket, grouping: { by, order, top }, context: CONTEXT } as const;
          const folded = readFrom(reader, readGroupedSeries(asked, 0));
          const whole = readFrom(reader, readGroupedSeries(asked));
          expect({ asked, snapped: folded.snapped, ...JSON.parse(decode(folded)) }).toEqual({
            asked,
            snapped: whole.snapped,
            ...JSON.parse(decode(whole)),
          });
        }
        reader.close();
        writer.close();
      },
    ),
    { numRuns: 5 * scale },
  );
}, 30_000);

test("prices that are missing under more names than may be in memory are told of the most used, and of the others together", () => {
  const { reader, writer } = writeUsages(join(folder.path, "names"), [
    ...usages,
    {
      subject: { ...SUBJECT, model: "c", arrivedAtUs: NEW_YEAR_US + 2 * DAY_US + 1 },
      ending: usages[0]!.ending,
    },
  ]);
  const folded = readFrom(reader, readMissingPrices(EVERYTHING, { sumsMax: 2 }));
  expect([...new Set(folded.rows.map(({ model }) => model))]).toEqual(["(other)", "c"]);
  expect(folded.truncated).toBe(true);
  const whole = readFrom(reader, readMissingPrices(EVERYTHING, { sumsMax: 3 }));
  expect([...new Set(whole.rows.map(({ model }) => model))]).toEqual(["a", "b", "c"]);
  expect(whole.truncated).toBe(false);
  const sum = (rows: readonly UnpricedUnit[]) => rows.reduce((total, { requests }) => total + requests, 0);
  expect(sum(folded.rows)).toBe(sum(whole.rows));
  expect(() => readFrom(reader, readMissingPrices(EVERYTHING, { rowsMax: 3 }))).toThrow(
    expect.objectContaining({ code: "range_too_large", param: "since" }),
  );
  reader.close();
  writer.close();
});
