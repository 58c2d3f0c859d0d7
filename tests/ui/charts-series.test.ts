import { describe, expect, test } from "bun:test";
import { OTHER_ID, toSeriesWithRest } from "../../ui/charts/series.ts";

const START = (day: number) => `2026-03-${String(day).padStart(2, "0")}T00:00:00.000000Z`;
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
