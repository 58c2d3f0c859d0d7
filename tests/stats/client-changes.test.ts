import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  CLIENT_CHANGE_RULE,
  type ClientDay,
  findClientChanges,
  toClientDays,
  toClientVersion,
} from "#stats/client-changes.ts";

const DAY_US = 86_400_000_000;

/** The days of a version from `first` on: of each so many requests, of which so many failed. */
const toDays = (client: string | null, first: number, ...days: readonly [ended: number, failed: number][]) =>
  days.map(([ended, failed], index): ClientDay => ({
    client,
    day: first + index,
    ok: ended - failed,
    failed,
  }));

const repeat = (times: number, ended: number, failed: number) =>
  Array.from({ length: times }, (): [number, number] => [ended, failed]);

describe("a version of a client", () => {
  test.each([
    ["Continue/1.3.21 (vscode; linux)", "Continue/1.3.21"],
    ["OpenAI/Python 1.55.0", "OpenAI/Python 1.55.0"],
    ["AsyncOpenAI/JS 4.2.0-beta.1; node", "AsyncOpenAI/JS 4.2.0-beta.1"],
    ["tool v2.0.1+build", "tool v2.0.1+build"],
    ["Mozilla/5.0 (X11) Electron/30.1", "Mozilla/5.0"],
    ["something without one", "something without one"],
    ["7zip/9", "7zip/9"],
    ["", null],
    [null, null],
  ])("of the User-Agent %p is %p", (client, version) => {
    expect(toClientVersion(client)).toBe(version);
    // It names itself, so that its own filter finds it.
    if (version !== null) expect(toClientVersion(version)).toBe(version);
  });
});

describe("a version that fails more often than before", () => {
  test("is told with the day on which it began, and its share of before", () => {
    const days = toDays("Continue/1.3.21", 100, ...repeat(10, 50, 1), ...repeat(4, 50, 17));
    expect(findClientChanges(days, 110)).toEqual([
      {
        client: "Continue/1.3.21",
        name: "Continue",
        version: "1.3.21",
        sinceUs: 110 * DAY_US,
        now: { ok: 132, failed: 68 },
        before: { ok: 490, failed: 10 },
        beforeOf: "version",
        elsewhere: { ok: 0, failed: 0 },
      },
    ]);
  });

  test("and was never better fails since its first day, compared with the client's versions of before", () => {
    const days = [
      ...toDays("Continue/1.3.20", 100, ...repeat(12, 50, 1)),
      ...toDays("Continue/1.3.21", 107, ...repeat(5, 30, 10)),
      // Another client that begins alike is not the same one.
      ...toDays("ContinueFork/1.0", 100, ...repeat(12, 50, 30)),
    ];
    expect(findClientChanges(days, null)).toMatchObject([
      {
        version: "1.3.21",
        sinceUs: 107 * DAY_US,
        before: { ok: 343, failed: 7 },
        beforeOf: "client",
        elsewhere: { ok: 100, failed: 150 },
      },
    ]);
  });

  test("is told once it gets worse still since its first day, when it was bad from then on", () => {
    const days = [
      ...toDays("a/1", 100, ...repeat(5, 100, 2)),
      ...toDays("a/2", 105, ...repeat(5, 100, 30), ...repeat(5, 100, 60)),
    ];
    expect(findClientChanges(days, null)).toMatchObject([
      { client: "a/2", sinceUs: 105 * DAY_US, now: { ok: 550, failed: 450 }, beforeOf: "client" },
    ]);
  });

  test.each([
    ["has too few requests to tell", toDays("a/1", 1, [200, 0], [19, 19])],
    ["has nothing to compare with", toDays("a/1", 1, ...repeat(5, 50, 20))],
    ["fails less than five points more", toDays("a/1", 1, ...repeat(9, 5000, 50), ...repeat(9, 5000, 290))],
    ["fails in a row of nine", toDays("a/1", 1, ...repeat(9, 500, 1), [20, 9])],
    ["fails as chance may have it", toDays("a/1", 1, ...repeat(2, 20, 1), ...repeat(1, 20, 4))],
    ["fails less often than before", toDays("a/1", 1, ...repeat(5, 50, 20), ...repeat(5, 50, 1))],
    ["has no name", toDays(null, 1, ...repeat(5, 50, 1), ...repeat(5, 50, 40))],
  ])("is not one that %s", (_, days) => {
    expect(findClientChanges(days, null)).toEqual([]);
  });

  test("is told while it fails in the window, and no longer", () => {
    const days = toDays("a/1", 1, ...repeat(20, 50, 1), ...repeat(5, 50, 40), ...repeat(10, 1, 0));
    expect(findClientChanges(days, 25)).toMatchObject([{ client: "a/1", sinceUs: 21 * DAY_US }]);
    expect(findClientChanges(days, 26)).toEqual([]);
  });

  test("stands before those with fewer failures above their share of before, whatever the order of its days", () => {
    const small = toDays("a/1", 1, ...repeat(5, 50, 1), ...repeat(5, 50, 20));
    const large = toDays("b/1", 1, ...repeat(5, 500, 10), ...repeat(5, 500, 400));
    const quiet = toDays("c/1", 1, ...repeat(10, 5000, 10));
    const found = findClientChanges([...small, ...large, ...quiet].toReversed(), null);
    expect(found.map(({ client }) => client)).toEqual(["b/1", "a/1"]);
  });
});

