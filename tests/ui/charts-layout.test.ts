import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { BUCKETS, planBuckets, type Bucket } from "#stats/bucket.ts";
import { toValueAxis } from "../../ui/charts/axis.tsx";
import {
  isWhole,
  toBarPicture,
  toBarSpans,
  toLayerPaths,
  toLayers,
  toPlacedBars,
  toStackMax,
} from "../../ui/charts/bar-layout.ts";
import { toBucketRange } from "../../ui/charts/bucket-range.ts";
import { toBarReading, toSpoken } from "../../ui/charts/stacked-bars.tsx";

const T0 = Date.UTC(2026, 1, 27);

/** As the server cuts a window of that many buckets. */
function toStarts(bucket: Bucket, count: number, sinceMs: number = T0): string[] {
  const lengthMs = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000, month: 31 * 86_400_000 }[bucket];
  const { starts } = planBuckets({
    bucket,
    sinceUs: sinceMs * 1000,
    untilUs: (sinceMs + count * lengthMs) * 1000,
    nowUs: sinceMs * 1000,
  });
  return starts.slice(0, count).map((startUs) => new Date(startUs / 1000).toISOString().replace("Z", "000Z"));
}

const anyBucket = fc.constantFrom(...BUCKETS);
const anyValue = fc.oneof(
  { weight: 4, arbitrary: fc.double({ min: 0, max: 1e6, noNaN: true }) },
  fc.constant(null),
  fc.constant(0),
);
const anyValues = fc
  .tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 9 }))
  .chain(([count, series]) =>
    fc.array(fc.array(anyValue, { minLength: series, maxLength: series }), {
      minLength: count,
      maxLength: count,
    }),
  );

describe("a stack", () => {
  test("gives each value its own height, on top of those before it, and reaches as high as their sum", () => {
    fc.assert(
      fc.property(anyValues, (rows) => {
        const layers = toLayers(
          rows.map((values) => ({ values })),
          rows[0]!.length,
        );
        rows.forEach((values, index) => {
          let below = 0;
          values.forEach((value, key) => {
            const top = layers[key]![index]!;
            expect(top - below).toBeCloseTo(value ?? 0, 4);
            below = top;
          });
          expect(below).toBeLessThanOrEqual(toStackMax(layers));
        });
        const highest = Math.max(
          ...rows.map((values) => values.reduce<number>((sum, one) => sum + (one ?? 0), 0)),
        );
        expect(toStackMax(layers)).toBeCloseTo(highest, 3);
      }),
    );
  });

  test("gives no height to what is negative, infinite or no number, and never a path without a number in it", () => {
    const bars = toPlacedBars(
      [{ start: toStarts("day", 1)[0]!, values: [Number.NaN, -5, Number.POSITIVE_INFINITY, null, 2] }],
      "day",
    );
    const layers = toLayers(bars, 6);
    expect(layers.map(([top]) => top)).toEqual([0, 0, 0, 0, 2, 2]);
    const paths = toLayerPaths(layers, toBarSpans(bars, "day", 100), (value) => 10 - value);
    expect(paths.map((path) => path !== "")).toEqual([false, false, false, false, true, false]);
    expect(paths.join("")).not.toMatch(/NaN|Infinity|undefined/);
  });

  test("draws one path for each series, whether the bars have room or lie side by side, within the plot", () => {
    fc.assert(
      fc.property(anyValues, fc.constantFrom(40, 300, 1200), anyBucket, (rows, widthPx, bucket) => {
        const starts = toStarts(bucket, rows.length);
        const picture = toBarPicture({
          bars: toPlacedBars(
            rows.map((values, index) => ({ start: starts[index]!, values, unpriced: index % 3 })),
            bucket,
          ),
          seriesCount: rows[0]!.length,
          bucket,
          widthPx,
          heightPx: 200,
          format: (value) => `${value}`,
        });
        expect(picture.paths).toHaveLength(rows[0]!.length);
        picture.paths.forEach((path, key) => {
          const isVisible = rows.some((values) => (values[key] ?? 0) > 0);
          if (!isVisible) expect(path).toBe("");
          for (const [, x] of path.matchAll(/[MLH](-?[\d.]+)/g)) {
            expect(Number(x)).toBeGreaterThanOrEqual(0);
            expect(Number(x)).toBeLessThanOrEqual(picture.plotWidthPx + 1);
          }
          for (const [, y] of path.matchAll(/(?:,|V)(-?[\d.]+)/g)) {
            expect(Number(y)).toBeGreaterThanOrEqual(-0.1);
            expect(Number(y)).toBeLessThanOrEqual(picture.plotHeightPx + 0.1);
          }
        });
      }),
      { numRuns: 60 },
    );
  });
});

