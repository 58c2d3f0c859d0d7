import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { moveInWeeks, toCalendarLayout } from "../../ui/charts/calendar.tsx";
import { TOOLTIP_WIDTH_PX, toTooltipPlace } from "../../ui/charts/chart.tsx";
import { CLASSES_MAX, toCellsPath, toClassScale, toShade } from "../../ui/charts/grid.tsx";
import { moveInRows, toHeatLayout } from "../../ui/charts/heat-map.tsx";
import { toSparkPaths } from "../../ui/charts/sparkline.tsx";
import { toTextWidth } from "../../ui/charts/text-width.ts";

const BANDS = ["<1s", "1-5s", "5-15s", "15-30s", "30-60s", "60-120s", ">=120s"];

describe("classes of shade", () => {
  // Prices are exact to 10^-12 (decisions, "Catalog"); below there is nothing to tell apart.
  const anyAmount = fc.oneof(fc.constant(0), fc.double({ min: 1e-12, max: 1e9, noNaN: true }));
  const anyValues = fc.array(fc.option(anyAmount), { minLength: 1 });

  test("have thresholds that rise, and a larger value never has a lighter shade", () => {
    fc.assert(
      fc.property(anyValues, fc.integer({ min: 1, max: CLASSES_MAX }), (values, count) => {
        const scale = toClassScale(values, count);
        expect(scale.count).toBeLessThanOrEqual(count);
        scale.thresholds.forEach((threshold, index) => {
          if (index > 0) expect(threshold).toBeGreaterThan(scale.thresholds[index - 1]!);
        });
        const positive = values.filter((value) => value !== null && value > 0).sort((a, b) => a! - b!);
        const classes = positive.map((value) => scale.toClass(value)!);
        expect(classes).toEqual(classes.toSorted((a, b) => a - b));
        for (const one of classes) expect(one >= 0 && one < scale.count).toBeTrue();
        if (positive.length > 0) expect(scale.toClass(positive.at(-1)!)).toBe(scale.count - 1);
      }),
    );
  });

  test("have no shade for 0, for nothing and for what is no number", () => {
    const { toClass } = toClassScale([1, 5, null, Number.NaN]);
    expect([0, null, Number.NaN, -1].map(toClass)).toEqual([null, null, null, null]);
    expect(toClassScale([null, 0])).toMatchObject({ thresholds: [], max: 0 });
  });

  test("cover the surface more and more", () => {
    const shades = [0, 1, 2, 3].map((place) => toShade(place, 4, { from: 0.1, to: 0.7 }));
    expect(shades).toEqual(shades.toSorted((a, b) => a - b));
    expect(toShade(0, 1, { from: 0.1, to: 0.7 })).toBe(0.7);
  });
});

describe("a heat map", () => {
  const labels = ["openai / small", "openrouter / a-model-with-a-rather-long-name-indeed"];

  test.each([288, 360, 479, 480, 900, 1400])(
    "of %d px has each cell under its own middle, and none outside",
    (widthPx) => {
      const layout = toHeatLayout({ labels, columns: BANDS, widthPx });
      for (let cell = 0; cell < labels.length * BANDS.length; cell += 1) {
        const { x, y, width, height } = layout.toBox(cell);
        expect(layout.toCell(x + width / 2, y + height / 2)).toBe(cell);
        expect(x >= 0 && x + width <= widthPx && y + height <= layout.heightPx).toBeTrue();
      }
      expect(layout.toCell(-1, layout.heightPx / 2)).toBeNull();
      expect(layout.toCell(widthPx / 2, 1)).toBeNull();
      expect(layout.toCell(widthPx / 2, layout.heightPx + 1)).toBeNull();
    },
  );

  test("sets names of columns that would touch on two lines, at 288 px as well", () => {
    for (const widthPx of [288, 480, 900]) {
      const { toHead } = toHeatLayout({ labels, columns: BANDS, widthPx });
      const right = new Map<number, number>();
      BANDS.forEach((name, column) => {
        const { x, y } = toHead(column);
        const half = toTextWidth(name) / 2;
        expect(x - half).toBeGreaterThan(right.get(y) ?? -1);
        expect(x + half).toBeLessThanOrEqual(widthPx);
        right.set(y, x + half);
      });
    }
  });

  test("is read by arrow keys, which stay within it and in their row", () => {
    const grid = { columns: 7, count: 14 };
    expect(moveInRows(null, "ArrowDown", grid)).toBe(0);
    expect(moveInRows(6, "ArrowRight", grid)).toBe(6);
    expect(moveInRows(7, "ArrowLeft", grid)).toBe(7);
    expect(moveInRows(6, "ArrowDown", grid)).toBe(13);
    expect(moveInRows(13, "ArrowDown", grid)).toBe(13);
    expect(moveInRows(9, "Home", grid)).toBe(7);
    expect(moveInRows(9, "End", grid)).toBe(13);
    expect(moveInRows(9, "Tab", grid)).toBeNull();
    expect(moveInRows(null, "End", { columns: 7, count: 0 })).toBeNull();
  });
});

