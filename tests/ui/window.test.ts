import { describe, expect, test } from "bun:test";
import { RANGES, type Range } from "../../ui/search/ranges.ts";
import {
  formatPeriod,
  formatWindow,
  toFirstDay,
  toLastDay,
  toSince,
  toTimeWindow,
  toUntil,
  toZoomedOut,
} from "../../ui/search/window.ts";

/** A Wednesday. */
const NOW = Date.parse("2026-03-18T10:30:00Z");
const at = (range: Range, now = NOW) => toTimeWindow({ range }, "24h", now);
const day = (text: string) => `${text}T00:00:00.000Z`;

describe("a range of the calendar", () => {
  test.each([
    ["today", "2026-03-18", undefined, "2026-03-17", "2026-03-17T10:30:00.000Z", "hour"],
    ["yesterday", "2026-03-17", "2026-03-18", "2026-03-16", day("2026-03-17"), "hour"],
    ["this-week", "2026-03-16", undefined, "2026-03-09", "2026-03-11T10:30:00.000Z", "hour"],
    ["last-week", "2026-03-09", "2026-03-16", "2026-03-02", day("2026-03-09"), "day"],
    ["this-month", "2026-03-01", undefined, "2026-02-01", "2026-02-18T10:30:00.000Z", "day"],
    ["last-month", "2026-02-01", "2026-03-01", "2026-01-01", day("2026-02-01"), "day"],
  ] as const)(
    "is whole days of UTC, weeks from Monday, and is compared with the period before: %s",
    (range, since, until, before, beforeUntil, bucket) => {
      const window = at(range);
      expect(window.since).toBe(day(since));
      expect(window.until).toBe(until === undefined ? undefined : day(until));
      expect(window.previous).toEqual({ since: day(before), until: beforeUntil });
      expect(window.bucket).toBe(bucket);
    },
  );

  test("still belongs to its last minute, and a longer month is compared with the whole of a shorter one", () => {
    expect(at("today", Date.parse("2026-03-19T00:00:00Z")).since).toBe(day("2026-03-18"));
    expect(at("this-month", Date.parse("2026-03-31T12:00:00Z")).previous).toEqual({
      since: day("2026-02-01"),
      until: day("2026-03-01"),
    });
  });
});

test.each([
  ["2026-03-01", "2026-03-03T23:59:59Z", "hour"],
  ["2026-03-01", "2026-03-04", "day"],
  ["2026-01-01", "2026-07-01", "day"],
  ["2020-01-01", "2026-01-01", "month"],
] as const)(
  "a window is cut into days from three of them on: %s until %s into each %s",
  (since, until, bucket) => {
    expect(toTimeWindow({ since, until }, "24h", NOW).bucket).toBe(bucket);
    expect(toTimeWindow({ since, until, bucket: "week" }, "24h", NOW).bucket).toBe("week");
  },
);

test.each([
  ["2026-01-25T00:00:00.000Z", "2026-02-24T00:00:00.000Z", "25 Jan to 23 Feb"],
  ["2026-01-25T13:20:00.000Z", "2026-02-24T00:10:00.000Z", "25 Jan to 24 Feb"],
  ["2025-11-25T00:00:00.000Z", "2025-12-25T00:00:00.000Z", "25 Nov to 24 Dec 2025"],
  ["2026-03-16T00:00:00.000Z", "2026-03-17T00:00:00.000Z", "16 Mar"],
  ["2026-03-17T00:00:00.000Z", "2026-03-17T10:30:00.000Z", "17 Mar, 00:00 to 10:30"],
  ["2026-03-16T11:00:00.000Z", "2026-03-17T11:00:00.000Z", "16 Mar 11:00 to 17 Mar 11:00"],
] as const)(
  "a window before is told in a few words, its last day included: %s until %s as %s",
  (since, until, text) => {
    expect(formatPeriod({ since, until }, NOW)).toBe(text);
  },
);

describe("a window of one's own", () => {
  test("includes its last day to the end, and tells it by that day", () => {
    const [first, last] = [
      { day: "2026-02-27", time: "" },
      { day: "2026-02-28", time: "" },
    ];
    expect([toSince(first), toUntil(last)]).toEqual(["2026-02-27", "2026-03-01"]);
    expect([toFirstDay("2026-02-27"), toLastDay("2026-03-01")]).toEqual([first, last]);
    expect(formatWindow("2026-02-27", "2026-03-01")).toBe("2026-02-27 – 2026-02-28");
    expect(formatWindow("2026-02-28T00:00:00.000Z", "2026-03-01T00:00:00Z")).toBe("2026-02-28");
  });

  test("is exact where a time is given, also at a midnight that a bar of an hour ends with", () => {
    expect(toUntil({ day: "2026-01-03", time: "01:00" })).toBe("2026-01-03T01:00");
    expect(formatWindow("2026-01-02T23:00:00Z", "2026-01-03T00:00:00Z")).toBe(
      "2026-01-02 23:00 – 2026-01-03 00:00",
    );
    expect(formatWindow("2026-01-02", undefined)).toBe("2026-01-02 – now");
    expect(formatWindow("yesterday", undefined)).toBe("yesterday – now");
  });
});

describe("zooming out", () => {
  test("steps through the ranges that slide and ends at all time, which nothing is around", () => {
    const steps: unknown[] = [];
    for (let window = at("1h"), wider = toZoomedOut(window, NOW); wider !== null;) {
      steps.push(wider.range);
      window = toTimeWindow(wider, "24h", NOW);
      wider = toZoomedOut(window, NOW);
    }
    expect(steps).toEqual(["24h", "7d", "30d", "90d", "365d", "all"]);
  });

  test("doubles any other window around its middle, and never reaches into the future", () => {
    expect(toZoomedOut(toTimeWindow({ since: "2026-03-02", until: "2026-03-04" }, "24h", NOW), NOW)).toEqual({
      since: day("2026-03-01"),
      until: day("2026-03-05"),
      range: undefined,
      bucket: undefined,
    });
    for (const range of RANGES) {
      const until = toZoomedOut(at(range), NOW)?.until;
      if (until !== undefined) expect(Date.parse(until)).toBeLessThan(NOW);
    }
    expect(toZoomedOut(at("today"), NOW)).toMatchObject({
      since: "2026-03-17T13:30:00.000Z",
      until: undefined,
    });
  });
});
