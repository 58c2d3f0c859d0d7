import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Bucket } from "#stats/bucket.ts";
import { BUCKETS, parseBucket, planBuckets, SERIES_BUCKETS_MAX } from "#stats/bucket.ts";

const at = (text: string) => Date.parse(text) * 1000;
const NOW_US = at("2026-03-04T12:34:56Z");

function plan(bucket: Bucket, since: string, until: string | null = null): string[] {
  const { starts } = planBuckets({
    bucket,
    sinceUs: at(since),
    untilUs: until === null ? null : at(until),
    nowUs: NOW_US,
  });
  return starts.map((startUs) => new Date(startUs / 1000).toISOString().slice(0, 16));
}

function codeOf(step: () => unknown): string {
  try {
    step();
    return "no refusal";
  } catch (cause) {
    return cause instanceof Error && "code" in cause && "param" in cause
      ? `${String(cause.code)} ${String(cause.param)}`
      : String(cause);
  }
}

describe("bucket", () => {
  test("is a day when it is absent or empty, and else one of four words", () => {
    expect(parseBucket(new URLSearchParams(""))).toBe("day");
    expect(parseBucket(new URLSearchParams("bucket="))).toBe("day");
    for (const bucket of BUCKETS) expect(parseBucket(new URLSearchParams({ bucket }))).toBe(bucket);
  });

  test("that is none is refused with its param, also in another case or with a space", () => {
    for (const text of ["Day", " day", "year", "toString", "0"]) {
      expect(codeOf(() => parseBucket(new URLSearchParams({ bucket: text })))).toBe("invalid_bucket bucket");
    }
  });
});

describe("the buckets of a window", () => {
  test.each<[Bucket, string, string, string[]]>([
    ["hour", "2026-01-01T00:00Z", "2026-01-01T02:00Z", ["2026-01-01T00:00", "2026-01-01T01:00"]],
    [
      "hour",
      "2025-12-31T23:59:59.999Z",
      "2026-01-01T00:00:00.001Z",
      ["2025-12-31T23:00", "2026-01-01T00:00"],
    ],
    ["day", "2024-02-28T12:00Z", "2024-03-01T00:00Z", ["2024-02-28T00:00", "2024-02-29T00:00"]],
    ["day", "2025-02-28", "2025-03-01T00:00:00.001Z", ["2025-02-28T00:00", "2025-03-01T00:00"]],
    ["week", "2026-01-01", "2026-01-12", ["2025-12-29T00:00", "2026-01-05T00:00"]],
    ["week", "2026-01-04T23:59:59Z", "2026-01-05T00:00:00.001Z", ["2025-12-29T00:00", "2026-01-05T00:00"]],
    ["month", "2024-01-31", "2024-03-01", ["2024-01-01T00:00", "2024-02-01T00:00"]],
    ["month", "1969-11-30", "1970-01-02", ["1969-11-01T00:00", "1969-12-01T00:00", "1970-01-01T00:00"]],
    ["week", "1969-12-28", "1970-01-02", ["1969-12-22T00:00", "1969-12-29T00:00"]],
    ["hour", "1969-12-31T23:30Z", "1970-01-01T00:30Z", ["1969-12-31T23:00", "1970-01-01T00:00"]],
  ])("%s from %s until %s are whole ones, in UTC, weeks from Monday", (bucket, since, until, expected) => {
    expect(plan(bucket, since, until)).toEqual(expected);
  });

  test("without an end go on to the one that the present lies in, and with one in the future to that", () => {
    expect(plan("day", "2026-03-03T10:00Z")).toEqual(["2026-03-03T00:00", "2026-03-04T00:00"]);
    expect(plan("month", "2026-03-31")).toEqual(["2026-03-01T00:00"]);
    expect(plan("month", "2026-03-31", "2026-05-01")).toEqual(["2026-03-01T00:00", "2026-04-01T00:00"]);
  });

  test("are none for a window that is empty or begins after the present", () => {
    expect(plan("day", "2026-03-01", "2026-03-01")).toEqual([]);
    expect(plan("day", "2026-03-01T10:00Z", "2026-03-01T09:00Z")).toEqual([]);
    expect(plan("month", "2026-03-02", "2026-01-01")).toEqual([]);
    expect(plan("day", "2026-03-05")).toEqual([]);
  });

  test("are a thousand at most: one more is refused before it is made, however many there would be", () => {
    const until = (bucket: Bucket, endUs: number) => () =>
      planBuckets({ bucket, sinceUs: 0, untilUs: endUs, nowUs: NOW_US });
    const thousandDaysUs = SERIES_BUCKETS_MAX * 86_400_000_000;
    expect(until("day", thousandDaysUs)().starts).toHaveLength(SERIES_BUCKETS_MAX);
    expect(codeOf(until("day", thousandDaysUs + 1))).toBe("range_too_large since");
    for (const bucket of BUCKETS) {
      expect(
        codeOf(() =>
          planBuckets({ bucket, sinceUs: at("0000-01-01"), untilUs: at("9999-12-31"), nowUs: NOW_US }),
        ),
      ).toBe("range_too_large since");
    }
  });

  test("follow one another without a gap, hold the window, and none of them lies outside of it", () => {
    const instant = fc.integer({ min: at("1890-01-01"), max: at("2200-01-01") });
    fc.assert(
      fc.property(
        fc.constantFrom(...BUCKETS),
        instant,
        fc.oneof(
          fc.integer({ min: 1, max: 3 * 86_400_000_000 }),
          fc.integer({ min: 1, max: 3_500_000_000_000 }),
        ),
        (bucket, sinceUs, lengthUs) => {
          const untilUs = sinceUs + lengthUs;
          const { starts, endUs } = planBuckets({ bucket, sinceUs, untilUs, nowUs: NOW_US });
          expect(starts[0]).toBeLessThanOrEqual(sinceUs);
          expect(starts[1] ?? endUs).toBeGreaterThan(sinceUs);
          expect(starts.at(-1)).toBeLessThan(untilUs);
          expect(endUs).toBeGreaterThanOrEqual(untilUs);
          for (const startUs of [...starts, endUs]) {
            const date = new Date(startUs / 1000);
            expect(date.toISOString()).toMatch(/:00:00\.000Z$/);
            if (bucket !== "hour") expect(date.getUTCHours()).toBe(0);
            if (bucket === "week") expect(date.getUTCDay()).toBe(1);
            if (bucket === "month") expect(date.getUTCDate()).toBe(1);
          }
        },
      ),
    );
  });
});