describe("a calendar", () => {
  const anyDay = fc.integer({ min: 0, max: 20_000 }).map((day) => new Date(day * 86_400_000));

  test("has every day once, from since to until, under its own middle, in the row of its weekday, within the width", () => {
    fc.assert(
      fc.property(
        anyDay,
        fc.integer({ min: 1, max: 800 }),
        fc.integer({ min: 260, max: 1200 }),
        (since, count, widthPx) => {
          const until = new Date(since.getTime() + count * 86_400_000);
          const layout = toCalendarLayout({ since, until, widthPx });
          expect(layout.days).toHaveLength(count);
          const seen = new Set<string>();
          const rows = new Map<number, number>();
          layout.days.forEach((day, index) => {
            const { x, y, width, height } = layout.toBox(index);
            expect(layout.toDay(x + width / 2, y + height / 2)).toBe(index);
            expect(x + width <= widthPx && y + height <= layout.heightPx).toBeTrue();
            seen.add(`${x},${y}`);
            const weekday = (day.getUTCDay() + 6) % 7;
            const top = y - weekday * (height + 2);
            rows.set(top, (rows.get(top) ?? 0) + 1);
          });
          expect(seen.size).toBe(count);
          // Each band has one top: days of one weekday stand in one row.
          expect(rows.size).toBeLessThanOrEqual(Math.ceil(count / 7) + 1);
          for (const { x, text } of layout.months) expect(x + toTextWidth(text)).toBeLessThanOrEqual(widthPx);
        },
      ),
      { numRuns: 40 },
    );
  });

  test("begins weeks on Monday, names months, and January by its year", () => {
    const layout = toCalendarLayout({
      since: new Date("2026-11-02T00:00:00Z"),
      until: new Date("2027-03-01T00:00:00Z"),
      widthPx: 600,
    });
    expect(layout.toBox(6).x).toBe(layout.toBox(0).x);
    expect(layout.toBox(7).x).toBeGreaterThan(layout.toBox(6).x);
    expect(layout.toBox(7).y).toBe(layout.toBox(0).y);
    expect(layout.months.map(({ text }) => text)).toEqual(["Nov", "Dec", "2027", "Feb"]);
    expect(layout.sides.map(({ text }) => text)).toEqual(["2026", "Mon", "Wed", "Fri"]);
  });

  test("of an empty window has no day, and none of a window without end is made beyond ten years", () => {
    const since = new Date("2026-01-01T00:00:00Z");
    expect(toCalendarLayout({ since, until: since, widthPx: 300 })).toMatchObject({ days: [] });
    const endless = toCalendarLayout({ since, until: new Date("2999-01-01T00:00:00Z"), widthPx: 300 });
    expect(endless.days.length).toBeLessThan(3700);
    expect(endless.days.at(-1)).toEqual(new Date("2998-12-31T00:00:00Z"));
  });

  test("is read by arrow keys from day to day and from week to week, and never past its ends", () => {
    expect(moveInWeeks(null, "ArrowUp", 30)).toBe(29);
    expect(moveInWeeks(10, "ArrowRight", 30)).toBe(17);
    expect(moveInWeeks(28, "ArrowRight", 30)).toBe(28);
    expect(moveInWeeks(0, "ArrowUp", 30)).toBe(0);
    expect(moveInWeeks(10, "a", 30)).toBeNull();
    expect(moveInWeeks(null, "Home", 0)).toBeNull();
  });
});

test("many cells are one path", () => {
  const boxes = [0, 1].map((x) => ({ x, y: 2, width: 3, height: 4 }));
  expect(toCellsPath(boxes)).toBe("M0,2h3v4h-3ZM1,2h3v4h-3Z");
});

test("a tooltip stays within the chart's sides, beside the point or beneath the chart", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: TOOLTIP_WIDTH_PX, max: 1600 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (width, share) => {
        const x = share * width;
        const place = toTooltipPlace({ x, chartWidthPx: width, besideTop: 0, belowTop: 300 });
        expect(place.left).toBeGreaterThanOrEqual(0);
        expect(place.left + TOOLTIP_WIDTH_PX).toBeLessThanOrEqual(width);
        const isOver = place.left <= x && x <= place.left + TOOLTIP_WIDTH_PX;
        expect(place.top).toBe(isOver ? 300 : 0);
      },
    ),
  );
});

test("a sparkline leaves gaps out, lies on the ground when all is 0, and says nothing without values", () => {
  expect(toSparkPaths([], 100, 20)).toEqual({ linePath: "", areaPath: "" });
  expect(toSparkPaths([0, 0], 100, 20).linePath).toBe("M1.5,18.5L98.5,18.5");
  expect(toSparkPaths([1, null, 3, 4], 100, 20).linePath.match(/M/g)).toHaveLength(2);
  expect(toSparkPaths([Number.NaN, 2, Number.POSITIVE_INFINITY], 100, 20).linePath).not.toMatch(
    /NaN|Infinity/,
  );
});
