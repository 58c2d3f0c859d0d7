import type { Pico, PriceSet } from "#kernel/units.ts";
import { UNITS } from "#kernel/units.ts";
import type { ReportedUsage } from "./event.ts";
import { normaliseUsage } from "./normalise.ts";

export interface Cost {
  /** Null when no unit was priced. */
  readonly costPico: Pico | null;
  /** True when a unit with a quantity above zero has no price. */
  readonly unpriced: boolean;
}

/** A fraction of a unit (audio seconds) is priced to a millionth, which is what totals keep of it. */
const MICROS_PER_UNIT = 1_000_000n;

/**
 * What a request cost, from its normalised quantities, so that a cache read is never billed twice (decisions, "Usage and
 * prices"). Exact: the sum over the units, rounded once, half up, to whole pico; whole quantities need no rounding.
 */
export function priceUsage(usage: ReportedUsage | null, prices: PriceSet): Cost {
  if (usage === null) return { costPico: null, unpriced: false };
  const quantities = normaliseUsage(usage);
  let costPicoMicros: bigint | null = null;
  let unpriced = false;
  for (const unit of UNITS) {
    const quantity = quantities[unit];
    if (quantity === undefined) continue;
    const pricePico = prices[unit] ?? null;
    if (pricePico === null) unpriced ||= quantity > 0;
    else costPicoMicros = (costPicoMicros ?? 0n) + toMicros(quantity) * BigInt(pricePico);
  }
  const costPico = costPicoMicros === null ? null : (costPicoMicros + MICROS_PER_UNIT / 2n) / MICROS_PER_UNIT;
  return { costPico, unpriced };
}

function toMicros(quantity: number): bigint {
  const whole = Math.floor(quantity);
  return BigInt(whole) * MICROS_PER_UNIT + BigInt(Math.round((quantity - whole) * Number(MICROS_PER_UNIT)));
}
