import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { OTHER_ID, toSeries, toSeriesWithRest } from "../../ui/charts/series.ts";

const START = (day: number) => `2026-03-${String(day).padStart(2, "0")}T00:00:00.000000Z`;
const anyRow = fc.record({
  start: fc.integer({ min: 1, max: 6 }).map(START),
  model: fc.constantFrom("a", "b", "c", "d", "other", "__proto__", "constructor"),
  value: fc.option(fc.integer({ min: 0, max: 1000 }), { nil: null }),
});

describe("grouping into series", () => {
  test("keeps the sum of every bucket, has the largest first, and never more than asked for and one other", () => {
    fc.assert(
      fc.property(fc.array(anyRow), fc.integer({ min: 1, max: 8 }), (rows, topCount) => {
        const { series, buckets } = toSeries(rows, (row) => row.model, topCount);
        const models = new Set(rows.map(({ model }) => model));
        expect(series.filter(({ kind }) => kind === "other")).toHaveLength(models.size > topCount ? 1 : 0);
        expect(series).toHaveLength(Math.min(models.size, topCount) + (models.size > topCount ? 1 : 0));
        expect(buckets.map(({ start }) => start)).toEqual(
          [...new Set(rows.map(({ start }) => start))].sort(),
        );
        for (const { start, values } of buckets) {
          const expected = rows
            .filter((row) => row.start === start)
            .reduce((sum, row) => sum + (row.value ?? 0), 0);
          expect(values.reduce<number>((sum, value) => sum + (value ?? 0), 0)).toBe(expected);
          expect(values).toHaveLength(series.length);
        }
        const totals = series
          .filter(({ kind }) => kind !== "other")
          .map(({ id }) =>
            rows.filter(({ model }) => model === id).reduce((sum, row) => sum + (row.value ?? 0), 0),
          );
        expect(totals).toEqual(totals.toSorted((a, b) => b - a));
      }),
    );
  });

  test("leaves null where nothing is priced, which is not 0", () => {
    const rows = [
      { start: START(1), model: "a", value: null },
      { start: START(1), model: "b", value: 0 },
      { start: START(2), model: "b", value: 2 },
    ];
    expect(toSeries(rows, (row) => row.model).buckets).toEqual([
      { start: START(1), values: [0, null] },
      { start: START(2), values: [2, null] },
    ]);
  });

  test("says how many the rest are, and is not taken for a model that is named other", () => {
    const rows = ["a", "b", "c", "other"].map((model, index) => ({
      start: START(1),
      model,
      value: 10 - index,
    }));
    const { series } = toSeries(rows, (row) => row.model, 2);
    expect(series.at(-1)).toEqual({ id: OTHER_ID, label: "2 others", kind: "other" });
    expect(toSeries(rows, (row) => row.model, 4).series.at(-1)).toEqual({ id: "other", label: "other" });
  });
});

describe("what the largest leave of the total", () => {
  const part = (id: string, values: readonly (number | null)[]) => ({
    series: { id, label: id },
    rows: values.map((value, index) => ({ start: START(index + 1), value })),
  });
  const totals = (values: readonly (number | null)[]) =>
    values.map((value, index) => ({ start: START(index + 1), value }));

  test("is other, bucket by bucket, and the sums stay the totals", () => {
    const { series, buckets } = toSeriesWithRest(totals([10, 5, null]), [
      part("a", [4, 5, null]),
      part("b", [1]),
    ]);
    expect(series.map(({ id }) => id)).toEqual(["a", "b", OTHER_ID]);
    expect(buckets.map(({ values }) => values)).toEqual([
      [4, 1, 5],
      [5, null, null],
      [null, null, null],
    ]);
  });

  test("is nothing where only floating-point dust is left: there is no series of it", () => {
    const { series } = toSeriesWithRest(totals([0.3, 0.3]), [part("a", [0.1, 0.1]), part("b", [0.2, 0.2])]);
    expect(0.3 - (0.1 + 0.2)).not.toBe(0);
    expect(series.map(({ id }) => id)).toEqual(["a", "b"]);
  });
});