describe("buckets from left to right", () => {
  test("tile the plot without a gap or an overlap, and each is found under its own middle and both its edges", () => {
    fc.assert(
      fc.property(
        anyBucket,
        fc.integer({ min: 1, max: 400 }),
        fc.integer({ min: 20, max: 2000 }),
        (bucket, count, widthPx) => {
          const bars = toPlacedBars(
            toStarts(bucket, count).map((start) => ({ start, values: [1] })),
            bucket,
          );
          const { spans, toIndex } = toBarSpans(bars, bucket, widthPx);
          expect(spans).toHaveLength(bars.length);
          expect(spans[0]!.from).toBeCloseTo(0, 6);
          expect(spans.at(-1)!.to).toBeCloseTo(widthPx, 6);
          spans.forEach(({ from, to }, index) => {
            expect(to).toBeGreaterThan(from);
            if (index > 0) expect(from).toBeCloseTo(spans[index - 1]!.to, 6);
            expect(toIndex((from + to) / 2)).toBe(index);
          });
          expect(toIndex(-50)).toBe(0);
          expect(toIndex(widthPx + 50)).toBe(bars.length - 1);
        },
      ),
      { numRuns: 40 },
    );
  });

  test("that are missing between two others are gaps of their own, without values", () => {
    const starts = toStarts("day", 6);
    const given = [starts[0]!, starts[1]!, starts[5]!].map((start) => ({ start, values: [1] }));
    const bars = toPlacedBars(given, "day");
    expect(bars.map(({ values }) => values)).toEqual([[1], [1], [], [], [], [1]]);
    expect(toLayers(bars, 1)).toEqual([[1, 1, 0, 0, 0, 1]]);
    const range = toBucketRange("day", bars[2]!.start);
    expect(range.startIso).toBe(starts[2]!);
    expect(toPlacedBars([], "day")).toEqual([]);
  });

  test("that lie a century apart are not filled: the list stays as long as it was given", () => {
    const given = ["1926-01-01T00:00:00Z", "2026-01-01T00:00:00Z"].map((start) => ({ start, values: [1] }));
    expect(toPlacedBars(given, "hour")).toHaveLength(2);
  });
});

describe("the upright axis", () => {
  test("begins at 0, holds the highest value, and has ticks with texts of their own, in order", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1e-9, max: 1e12, noNaN: true }),
        fc.integer({ min: 10, max: 600 }),
        fc.constantFrom(0, 2, 6),
        (max, heightPx, digits) => {
          const format = (value: number) => value.toFixed(digits);
          const { ticks, toY, domainMax } = toValueAxis({ max, heightPx, format, isWhole: false });
          expect(domainMax).toBeGreaterThanOrEqual(max);
          expect(toY(0)).toBeCloseTo(heightPx, 6);
          expect(toY(max)).toBeGreaterThanOrEqual(-1e-6);
          expect(ticks.length).toBeGreaterThan(0);
          expect(new Set(ticks.map(({ label }) => label)).size).toBe(ticks.length);
          for (const [index, { value, y }] of ticks.entries()) {
            expect(y).toBeCloseTo(toY(value), 6);
            if (index > 0) expect(value).toBeGreaterThan(ticks[index - 1]!.value);
          }
        },
      ),
    );
  });

  test("of counts has whole ticks only, and of nothing has 0 only", () => {
    for (const max of [1, 2, 3, 7, 130]) {
      const { ticks } = toValueAxis({ max, heightPx: 300, format: String, isWhole: true });
      expect(ticks.filter(({ value }) => !Number.isInteger(value))).toEqual([]);
      expect(ticks.length).toBeGreaterThan(1);
    }
    const empty = toValueAxis({ max: 0, heightPx: 300, format: String, isWhole: true });
    expect(empty.ticks.map(({ label, y }) => [label, y])).toEqual([["0", 300]]);
    expect(isWhole([{ values: [1, null] }, { values: [0, 3] }])).toBeTrue();
    expect(isWhole([{ values: [1, 0.5] }])).toBeFalse();
  });
});

describe("what is said of a bucket", () => {
  const series = [
    { id: "a", label: "small" },
    { id: "b", label: "large" },
  ];
  const toBars = (...unpriced: readonly number[]) =>
    toPlacedBars(
      [
        [3, 0.2],
        [null, null],
        [null, 0],
      ].map((values, day) => ({
        start: `2026-03-0${day + 3}T00:00:00.000000Z`,
        values,
        unpriced: unpriced[day],
      })),
      "day",
    );
  const read = (from: number, to: number, ...unpriced: readonly number[]) =>
    toBarReading({
      bars: toBars(...unpriced),
      series,
      bucket: "day",
      format: (value) => `$${value.toFixed(2)}`,
      from,
      to,
    });

  test("is its time in UTC, the total and every series", () => {
    expect(toSpoken(read(0, 0)!)).toBe("Tue 3 Mar 2026 UTC: total $3.20; small $3.00; large $0.20");
    expect(toSpoken(read(0, 2)!)).toBe("3 Mar 2026 – 5 Mar 2026 UTC: total $3.20; small $3.00; large $0.20");
    expect(read(9, 9)).toBeNull();
  });

  test("is unpriced, and never $0, where nothing has a price; nothing at all is a dash; free of charge is $0", () => {
    expect(read(1, 1, 0, 4)).toMatchObject({ total: "unpriced", unpriced: 4 });
    expect(read(1, 1)).toMatchObject({ total: "–", values: ["–", "–"] });
    expect(read(2, 2)).toMatchObject({ total: "$0.00" });
    expect(toSpoken(read(1, 1, 0, 1)!)).toBe("Wed 4 Mar 2026 UTC: total unpriced; 1 unpriced request");
    expect(read(0, 2, 0, 1, 2)).toMatchObject({ total: "$3.20+", unpriced: 3 });
  });
});
