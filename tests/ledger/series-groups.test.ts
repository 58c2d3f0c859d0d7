import { expect, test } from "bun:test";
import { join } from "node:path";
import { readMissingPrices } from "#storage/sqlite/ledger/reports/missing-prices.ts";
import { readGroupedSeries } from "#storage/sqlite/ledger/reports/series-groups.ts";
import { makeFolder } from "../support/folder.ts";
import { CONTEXT, decode } from "./reports.ts";
import { DAY_US, ENDING, EVERYTHING, NEW_YEAR_US, SUBJECT, writeUsages } from "./usage.ts";

const folder = makeFolder();
const usages = ["a", "b", "c"].map((model, index) => ({
  subject: { ...SUBJECT, model, arrivedAtUs: NEW_YEAR_US + index * DAY_US },
  ending: { ...ENDING, prices: {}, costPico: null, unpriced: true },
}));
const TOO_MANY = expect.objectContaining({
  code: "range_too_large",
  message: expect.stringMatching(/choose a shorter window or filter it/),
});

test("a report by group refuses more sums than may be in memory, and answers as many as may", () => {
  const { reader, writer } = writeUsages(join(folder.path, "grouped"), usages);
  const grouping = { by: { field: "model" }, order: "requests", top: 2 } as const;
  const ask = (sumsMax: number) =>
    JSON.parse(
      decode(
        readGroupedSeries(reader, { ...EVERYTHING, bucket: "month", grouping, context: CONTEXT }, sumsMax),
      ),
    );
  expect(() => ask(2)).toThrow(TOO_MANY);
  const { groups, other, group_count: count } = ask(3);
  expect([groups.length, other.requests, count]).toEqual([2, 1, 3]);

  expect(() => readMissingPrices(reader, EVERYTHING, 2)).toThrow(TOO_MANY);
  const { rows, truncated } = readMissingPrices(reader, EVERYTHING, 3);
  expect([...new Set(rows.map(({ model }) => model))]).toEqual(["a", "b", "c"]);
  expect(truncated).toBe(false);
  reader.close();
  writer.close();
  folder.remove();
});
