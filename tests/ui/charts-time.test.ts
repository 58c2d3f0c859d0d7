import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { BUCKETS, toBucketIndex, toBucketStart, type Bucket } from "#stats/bucket.ts";
import { toTimeTicks } from "../../ui/charts/axis.tsx";
import { toBarSpans, toPlacedBars } from "../../ui/charts/bar-layout.ts";
import { toBucketEnd, toBucketRange, toRangeText } from "../../ui/charts/bucket-range.ts";
import { toFittedText, toTextWidth } from "../../ui/charts/text-width.ts";

const anyBucket = fc.constantFrom(...BUCKETS);
const anyInstant = fc.integer({ min: Date.UTC(1969, 0, 1), max: Date.UTC(2100, 0, 1) });
const at = (text: string) => new Date(text);

function toTicks(bucket: Bucket, since: string, count: number, widthPx: number) {
  const first = toBucketIndex(bucket, Date.parse(since) * 1000);
  const buckets = Array.from({ length: count }, (_, index) => ({
    start: new Date(toBucketStart(bucket, first + index) / 1000).toISOString(),
    values: [1],
  }));
  const bars = toPlacedBars(buckets, bucket);
  const middles = toBarSpans(bars, bucket, widthPx).spans.map(({ from, to }) => (from + to) / 2);
  return toTimeTicks({ bucket, starts: bars.map(({ start }) => start), middles, widthPx });
}

describe("the range of a bucket", () => {
  test("is the server's own: it ends where the next one begins, whatever the instant in it", () => {
    fc.assert(
      fc.property(anyBucket, anyInstant, (bucket, instantMs) => {
        const index = toBucketIndex(bucket, instantMs * 1000);
        const start = new Date(toBucketStart(bucket, index) / 1000);
        const end = new Date(toBucketStart(bucket, index + 1) / 1000);
        expect(toBucketEnd(bucket, start)).toEqual(end);
        expect(toBucketEnd(bucket, new Date(instantMs))).toEqual(end);
        const { startIso, endIso } = toBucketRange(bucket, start);
        expect(toBucketRange(bucket, end).startIso).toBe(endIso);
        expect(startIso).toMatch(/^\d{4}-\d\d-\d\dT\d\d:00:00\.000000Z$/);
      }),
    );
  });

  test("over several buckets goes from the first one's start to the last one's end, in either order", () => {
    const expected = { startIso: "2026-01-01T00:00:00.000000Z", endIso: "2026-04-01T00:00:00.000000Z" };
    expect(toBucketRange("month", at("2026-01-01T00:00Z"), at("2026-03-01T00:00Z"))).toEqual(expected);
    expect(toBucketRange("month", at("2026-03-01T00:00Z"), at("2026-01-01T00:00Z"))).toEqual(expected);
  });

  test.each<[Bucket, string, string, string]>([
    ["hour", "2026-03-03T14:00Z", "2026-03-03T14:00Z", "Tue 3 Mar 2026, 14:00–15:00 UTC"],
    ["hour", "2026-03-03T23:00Z", "2026-03-03T23:00Z", "Tue 3 Mar 2026, 23:00–24:00 UTC"],
    ["hour", "2026-03-03T22:00Z", "2026-03-04T01:00Z", "3 Mar 2026 22:00 – 4 Mar 2026 02:00 UTC"],
    ["day", "2026-03-03", "2026-03-03", "Tue 3 Mar 2026 UTC"],
    ["day", "2026-02-28", "2026-03-03", "28 Feb 2026 – 3 Mar 2026 UTC"],
    ["week", "2026-12-28", "2026-12-28", "28 Dec 2026 – 3 Jan 2027 UTC"],
    ["month", "2026-03-01", "2026-03-01", "March 2026 UTC"],
    ["month", "2026-05-01", "2026-03-01", "March 2026 – May 2026 UTC"],
  ])("of a %s from %s to %s is written as a person would, with UTC", (bucket, first, last, expected) => {
    expect(toRangeText(bucket, at(first), at(last))).toBe(expected);
  });
});

