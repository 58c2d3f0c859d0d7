import { describe, expect, test } from "bun:test";
import { createArrivals } from "#kernel/ids.ts";

describe("instants of arrival", () => {
  const startAt = (times: number[]) => {
    const left = [...times];
    const arrivals = createArrivals({ nowUs: () => left.shift() ?? 0 });
    return times.map(() => arrivals.next());
  };

  test("no two are the same while the clock stands still, steps back a little or goes on", () => {
    expect(startAt([5_000_000, 5_000_000, 5_000_000, 4_998_000, 5_000_001, 5_000_009])).toEqual([
      5_000_000, 5_000_001, 5_000_002, 5_000_003, 5_000_004, 5_000_009,
    ]);
  });

  test("a clock that was set back by more than a second dates what comes then", () => {
    expect(startAt([9_000_000, 8_500_000, 7_000_000, 7_000_000])).toEqual([
      9_000_000, 9_000_001, 7_000_000, 7_000_001,
    ]);
  });
});
