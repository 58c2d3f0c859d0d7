import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { PriceSet, Quantities } from "#kernel/units.ts";
import { normaliseUsage, priceUsage, toCacheCost, toDisjointQuantities, toUnitCosts } from "#usage/cost.ts";
import type { ReportedUsage, UsageShape } from "#usage/event.ts";

const usageOf = (shape: UsageShape, quantities: Quantities): ReportedUsage => ({ shape, quantities });
const inputOf = (shape: UsageShape, quantities: Quantities) =>
  normaliseUsage(usageOf(shape, quantities)).input_tokens;

describe("normalised quantities", () => {
  test("an inclusive prompt counts without its cached part", () => {
    const usage = usageOf("inclusive", { input_tokens: 100, output_tokens: 5, cached_input_tokens: 60 });
    expect(normaliseUsage(usage)).toEqual({ input_tokens: 40, output_tokens: 5, cached_input_tokens: 60 });
  });

  test("a prompt whose cached part exceeds it counts as it is and never becomes negative", () => {
    expect(inputOf("inclusive", { input_tokens: 10, cached_input_tokens: 11 })).toBe(10);
    expect(inputOf("inclusive", { input_tokens: 10, cached_input_tokens: 10 })).toBe(0);
  });

  test("exclusive input counts with what was written to a cache, and cache reads stay beside it", () => {
    const writes = { cache_write_tokens: 4, cache_write_1h_tokens: 3 };
    const usage = usageOf("exclusive", { input_tokens: 10, cached_input_tokens: 60, ...writes });
    expect(normaliseUsage(usage)).toEqual({ input_tokens: 17, cached_input_tokens: 60 });
    expect(normaliseUsage(usageOf("exclusive", writes))).toEqual({ input_tokens: 7 });
  });

  test("what an inclusive prompt wrote to a cache is a part of it: reports count it as input, once", () => {
    const usage = usageOf("inclusive", {
      input_tokens: 2600,
      cached_input_tokens: 2000,
      cache_write_tokens: 400,
    });
    expect(toDisjointQuantities(usage)).toEqual({
      input_tokens: 200,
      cached_input_tokens: 2000,
      cache_write_tokens: 400,
    });
    expect(normaliseUsage(usage)).toEqual({ input_tokens: 600, cached_input_tokens: 2000 });
  });

  test.each([
    [{ input_tokens: 100, cached_input_tokens: 60, cache_write_tokens: 60 }, 0, 40, undefined],
    [{ input_tokens: 100, cached_input_tokens: 101, cache_write_tokens: 30 }, 70, 30, undefined],
    [{ input_tokens: 100, cached_input_tokens: 100, cache_write_tokens: 30 }, 0, 0, undefined],
    [{ input_tokens: 100, cache_write_tokens: 500 }, 0, 100, undefined],
    [{ input_tokens: 100, cache_write_tokens: 70, cache_write_1h_tokens: 70 }, 0, 70, 30],
    [{ input_tokens: 100, cache_write_tokens: 0 }, 100, 0, undefined],
  ])("an inclusive %j is never billed for more than it is, nor counted as less", (quantities, ...parts) => {
    const [input, written, writtenFor1h] = parts;
    const usage = usageOf("inclusive", quantities);
    expect(toDisjointQuantities(usage)).toEqual({
      ...quantities,
      input_tokens: input,
      cache_write_tokens: written,
      ...(writtenFor1h !== undefined && { cache_write_1h_tokens: writtenFor1h }),
    });
    const { cached_input_tokens: cached = 0 } = usage.quantities;
    expect(normaliseUsage(usage).input_tokens).toBe(cached > 100 ? 100 : 100 - cached);
  });

  test("input that was not reported is not made up", () => {
    expect(inputOf("inclusive", { cached_input_tokens: 3 })).toBeUndefined();
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

  test("cache writes without a price of their own are priced as input, and are not unpriced", () => {
    const quantities = { input_tokens: 10, cache_write_tokens: 4, cache_write_1h_tokens: 3 };
    const usage = usageOf("exclusive", quantities);
    const asInput = { costPico: 17n * 2_500_000n, unpriced: false };
    expect(priceUsage(usage, prices)).toEqual(asInput);
    // A complete write of prices marks what it leaves out.
    expect(priceUsage(usage, { ...prices, cache_write_tokens: null, cache_write_1h_tokens: null })).toEqual(
      asInput,
    );
  });

  test("cache writes with a price of their own are priced apart, each by how long it is kept", () => {
    const quantities = { input_tokens: 10, cache_write_tokens: 4, cache_write_1h_tokens: 3 };
    const usage = usageOf("exclusive", quantities);
    const priced = (more: PriceSet) => priceUsage(usage, { ...prices, ...more }).costPico;
    expect(priced({ cache_write_tokens: 3_125_000, cache_write_1h_tokens: 5_000_000 })).toBe(
      10n * 2_500_000n + 4n * 3_125_000n + 3n * 5_000_000n,
    );
    expect(priced({ cache_write_tokens: 3_125_000 })).toBe(13n * 2_500_000n + 4n * 3_125_000n);
    expect(priced({ cache_write_tokens: 0 })).toBe(13n * 2_500_000n);
  });

  test("what an inclusive prompt wrote to a cache costs what writing costs, and as input without a price of its own", () => {
    const usage = usageOf("inclusive", { input_tokens: 1000, output_tokens: 10, cache_write_tokens: 800 });
    const inForce = { input_tokens: 1_000_000, output_tokens: 6_000_000 };
    // 200 × 1 + 800 × 1.25 + 10 × 6, per million: 0.00126.
    expect(priceUsage(usage, { ...inForce, cache_write_tokens: 1_250_000 })).toEqual({
      costPico: 1_260_000_000n,
      unpriced: false,
    });
    expect(priceUsage(usage, inForce)).toEqual({ costPico: 1_060_000_000n, unpriced: false });
    expect(priceUsage(usage, { output_tokens: 6_000_000, cache_write_tokens: 1_250_000 })).toEqual({
      costPico: 1_060_000_000n,
      unpriced: true,
    });
  });

  test("cache writes are unpriced only when neither they nor input have a price", () => {
    const usage = usageOf("exclusive", { output_tokens: 1, cache_write_tokens: 4 });
    expect(priceUsage(usage, { output_tokens: 3 })).toEqual({ costPico: 3n, unpriced: true });
    expect(priceUsage(usage, { output_tokens: 3, cache_write_tokens: 5 })).toEqual({
      costPico: 23n,
      unpriced: false,
    });
    expect(priceUsage(usage, { output_tokens: 3, cache_write_1h_tokens: 5 })).toEqual({
      costPico: 3n,
      unpriced: true,
    });
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

  test("a cost on either side of the largest safe integer is exact", () => {
    const price = 94_906_267;
    const squared = BigInt(price) * BigInt(price);
    for (const [input, output] of [
      [price - 5, 0],
      [price - 1, price - 2],
      [price, 0],
      [price, 1],
      [price, price],
    ] as const) {
      const usage = usageOf("inclusive", { input_tokens: input, output_tokens: output });
      expect(priceUsage(usage, { input_tokens: price, output_tokens: 1 }).costPico).toBe(
        squared - BigInt(price - input) * BigInt(price) + BigInt(output),
      );
    }
    const edge = Number.MAX_SAFE_INTEGER;
    for (const output of [0, 1, 2, 3]) {
      const usage = usageOf("inclusive", { input_tokens: edge, output_tokens: output });
      expect(priceUsage(usage, { input_tokens: 1, output_tokens: 1 }).costPico).toBe(
        BigInt(edge) + BigInt(output),
      );
    }
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
        // Whole: what a difference of three fractions leaves may be a last digit.
        cache_write_tokens: fc.oneof(fc.nat(50), fc.nat(2 ** 30)),
        cache_write_1h_tokens: fc.oneof(fc.nat(50), fc.nat(2 ** 30)),
      },
      { requiredKeys: [] },
    );
    const price = fc.oneof(fc.constant(null), fc.constant(0), fc.integer({ min: 0, max: 1e15 }));
    const priceSet = fc.record(
      {
        input_tokens: price,
        output_tokens: price,
        cached_input_tokens: price,
        audio_seconds: price,
        cache_write_tokens: price,
        cache_write_1h_tokens: price,
      },
      { requiredKeys: [] },
    );
    const usage = fc.record({ shape: fc.constantFrom<UsageShape>("inclusive", "exclusive"), quantities });
    fc.assert(
      fc.property(usage, priceSet, (reported, set) => {
        expect(priceUsage(reported, set)).toEqual(priceApart(reported, set));
      }),
      { numRuns: 1000 },
    );
  });
});

describe("what requests cost by unit", () => {
  const prices = { input_tokens: 10, cache_write_tokens: 12, cached_input_tokens: 1 };

  test("is that of a unit with its parts, and nothing for one without a price", () => {
    const quantities = { input_tokens: 3, cache_write_tokens: 2, cached_input_tokens: 5, output_tokens: 7 };
    expect(toUnitCosts({ prices, quantities })).toEqual({ input_tokens: 54n, cached_input_tokens: 5n });
  });

  test("of a cache: what writes cost, and what input would have cost more than reads and writes", () => {
    const reading = { prices, quantities: { input_tokens: 3, cached_input_tokens: 5 } };
    const writing = { prices, quantities: { cache_write_tokens: 30 } };
    expect(toCacheCost([reading])).toEqual({ writeCostPico: 0n, savingPico: 45n });
    expect(toCacheCost([writing])).toEqual({ writeCostPico: 360n, savingPico: -60n });
    expect(toCacheCost([reading, writing])).toEqual({ writeCostPico: 360n, savingPico: -15n });
    expect(toCacheCost([])).toEqual({ writeCostPico: 0n, savingPico: 0n });
  });

  test("of a cache is not told where a price of it is missing, and a missing price is never zero", () => {
    const quantities = { cached_input_tokens: 5, cache_write_tokens: 2 };
    const told = { prices, quantities };
    for (const [missing, writeCostPico] of [
      [{ input_tokens: 10, cache_write_tokens: 12 }, 24n],
      [{ cache_write_tokens: 12, cached_input_tokens: 1 }, 24n],
      [{ cached_input_tokens: 1 }, null],
    ] as const) {
      expect(toCacheCost([{ prices: missing, quantities }])).toEqual({ writeCostPico, savingPico: null });
      expect(toCacheCost([{ prices: missing, quantities }, told]).savingPico).toBeNull();
    }
  });
});

function toMillionths(count: number): number {
  return count / 1e6;
}

const WRITES = ["cache_write_tokens", "cache_write_1h_tokens"];

/** The rules of the decisions in millionths of a unit, said apart. */
function priceApart({ shape, quantities }: ReportedUsage, prices: PriceSet) {
  const millionths = (quantity: number) => BigInt(Math.round(quantity * 1e6));
  const sums = new Map(Object.entries(quantities).map(([unit, quantity]) => [unit, millionths(quantity)]));
  const input = sums.get("input_tokens");
  const cached = sums.get("cached_input_tokens") ?? 0n;
  if (shape === "inclusive" && input !== undefined) {
    let rest = cached <= input ? input - cached : input;
    for (const unit of WRITES) {
      const written = sums.get(unit) ?? 0n;
      const within = written < rest ? written : rest;
      if (sums.has(unit)) sums.set(unit, within);
      rest -= within;
    }
    sums.set("input_tokens", rest);
  }
  for (const unit of WRITES) if (sums.get(unit) === 0n) sums.delete(unit);
  const own = (unit: string) => (prices as { [unit: string]: number | null })[unit] ?? null;
  const priceOf = (unit: string) =>
    own(unit) ?? (unit.startsWith("cache_write") ? own("input_tokens") : null);
  const priced = [...sums].filter(([unit]) => priceOf(unit) !== null);
  const exact = priced.reduce((sum, [unit, amount]) => sum + amount * BigInt(priceOf(unit) ?? 0), 0n);
  return {
    costPico: priced.length === 0 ? null : (exact + 500_000n) / 1_000_000n,
    unpriced: [...sums].some(([unit, amount]) => amount > 0n && priceOf(unit) === null),
  };
}
