import type { PriceConditions, PriceVariant } from "#kernel/price-variants.ts";
import { byUnit, toPricePerMillion, UNITS, type PriceSet } from "#kernel/units.ts";

/** Prices as requests write them, which views and the audit log tell alike. */

/** Per million units; units without a price are left out. */
export function toPricingView(prices: PriceSet) {
  return byUnit(UNITS, (unit) => {
    const price = prices[unit] ?? null;
    return price === null ? undefined : toPricePerMillion(price);
  });
}

/** `price_variants` beside `pricing`; absent where there are none. */
export function toVariantFields(variants: readonly PriceVariant[]) {
  return variants.length === 0 ? {} : { price_variants: toVariantsView(variants) };
}

export function toVariantsView(variants: readonly PriceVariant[]) {
  return variants.map(({ when, ...prices }) => ({
    when: toConditionsView(when),
    pricing: toPricingView(prices),
  }));
}

export function toConditionsView({ tier, inputOver, geo, hours }: PriceConditions) {
  return {
    ...(tier !== undefined && { tier }),
    ...(inputOver !== undefined && { input_over: inputOver }),
    ...(geo !== undefined && { geo }),
    ...(hours !== undefined && { hours }),
  };
}
