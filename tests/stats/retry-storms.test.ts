import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { type Attempt, createStormFinder, RETRY_STORM_RULE, type RetryStorm } from "#stats/retry-storms.ts";

const SECOND_US = 1_000_000;

/** Attempts that take half a second, by their arrival in seconds. */
const attempt = (at: number, rest: Partial<Attempt> = {}): Attempt => ({
  subject: 0,
  arrivedAtUs: at * SECOND_US,
  endedAtUs: (at + 0.5) * SECOND_US,
  isFailed: true,
  inputTokens: null,
  costPico: null,
  ...rest,
});

function find(attempts: readonly Attempt[]): readonly RetryStorm[] {
  const finder = createStormFinder();
  for (const each of attempts) finder.add(each);
  return finder.finish();
}

describe("a storm of retries", () => {
  test("is failures one after the other, with the success that ends them, what it cost and its tokens", () => {
    const done = attempt(13, { isFailed: false, inputTokens: 1200, costPico: 7n });
    const after = [14, 15, 16].map((at) => attempt(at));
    expect(find([attempt(0), attempt(1, { costPico: 2n }), attempt(3), done, ...after])).toEqual([
      {
        subject: 0,
        attempts: 4,
        failed: 3,
        firstUs: 0,
        lastUs: 13 * SECOND_US,
        endedAtUs: 13.5 * SECOND_US,
        inputTokens: 1200,
        costPico: 9n,
      },
    ]);
  });

  test("has no cost where none is known, never one of nothing", () => {
    expect(find([0, 1, 2, 3].map((at) => attempt(at)))).toMatchObject([{ attempts: 4, costPico: null }]);
  });

  test.each([
    ["three attempts, which libraries make by themselves", [0, 1, 2].map((at) => attempt(at))],
    ["attempts with a pause", [0, 11, 22, 33, 44].map((at) => attempt(at))],
    ["requests at the same time", [0, 0.1, 0.2, 0.3, 0.4].map((at) => attempt(at))],
    ["successes", [0, 1, 2, 3, 4].map((at) => attempt(at, { isFailed: false }))],
    ["prompts of other lengths", [0, 1, 2, 3, 4].map((at) => attempt(at, { inputTokens: 100 + at }))],
    ["keys, models or clients of their own", [0, 1, 2, 3, 4].map((at) => attempt(at, { subject: at }))],
  ])("is not %s", (_, attempts) => {
    expect(find(attempts)).toEqual([]);
  });

  test("of two prompts at once is two, where failures tell their tokens", () => {
    const both = [0, 1, 2, 3].flatMap((at) => [
      attempt(at, { inputTokens: 10 }),
      attempt(at + 0.6, { inputTokens: 20 }),
    ]);
    expect(find(both)).toMatchObject([
      { attempts: 4, inputTokens: 20 },
      { attempts: 4, inputTokens: 10 },
    ]);
  });

  test("with the most attempts comes first", () => {
    const long = [100, 101, 102, 103, 104].map((at) => attempt(at, { subject: 1 }));
    expect(find([...[0, 1, 2, 3].map((at) => attempt(at)), ...long])).toMatchObject([
      { subject: 1, attempts: 5 },
      { subject: 0, attempts: 4 },
    ]);
  });
});

/** Slowly: each attempt looks through everything before it for the failure that it retries. */
function findSlowly(attempts: readonly Attempt[]) {
  const next = new Map<Attempt, Attempt>();
  const before = new Map<Attempt, Attempt>();
  const tokensOf = (last: Attempt): number | null => {
    const first = before.get(last);
    return (first === undefined ? null : tokensOf(first)) ?? last.inputTokens;
  };
  for (const [index, retry] of attempts.entries()) {
    const failures = attempts.slice(0, index).filter((failure) => {
      const pauseUs = retry.arrivedAtUs - failure.endedAtUs;
      const tokens = tokensOf(failure);
      const isSame = tokens === null || retry.inputTokens === null || tokens === retry.inputTokens;
      const isFree = failure.isFailed && !next.has(failure) && failure.subject === retry.subject;
      return isFree && isSame && pauseUs >= 0 && pauseUs <= RETRY_STORM_RULE.pauseUs;
    });
    const latest = Math.max(...failures.map(({ endedAtUs }) => endedAtUs));
    const failure = failures.find(({ endedAtUs }) => endedAtUs === latest);
    if (failure === undefined) continue;
    next.set(failure, retry);
    before.set(retry, failure);
  }
  return attempts
    .filter((first) => first.isFailed && !before.has(first))
    .map((first) => {
      const chain = [first];
      for (let last = next.get(first); last !== undefined; last = next.get(last)) chain.push(last);
      return chain;
    })
    .filter((chain) => chain.length >= RETRY_STORM_RULE.attemptsMin)
    .map((chain) => `${chain[0]?.arrivedAtUs} ${chain.at(-1)?.arrivedAtUs} ${chain.length}`);
}

test("attempts are put together as by looking through all that came before each", () => {
  const random = fc.record({
    pause: fc.integer({ min: 1, max: 4_000 }),
    duration: fc.integer({ min: 0, max: 6_000 }),
    subject: fc.nat(1),
    isFailed: fc.integer({ min: 0, max: 9 }).map((chance) => chance > 1),
    inputTokens: fc.constantFrom(null, null, 10, 20),
  });
  let found = 0;
  fc.assert(
    fc.property(fc.array(random, { maxLength: 60 }), (parts) => {
      let at = 0;
      const attempts = parts.map(({ pause, duration, ...rest }, index): Attempt => {
        at += pause;
        // No two end at once, so that which one is retried is beyond question.
        const endedAtUs = (at + duration) * 1000 + index;
        return { ...rest, arrivedAtUs: at * 1000, endedAtUs, costPico: null };
      });
      const storms = find(attempts).map((storm) => `${storm.firstUs} ${storm.lastUs} ${storm.attempts}`);
      found += storms.length;
      expect(storms.toSorted()).toEqual(findSlowly(attempts).toSorted());
    }),
    { numRuns: 200 },
  );
  expect(found).toBeGreaterThan(0);
});
