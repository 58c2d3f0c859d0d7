import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { PriceSet, Quantities } from "#kernel/units.ts";
import { priceUsage } from "#usage/cost.ts";
import type { ReportedUsage, UsageShape } from "#usage/event.ts";
import { normaliseUsage, toFullRateInput } from "#usage/normalise.ts";

const usageOf = (
  shape: UsageShape,
  quantities: Quantities,
  cacheCreationTokens: number | null = null,
): ReportedUsage => ({
  shape,
  quantities,
  cacheCreationTokens,
});

describe("normalised quantities", () => {
  test("an inclusive prompt counts without its cached part", () => {
    const usage = usageOf("inclusive", { input_tokens: 100, output_tokens: 5, cached_input_tokens: 60 });
    expect(normaliseUsage(usage)).toEqual({ input_tokens: 40, output_tokens: 5, cached_input_tokens: 60 });
  });

  test("a prompt whose cached part exceeds it counts as it is and never becomes negative", () => {
    expect(toFullRateInput(usageOf("inclusive", { input_tokens: 10, cached_input_tokens: 11 }))).toBe(10);
    expect(toFullRateInput(usageOf("inclusive", { input_tokens: 10, cached_input_tokens: 10 }))).toBe(0);
  });

  test("exclusive input counts with what was written to a cache, and cache reads stay beside it", () => {
    const usage = usageOf("exclusive", { input_tokens: 10, cached_input_tokens: 60 }, 7);
    expect(normaliseUsage(usage)).toEqual({ input_tokens: 17, cached_input_tokens: 60 });
    expect(normaliseUsage(usageOf("exclusive", {}, 7))).toEqual({ input_tokens: 7 });
  });

  test("input that was not reported is not made up", () => {
    expect(toFullRateInput(usageOf("inclusive", { cached_input_tokens: 3 }))).toBeNull();
    expect(normaliseUsage(usageOf("exclusive", { output_tokens: 1 }))).toEqual({ output_tokens: 1 });
  });
});

