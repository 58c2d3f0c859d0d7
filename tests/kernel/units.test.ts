import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parsePricePerMillion, picoToNumber, toPricePerMillion } from "#kernel/units.ts";
import { ProxyError } from "#kernel/errors.ts";

const refusal = (run: () => unknown): ProxyError => {
  try {
    run();
  } catch (error) {
    if (error instanceof ProxyError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
};

describe("exact money", () => {
  test("a price of up to six decimals per million is kept exactly and read back as it was written", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 ** 15 }), (pico) => {
        const written = Number(`${Math.floor(pico / 1e6)}.${String(pico % 1e6).padStart(6, "0")}`);
        expect(parsePricePerMillion(written, "pricing.input_tokens")).toBe(pico);
        expect(toPricePerMillion(pico)).toBe(written);
      }),
    );
  });

  test("a price that a client computed is the one it meant: rounding of doubles is no finer price", () => {
    expect(parsePricePerMillion(0.1 + 0.2, "p")).toBe(300_000);
    expect(parsePricePerMillion(1.1 * 3, "p")).toBe(3_300_000);
    expect(parsePricePerMillion(5e-8 * 1e6, "p")).toBe(50_000);
    expect(parsePricePerMillion(-0, "p")).toBe(0);
  });

  test("a finer, negative, absurd or non-finite price is invalid_pricing with its param and never rounded", () => {
    for (const price of [
      1e-7,
      2.500_000_1,
      0.000_000_5,
      -1,
      -1e-9,
      1e9 + 1,
      Number.NaN,
      Number.POSITIVE_INFINITY,
    ]) {
      const error = refusal(() => parsePricePerMillion(price, "entries[3].price_per_million"));
      expect([error.code, error.param]).toEqual(["invalid_pricing", "entries[3].price_per_million"]);
    }
  });

  test("an amount becomes the nearest JSON number, also where a double cannot hold its integer", () => {
    expect(picoToNumber(0n)).toBe(0);
    expect(picoToNumber(1n)).toBe(1e-12);
    expect(picoToNumber(2_500_000n)).toBe(0.000_002_5);
    expect(picoToNumber(12_345_678_901_234_567_890n)).toBe(Number("12345678.901234567890"));
    expect(picoToNumber(-1_500_000_000_000n)).toBe(-1.5);
    expect(picoToNumber(9_007_199_254_740_993n * 10n ** 12n)).toBe(9007199254740992);
  });
});
