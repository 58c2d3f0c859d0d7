import { formatInstant, type InstantUs } from "#kernel/clock.ts";
import type { ModelPrices } from "#kernel/price-variants.ts";
import { type Pico, REPORT_UNITS } from "#kernel/units.ts";
import { toCost } from "#stats/series.ts";
import type { ModelUse } from "#stats/store.ts";
import { findLeftOut, priceUse } from "#stats/what-if.ts";
import { toPricingView, toVariantsView } from "#catalog/price-fields.ts";

/** A name whose prices would change, and what was used under it. */
export interface RepricedUse {
  readonly name: string;
  readonly kind: "model" | "relay";
  readonly target: string | null;
  readonly before: ModelPrices;
  readonly after: ModelPrices;
  readonly use: readonly ModelUse[];
}

interface PreviewNotes {
  readonly sinceUs: InstantUs;
  readonly untilUs: InstantUs;
  readonly truncated: boolean;
}

/** A preview → wire JSON: what was used, at the prices of before and of after the change. */
export function toPricePreviewView(names: readonly RepricedUse[], notes: PreviewNotes) {
  return {
    since: formatInstant(notes.sinceUs),
    until: formatInstant(notes.untilUs),
    names: names.map(toNameView),
    truncated: notes.truncated,
  };
}

function toNameView({ name, kind, target, before, after, use }: RepricedUse) {
  const was = toPriced(use, before);
  const will = toPriced(use, after);
  const leftOut = [...new Set([...was.conditionsLeftOut, ...will.conditionsLeftOut])];
  return {
    name,
    kind,
    target,
    pricing_before: toPricingView(before.prices),
    pricing_after: toPricingView(after.prices),
    ...(before.variants.length > 0 && { price_variants_before: toVariantsView(before.variants) }),
    ...(after.variants.length > 0 && { price_variants_after: toVariantsView(after.variants) }),
    requests: use.reduce((sum, { requests }) => sum + requests, 0),
    cost: toCost(addCosts(use.map(({ costPico }) => costPico))),
    cost_before: was.cost,
    cost_after: will.cost,
    unpriced_before: was.unpriced,
    unpriced_after: will.unpriced,
    cache_writes_as_input: was.areDetailsLeftOut || will.areDetailsLeftOut,
    ...(leftOut.length > 0 && { conditions_left_out: leftOut }),
  };
}

function toPriced(uses: readonly ModelUse[], prices: ModelPrices) {
  const parts = uses.map((use) => priceUse(use, prices));
  return {
    ...findLeftOut(uses, prices),
    cost: toCost(addCosts(parts.map(({ costPico }) => costPico))),
    unpriced: REPORT_UNITS.filter((unit) => parts.some(({ unpriced }) => unpriced[unit] !== undefined)),
  };
}

/** Null when none of them is priced. */
function addCosts(costs: readonly (Pico | null)[]): Pico | null {
  return costs.reduce((sum, cost) => (cost === null ? sum : (sum ?? 0n) + cost), null);
}