describe("cost", () => {
  const prices: PriceSet = {
    input_tokens: 2_500_000,
    output_tokens: 10_000_000,
    cached_input_tokens: 1_250_000,
  };

  test("a cache read is billed at its own price and never at the input's as well", () => {
    const usage = usageOf("inclusive", { input_tokens: 100, output_tokens: 5, cached_input_tokens: 60 });
    expect(priceUsage(usage, prices)).toEqual({
      costPico: 40n * 2_500_000n + 5n * 10_000_000n + 60n * 1_250_000n,
      unpriced: false,
    });
  });

  test("cache writes are priced as input", () => {
    expect(priceUsage(usageOf("exclusive", { input_tokens: 10 }, 7), prices).costPico).toBe(17n * 2_500_000n);
  });

  test("no usage costs nothing that is known, and is not unpriced", () => {
    expect(priceUsage(null, prices)).toEqual({ costPico: null, unpriced: false });
  });

  test("a unit without a price makes the request unpriced, and the others still cost", () => {
    const usage = usageOf("inclusive", { input_tokens: 100, output_tokens: 5 });
    expect(priceUsage(usage, { input_tokens: 3 })).toEqual({ costPico: 300n, unpriced: true });
    expect(priceUsage(usage, { input_tokens: 3, output_tokens: null })).toEqual({
      costPico: 300n,
      unpriced: true,
    });
    expect(priceUsage(usage, {})).toEqual({ costPico: null, unpriced: true });
  });

  test("a cache read without a price is unpriced, never billed as input", () => {
    const usage = usageOf("inclusive", { input_tokens: 100, cached_input_tokens: 60 });
    expect(priceUsage(usage, { input_tokens: 3 })).toEqual({ costPico: 120n, unpriced: true });
  });

  test("a quantity of zero needs no price, and with one it costs zero and not null", () => {
    const usage = usageOf("inclusive", { input_tokens: 0, output_tokens: 0 });
    expect(priceUsage(usage, {})).toEqual({ costPico: null, unpriced: false });
    expect(priceUsage(usage, { input_tokens: 3 })).toEqual({ costPico: 0n, unpriced: false });
  });

  test("a price of zero is a price", () => {
    const usage = usageOf("inclusive", { input_tokens: 9 });
    expect(priceUsage(usage, { input_tokens: 0 })).toEqual({ costPico: 0n, unpriced: false });
  });

  test("a fraction is priced to a millionth of its unit, rounded half up once over all units", () => {
    expect(
      priceUsage(usageOf("inclusive", { audio_seconds: 1.25 }), { audio_seconds: 100_000_000 }).costPico,
    ).toBe(125_000_000n);
    expect(priceUsage(usageOf("inclusive", { audio_seconds: 0.5 }), { audio_seconds: 1 }).costPico).toBe(1n);
    expect(priceUsage(usageOf("inclusive", { audio_seconds: 0.499999 }), { audio_seconds: 1 }).costPico).toBe(
      0n,
    );
    const halves = usageOf("inclusive", { audio_seconds: 0.5, output_tokens: 0.5 });
    expect(priceUsage(halves, { audio_seconds: 1, output_tokens: 1 }).costPico).toBe(1n);
  });

  test("whole quantities cost exactly quantity times price, up to the largest", () => {
    const count = fc.oneof(fc.nat(1_000_000), fc.maxSafeNat());
    const price = fc.integer({ min: 0, max: 1e15 });
    fc.assert(
      fc.property(count, count, count, price, price, price, (input, output, cached, pi, po, pc) => {
        const usage = usageOf("inclusive", {
          input_tokens: input,
          output_tokens: output,
          cached_input_tokens: cached,
        });
        const fullRate = BigInt(cached > input ? input : input - cached);
        const { costPico, unpriced } = priceUsage(usage, {
          input_tokens: pi,
          output_tokens: po,
          cached_input_tokens: pc,
        });
        expect(costPico).toBe(
          fullRate * BigInt(pi) + BigInt(output) * BigInt(po) + BigInt(cached) * BigInt(pc),
        );
        expect(unpriced).toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  test("any usage under any prices costs what exact arithmetic on its normalised quantities says", () => {
    const quantity = fc.oneof(
      fc.nat(50),
      fc.nat(2 ** 30),
      fc.integer({ min: 0, max: 4_000_000 }).map(toMillionths),
    );
    const quantities = fc.record(
      {
        input_tokens: quantity,
        output_tokens: quantity,
        cached_input_tokens: quantity,
        audio_seconds: quantity,
      },
      { requiredKeys: [] },
    );
    const price = fc.oneof(fc.constant(null), fc.constant(0), fc.integer({ min: 0, max: 1e15 }));
    const priceSet = fc.record(
      { input_tokens: price, output_tokens: price, cached_input_tokens: price, audio_seconds: price },
      { requiredKeys: [] },
    );
    const usage: fc.Arbitrary<ReportedUsage> = fc.oneof(
      fc.record({
        shape: fc.constant<"inclusive">("inclusive"),
        quantities,
        cacheCreationTokens: fc.constant(null),
      }),
      fc.record({
        shape: fc.constant<"exclusive">("exclusive"),
        quantities,
        cacheCreationTokens: fc.option(quantity),
      }),
    );
    fc.assert(
      fc.property(usage, priceSet, (reported, set) => {
        expect(priceUsage(reported, set)).toEqual(priceApart(reported, set));
      }),
      { numRuns: 1000 },
    );
  });
});

function toMillionths(count: number): number {
  return count / 1e6;
}

/** The rules of the decisions in millionths of a unit, said apart. */
function priceApart({ shape, quantities, cacheCreationTokens }: ReportedUsage, prices: PriceSet) {
  const millionths = (quantity: number) => BigInt(Math.round(quantity * 1e6));
  const sums = new Map(Object.entries(quantities).map(([unit, quantity]) => [unit, millionths(quantity)]));
  const input = sums.get("input_tokens");
  const cached = sums.get("cached_input_tokens") ?? 0n;
  if (shape === "inclusive" && input !== undefined && cached <= input)
    sums.set("input_tokens", input - cached);
  if (shape === "exclusive" && cacheCreationTokens !== null)
    sums.set("input_tokens", (input ?? 0n) + millionths(cacheCreationTokens));
  const priceOf = (unit: string) => (prices as { [unit: string]: number | null })[unit] ?? null;
  const priced = [...sums].filter(([unit]) => priceOf(unit) !== null);
  const exact = priced.reduce((sum, [unit, amount]) => sum + amount * BigInt(priceOf(unit) ?? 0), 0n);
  return {
    costPico: priced.length === 0 ? null : (exact + 500_000n) / 1_000_000n,
    unpriced: [...sums].some(([unit, amount]) => amount > 0n && priceOf(unit) === null),
  };
}
