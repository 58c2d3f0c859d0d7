import { describe, expect, test } from "bun:test";
import { HOUR_US } from "#kernel/clock.ts";
import type { NoticeDraft } from "#notices/notice.ts";
import { SpendNotices } from "#notices/spend-notices.ts";
import type { HourSpend, SpendQuestion, Telling } from "#notices/store.ts";

const START_US = Date.UTC(2026, 10, 23, 9) * 1000;
const WHOLE = 1_000_000_000_000n;

const spend = (cost: number, earlier: readonly number[], more: Partial<HourSpend> = {}): HourSpend => ({
  kind: "principal",
  value: "id-ada",
  principalName: "ada",
  costPico: BigInt(Math.round(cost * 1e12)),
  earlierPico: earlier.map((one) => BigInt(Math.round(one * 1e12))),
  ...more,
});

function createWorld(factor = 5) {
  const clock = { nowUs: START_US + 600e6, ms: 0 };
  const asked: SpendQuestion[] = [];
  const told: (NoticeDraft & Omit<Telling, "notice">)[] = [];
  let spends: readonly HourSpend[] = [];
  const notices = new SpendNotices({
    ledger: {
      readHourSpend(question) {
        asked.push(question);
        return Promise.resolve(spends);
      },
    },
    findLabels: (ids) =>
      Promise.resolve(new Map(ids.map((id) => [id, { label: id === "k" ? "laptop" : "" }]))),
    factor,
    clock: { nowUs: () => clock.nowUs, monotonicMs: () => clock.ms },
    tell: (draft, once) => void told.push({ ...draft, ...once }),
  });
  return {
    asked,
    told,
    pass(seconds: number) {
      clock.nowUs += seconds * 1e6;
      clock.ms += seconds * 1000;
    },
    async look(...found: readonly HourSpend[]) {
      spends = found;
      clock.ms += 60_000;
      await notices.look();
      return told.length;
    },
    lookAgain: () => notices.look(),
  };
}

describe("unusual cost", () => {
  test.each([
    ["five times the median is not more", 10, [2, 2, 2, 2], 0],
    ["the least amount more is", 10.000000000001, [2, 2, 2, 2], 1],
    ["of four weeks the median is between the two in the middle", 12.5, [1, 100, 2, 3], 0],
    ["whatever the week with most has cost", 12.6, [1, 100, 2, 3], 1],
    ["of three it is the one in the middle", 10.1, [0, 2, 50], 1],
    ["one that never cost anything", 1, [0, 0, 0, 0], 1],
    ["without any week to compare with nothing is unusual", 1000, [], 0],
  ])("%s", async (_, cost, earlier, count) => {
    expect(await createWorld().look(spend(cost, earlier))).toBe(count);
  });

  test("is by the factor that is set, with three decimals", async () => {
    expect(await createWorld(1.125).look(spend(1.125, [1]))).toBe(0);
    expect(await createWorld(1.125).look(spend(1.126, [1]))).toBe(1);
  });

  test("is told with its facts alone, of principals, keys and tags", async () => {
    const world = createWorld();
    await world.look(
      spend(12.4, [1, 1, 1.5, 1.5]),
      spend(2, [0], { kind: "key", value: "k" }),
      spend(2, [0], { kind: "key", value: "gone" }),
      spend(2, [0], { kind: "tag", value: "team:search", principalName: "" }),
    );
    const hour = "2026-11-23T09:00:00.000000Z";
    expect(world.told.map(({ type, text, facts }) => ({ type, text, facts }))[0]).toEqual({
      type: "spend.unusual",
      text: '"ada" has cost 12.40 in the hour from 2026-11-23T09:00:00Z: more than 5 times 1.25, the median of that hour in the last four weeks.',
      facts: { spend: { principal: "ada", hour, cost: 12.4, median: 1.25, factor: 5 } },
    });
    expect(world.told.map(({ text }) => text.split(" has cost ")[0])).toEqual([
      '"ada"',
      'The API key "laptop" of "ada"',
      'The API key "gone" of "ada"',
      'The tag "team:search"',
    ]);
    expect(world.told.slice(1).map(({ facts }) => facts["spend"])).toMatchObject([
      { key: "k", label: "laptop", principal: "ada" },
      { key: "gone", label: "", principal: "ada" },
      { tag: "team:search" },
    ]);
  });

  test("is looked for once a minute, in the hour that was a minute ago, and at the hour's weekday in four weeks", async () => {
    const world = createWorld();
    await world.lookAgain();
    expect(world.asked).toEqual([]);
    await world.look();
    await world.lookAgain();
    expect(world.asked).toHaveLength(1);
    const hour = START_US / HOUR_US;
    expect(world.asked[0]).toEqual({
      hour,
      earlier: [hour - 168, hour - 336, hour - 504, hour - 672],
      leastPico: WHOLE,
      rowsMax: 100,
    });
    world.pass(3000 + 59);
    await world.look();
    world.pass(2);
    await world.look();
    expect(world.asked.map((one) => one.hour)).toEqual([hour, hour, hour + 1]);
  });

  test("is told once for each subject and hour, by a mark that outlives the hour", async () => {
    const world = createWorld();
    const ada = spend(9, [1]);
    await world.look(ada);
    expect(await world.look(ada, spend(9, [1], { value: "id-bob", principalName: "bob" }))).toBe(2);
    world.pass(3600);
    expect(await world.look(ada)).toBe(3);
    const hour = START_US / HOUR_US;
    expect(world.told.map(({ mark }) => mark)).toEqual([
      { name: `spend.unusual ${hour} principal id-ada`, untilUs: (hour + 2) * HOUR_US },
      { name: `spend.unusual ${hour} principal id-bob`, untilUs: (hour + 2) * HOUR_US },
      { name: `spend.unusual ${hour + 1} principal id-ada`, untilUs: (hour + 3) * HOUR_US },
    ]);
  });

  test("of many tags is told of a hundred in an hour", async () => {
    const world = createWorld();
    const toTags = (from: number) =>
      Array.from({ length: 80 }, (_, index) => spend(9, [1], { kind: "tag", value: `a:${from + index}` }));
    await world.look(...toTags(0));
    expect(await world.look(...toTags(80))).toBe(100);
  });
});