test("each day that is told splits a version where the two sides differ most by chi-squared, and by enough", () => {
  const history = fc.array(
    fc.tuple(fc.integer({ min: 0, max: 80 }), fc.double({ min: 0, max: 1, noNaN: true })),
    {
      minLength: 2,
      maxLength: 12,
    },
  );
  let told = 0;
  fc.assert(
    fc.property(history, (days) => {
      const own = days.map(([ended, share], day): ClientDay => {
        const failed = Math.round(ended * share);
        return { client: "a/1", day, ok: ended - failed, failed };
      });
      const count = (from: number, to: number) => {
        const side = own.filter(({ day }) => day >= from && day < to);
        const failed = side.reduce((sum, day) => sum + day.failed, 0);
        return { failed, ended: failed + side.reduce((sum, day) => sum + day.ok, 0) };
      };
      const splits = own.flatMap(({ day }) => {
        const [before, now] = [count(0, day), count(day, own.length)];
        const difference = now.failed / now.ended - before.failed / before.ended;
        const all = count(0, own.length);
        // The table of both sides and both outcomes, cell by cell against what they would be if nothing had changed.
        const chiSquared = [before, now].reduce((sum, { failed, ended }) => {
          const expected = (all.failed * ended) / all.ended;
          const ok = ended - expected;
          return sum + (failed - expected) ** 2 / expected + (failed - expected) ** 2 / ok;
        }, 0);
        const isEnough =
          before.ended >= CLIENT_CHANGE_RULE.requestsMin && now.ended >= CLIENT_CHANGE_RULE.requestsMin;
        const isRise = difference >= CLIENT_CHANGE_RULE.differenceMin;
        const isSure = now.failed >= CLIENT_CHANGE_RULE.failedMin;
        return isEnough && isSure && isRise && chiSquared >= CLIENT_CHANGE_RULE.chiSquaredMin
          ? [{ day, chiSquared }]
          : [];
      });
      const [found] = findClientChanges(own, null);
      expect(found !== undefined).toBe(splits.length > 0);
      if (found === undefined) return;
      told += 1;
      const most = Math.max(...splits.map(({ chiSquared }) => chiSquared));
      const chosen = splits.find(({ day }) => day === found.sinceUs / DAY_US);
      expect(chosen?.chiSquared).toBeCloseTo(most, 6);
    }),
    { numRuns: 300 },
  );
  expect(told).toBeGreaterThan(0);
});

test("whole days are looked at, at least four weeks of them, and all there are without a beginning", () => {
  const nowUs = 100 * DAY_US + 5;
  expect(toClientDays({ sinceUs: 99 * DAY_US, untilUs: null }, nowUs)).toEqual({
    sinceUs: 72 * DAY_US,
    untilUs: null,
  });
  expect(toClientDays({ sinceUs: 10 * DAY_US + 7, untilUs: 60 * DAY_US }, nowUs)).toEqual({
    sinceUs: 10 * DAY_US,
    untilUs: 60 * DAY_US,
  });
  expect(toClientDays({ sinceUs: 3, untilUs: 4 }, nowUs).sinceUs).toBe(0);
  expect(toClientDays({ sinceUs: null, untilUs: 4 }, nowUs)).toEqual({ sinceUs: null, untilUs: 4 });
});