describe("labels under the axis of time", () => {
  test("never touch, never leave the plot, and stand at buckets in order, at any width from 260 px", () => {
    fc.assert(
      fc.property(
        anyBucket,
        anyInstant,
        fc.integer({ min: 1, max: 1000 }),
        fc.integer({ min: 260, max: 1600 }),
        (bucket, sinceMs, count, widthPx) => {
          const ticks = toTicks(bucket, new Date(sinceMs).toISOString(), count, widthPx);
          expect(ticks.length).toBeGreaterThan(0);
          for (const row of ["text", "context"] as const) {
            let right = Number.NEGATIVE_INFINITY;
            for (const tick of ticks) {
              const text = tick[row];
              if (text === null) continue;
              const half = toTextWidth(text) / 2;
              const middle = row === "text" ? tick.textX : tick.contextX;
              expect(middle - half).toBeGreaterThanOrEqual(-1e-6);
              expect(middle + half).toBeLessThanOrEqual(widthPx + 1e-6);
              expect(middle - half).toBeGreaterThan(right + 4);
              right = middle + half;
            }
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  test("are hours with their day, days with their year, Mondays, months and years, as many as fit", () => {
    const told = (...args: Parameters<typeof toTicks>) =>
      toTicks(...args).map(({ text, context }) => (context === null ? text : `${text} (${context})`));
    expect(told("hour", "2026-03-03T20:00Z", 8, 600)).toEqual([
      "20:00 (3 Mar 2026)",
      "21:00",
      "22:00",
      "23:00",
      "00:00 (4 Mar 2026)",
      "01:00",
      "02:00",
      "03:00",
    ]);
    expect(told("day", "2025-12-29", 6, 600)).toEqual([
      "29 Dec (2025)",
      "30 Dec",
      "31 Dec",
      "1 Jan (2026)",
      "2 Jan",
      "3 Jan",
    ]);
    expect(told("day", "2026-03-01", 30, 320)).toEqual([
      "2 Mar (2026)",
      "9 Mar",
      "16 Mar",
      "23 Mar",
      "30 Mar",
    ]);
    expect(told("day", "2025-11-10", 360, 700)).toEqual([
      "Dec (2025)",
      "Jan (2026)",
      ..."Feb Mar Apr May Jun Jul Aug Sep Oct Nov".split(" "),
    ]);
    expect(told("month", "2019-06-01", 90, 300)).toEqual([
      "2020",
      "2021",
      "2022",
      "2023",
      "2024",
      "2025",
      "2026",
    ]);
    expect(told("week", "2026-03-01", 3, 600)).toEqual(["23 Feb (2026)", "2 Mar", "9 Mar"]);
  });

  test("are one at least, also where no month or Monday begins and the plot is narrower than a label", () => {
    expect(toTicks("hour", "2026-03-03T13:00Z", 1, 10).map(({ text }) => text)).toEqual(["13:00"]);
    expect(toTicks("day", "2026-03-03", 4, 60)).toHaveLength(1);
    expect(toTimeTicks({ bucket: "day", starts: [], middles: [], widthPx: 300 })).toEqual([]);
  });
});

describe("a name that is cut", () => {
  test("fits, keeps its beginning, and is never cut within a character", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 20, max: 300 }), (text, widthPx) => {
        const fitted = toFittedText(text, widthPx);
        if (fitted === text) return;
        expect(fitted.endsWith("…")).toBeTrue();
        expect(text.startsWith(fitted.slice(0, -1))).toBeTrue();
        expect(toTextWidth(fitted)).toBeLessThanOrEqual(widthPx);
      }),
    );
    expect(toFittedText("short", 200)).toBe("short");
    expect(toFittedText("👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦", 32)).toBe("👩‍👩‍👧‍👦👩‍👩‍👧‍👦…");
  });
});
