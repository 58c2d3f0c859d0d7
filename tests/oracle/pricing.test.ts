import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { choosePrices, priceUsage } from "#usage/cost.ts";
import { scale } from "../support/scale.ts";
import { arbitraryUsageTold } from "./events.ts";
import { arbitraryConditions, arbitraryModelPrices, toApplied, toMoney } from "./pricing.ts";

test("every request is billed at the prices that section 1 says, at any tier, region, input and hour, to the pico", () => {
  const seen = { standard: 0, variants: 0, lacking: 0 };
  fc.assert(
    fc.property(
      arbitraryModelPrices,
      arbitraryConditions,
      arbitraryUsageTold,
      fc.integer({ min: 0, max: 4e15 }),
      (model, conditions, usage, endedAtUs) => {
        const answered = { ...conditions, usage, endedAtUs };
        const expected = toApplied(model, answered);
        const chosen = choosePrices(model, answered);
        if (expected.lacks !== undefined) seen.lacking += 1;
        else if (expected.when === undefined) seen.standard += 1;
        else seen.variants += 1;
        expect(chosen).toEqual(expected);
        expect(priceUsage(usage, chosen)).toEqual(toMoney({ usage, prices: expected }));
      },
    ),
    { numRuns: 2_000 * scale },
  );
  // None of the three is left out by the cases that were drawn.
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(100);
});
