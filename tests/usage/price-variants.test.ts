import { describe, expect, test } from "bun:test";
import {
  type PriceConditions,
  type PriceVariant,
  NO_PRICES,
  toConditionName,
  toGeoName,
  toTierName,
} from "#kernel/price-variants.ts";
import { choosePrices, type PricedFacts } from "#usage/cost.ts";

const STANDARD = { input_tokens: 100 };
const toVariant = (when: PriceConditions, price = 1): PriceVariant => ({ input_tokens: price, when });
const toInstantUs = (time: string) => Date.parse(`2026-11-28T${time}Z`) * 1000;

interface Asked extends Partial<PricedFacts> {
  readonly input?: number;
}

function choose(variants: readonly PriceVariant[], { input = 10, ...facts }: Asked) {
  const usage = { shape: "inclusive", quantities: { input_tokens: input } } as const;
  return choosePrices(
    { prices: STANDARD, variants },
    { usage, endedAtUs: toInstantUs("12:00:00"), ...facts },
  );
}

describe("the prices of a request", () => {
  test("are the standard ones where its answer tells neither tier nor region, and no variant holds", () => {
    expect(choose([], {})).toBe(STANDARD);
    const others = [toVariant({ tier: "flex" }), toVariant({ geo: "us" }), toVariant({ inputOver: 10 })];
    expect(choose(others, {})).toBe(STANDARD);
  });

  test("are never the standard ones at a tier or in a region that no price names, also without a variant", () => {
    const long = toVariant({ inputOver: 5 });
    const flex = toVariant({ tier: "flex" });
    for (const variants of [[], [long], [toVariant({ tier: "priority" })]])
      expect(choose(variants, { tier: "flex" })).toEqual({ lacks: "tier" });
    for (const variants of [[], [long], [toVariant({ geo: "eu" })]])
      expect(choose(variants, { geo: "us" })).toEqual({ lacks: "geo" });
    expect(choose([flex], { tier: "flex", geo: "us" })).toEqual({ lacks: "geo" });
    expect(choose([toVariant({ geo: "us" })], { tier: "flex", geo: "us" })).toEqual({ lacks: "tier" });
    // It holds by as much as the short flex price, and is preferred: none of both says what a long flex request costs.
    expect(choose([flex, long], { tier: "flex" })).toEqual({ lacks: "tier" });
  });

  test("are those of the variant with the most conditions, then of the highest input_over, then of the first", () => {
    const [flex, priority] = [toVariant({ tier: "flex" }), toVariant({ tier: "priority" })];
    const [long, longer] = [toVariant({ inputOver: 200 }), toVariant({ inputOver: 500 })];
    const longFlex = toVariant({ tier: "flex", inputOver: 200 });
    const all = [flex, priority, long, longer, longFlex, toVariant({ hours: "22:00-06:00" })];
    for (const variants of [all, all.toReversed()]) {
      expect(choose(variants, { tier: "priority" })).toMatchObject({ when: { tier: "priority" } });
      expect(choose(variants, { input: 501 })).toBe(longer);
      expect(choose(variants, { input: 500 })).toBe(long);
      expect(choose(variants, { input: 201, tier: "flex" })).toBe(longFlex);
      expect(choose(variants, { input: 200 })).toBe(STANDARD);
    }
    const equals = [toVariant({ hours: "10:00-13:00" }, 1), toVariant({ hours: "11:00-13:00" }, 2)];
    expect(choose(equals, {})).toMatchObject({ input_tokens: 1 });
    expect(choose(equals.toReversed(), {})).toMatchObject({ input_tokens: 2 });
    // The first of two that hold by one condition each, and so the one that must name the tier.
    const [noon, flexToo] = [toVariant({ hours: "11:00-13:00" }), toVariant({ tier: "flex" })];
    expect(choose([noon, flexToo], { tier: "flex" })).toEqual({ lacks: "tier" });
    expect(choose([flexToo, noon], { tier: "flex" })).toBe(flexToo);
  });

  test("go by the whole input, cached and written tokens included, whatever the dialect tells", () => {
    const long = toVariant({ inputOver: 100 });
    const quantities = { input_tokens: 60, cached_input_tokens: 30, cache_write_tokens: 11 };
    expect(choose([long], { usage: { shape: "exclusive", quantities } })).toBe(long);
    expect(choose([long], { usage: { shape: "inclusive", quantities } })).toBe(STANDARD);
    expect(choose([long], { usage: null })).toBe(STANDARD);
  });

  test("go by the hour in UTC in which it ends: the start is inside, the end is outside, and it may pass midnight", () => {
    const held = (hours: string, time: string) =>
      choose([toVariant({ hours })], { endedAtUs: toInstantUs(time) }) !== STANDARD;
    const cases: [hours: string, inside: string[], outside: string[]][] = [
      ["01:00-04:00", ["01:00:00", "03:59:59.999"], ["00:59:59.999", "04:00:00"]],
      ["22:30-06:00", ["22:30:00", "23:59:59", "00:00:00", "05:59:59"], ["06:00:00", "22:29:59"]],
      ["16:30-24:00", ["16:30:00", "23:59:59.999"], ["00:00:00", "16:29:59"]],
      ["16:30-00:00", ["23:59:59.999"], ["00:00:00"]],
      ["00:00-24:00", ["00:00:00", "23:59:59"], []],
    ];
    for (const [hours, inside, outside] of cases) {
      for (const time of inside) expect([hours, time, held(hours, time)]).toEqual([hours, time, true]);
      for (const time of outside) expect([hours, time, held(hours, time)]).toEqual([hours, time, false]);
    }
  });

  test("are none for what has none", () => {
    expect(choosePrices(NO_PRICES, { usage: null, endedAtUs: 0 })).toEqual({});
  });
});

test("a tier's name is lower case, of letters, digits, _ and -, and cut at 32 characters", () => {
  expect(toConditionName("Flex Plus/€")).toBe("flex_plus__");
  expect(toConditionName("A-b_9")).toBe("a-b_9");
  expect(toConditionName("x".repeat(100))).toBe("x".repeat(32));
});

test("a standard tier or region has no name, and the speed fast beside a tier ends that one's name", () => {
  for (const told of [null, "", "default", "Standard", "auto", "ON_DEMAND"]) {
    expect(toTierName(told)).toBeUndefined();
    expect(toTierName(told, true)).toBe("fast");
  }
  expect(["priority", "fast"].map((told) => toTierName(told, true))).toEqual(["priority+fast", "fast"]);
  // As conditions are written: they are normalised as answers are.
  expect(["Priority+Fast", "priority+fast", "standard+fast"].map((told) => toTierName(told))).toEqual([
    "priority+fast",
    "priority+fast",
    "fast",
  ]);
  expect(toTierName("x".repeat(100), true)).toBe(`${"x".repeat(27)}+fast`);
  expect([null, "", "global", "Not_Available"].map(toGeoName)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  expect(toGeoName("US")).toBe("us");
});
