import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { byUnit, picoToNumber, UNITS, type PriceSet, type Quantities } from "#kernel/units.ts";
import { priceUsage, normaliseUsage } from "#usage/cost.ts";
import { USAGE_SHAPES } from "#usage/event.ts";
import { toReportUnits, toRequestUnits } from "#views/request-units.ts";

const tokens = fc.oneof(fc.nat(50), fc.nat(2 ** 30), fc.constantFrom(0, 19.5, 0.25));
const seconds = fc.oneof(fc.nat(3600), fc.double({ min: 0, max: 3600, noNaN: true }));
const price = fc.oneof(fc.constant(null), fc.integer({ min: 0, max: 1e12 }));
const quantities: fc.Arbitrary<Quantities> = fc.record(
  {
    input_tokens: tokens,
    output_tokens: tokens,
    cached_input_tokens: tokens,
    audio_seconds: seconds,
    cache_write_tokens: tokens,
    cache_write_1h_tokens: tokens,
  },
  { requiredKeys: [] },
);
const usage = fc.record({ shape: fc.constantFrom(...USAGE_SHAPES), quantities });
const priceSet = fc
  .array(price, { minLength: UNITS.length, maxLength: UNITS.length })
  .map((prices): PriceSet => byUnit(UNITS, (unit) => prices[UNITS.indexOf(unit)]));

describe("a row of the request log", () => {
  test("has quantities and prices that add up to its cost, exactly, from its JSON alone", () => {
    fc.assert(
      fc.property(usage, priceSet, (reported, prices) => {
        const { costPico } = priceUsage(reported, prices);
        const json = JSON.stringify(toRequestUnits(reported, prices));
        expect(toCost(JSON.parse(json))).toBe(costPico === null ? null : picoToNumber(costPico));
      }),
      { numRuns: 2000 },
    );
  });

  test("gives the quantities of the reports, whatever shape the provider's usage had", () => {
    fc.assert(
      fc.property(usage, priceSet, (reported, prices) => {
        const counted = normaliseUsage(reported);
        const read = toReportUnits(toRequestUnits(reported, prices));
        for (const unit of ["input_tokens", "output_tokens", "cached_input_tokens", "audio_seconds"] as const)
          expect(read[unit] ?? 0).toBeCloseTo(counted[unit] ?? 0, 5);
      }),
    );
  });

  test("has no details when units and prices tell all, and never a cache write of zero", () => {
    const told = { input_tokens: 5, output_tokens: 2, cache_write_tokens: 0, cache_write_1h_tokens: 0 };
    const row = toRequestUnits({ shape: "exclusive", quantities: told }, { input_tokens: 3 });
    expect(row).toEqual({
      units: { input_tokens: 5, output_tokens: 2 },
      unit_prices: { input_tokens: 0.000003, output_tokens: null },
    });
    expect("unit_details" in toRequestUnits(null, {})).toBe(false);
  });
});

interface Line {
  readonly quantity: number;
  readonly price: number | null;
}

interface Row {
  readonly units: { readonly [unit: string]: number };
  readonly unit_prices: { readonly [unit: string]: number | null };
  readonly unit_details?: { readonly [unit: string]: Line };
}

/** The sum that the schema's description tells, in exact decimals. */
function toCost({ units, unit_prices: prices, unit_details: details = {} }: Row): number | null {
  const others = Object.entries(units)
    .filter(([unit]) => details[unit] === undefined)
    .map(([unit, quantity]) => ({ quantity, price: prices[unit] ?? null }));
  let sum: bigint | null = null;
  for (const { quantity, price: perMillion } of [...others, ...Object.values(details)])
    if (perMillion !== null) sum = (sum ?? 0n) + toDecimal(quantity) * toDecimal(perMillion);
  // A quantity and a price have twelve decimals each here, and a price is per million: 30 in all, of which twelve stay.
  return sum === null ? null : picoToNumber((sum + 10n ** 18n / 2n) / 10n ** 18n);
}

const DECIMALS = 12;

function toDecimal(value: number): bigint {
  const [digits = "", exponent = "0"] = String(value).split("e");
  const [whole = "", fraction = ""] = digits.split(".");
  const shift = DECIMALS + Number(exponent) - fraction.length;
  if (shift < 0) throw new Error(`${value} is finer than a quantity or a price of a row`);
  return BigInt(whole + fraction) * 10n ** BigInt(shift);
}
