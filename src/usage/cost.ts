import {
  type Pico,
  type PriceSet,
  type Quantities,
  type ReportQuantities,
  type ReportUnit,
  type Unit,
  byUnit,
  findUnitPrice,
  isReportUnit,
  REPORT_UNITS,
  UNITS,
} from "#kernel/units.ts";
import type { ReportedUsage } from "./event.ts";
import { toDisjointQuantities } from "./normalise.ts";

export interface Cost {
  /** Null when no unit was priced. */
  readonly costPico: Pico | null;
  /** True when a unit with a quantity above zero has no price. */
  readonly unpriced: boolean;
}

/** A fraction of a unit (audio seconds) is priced to a millionth, which is what totals keep of it. */
const FRACTION_DIGITS = 6;
const MICROS_PER_UNIT = 1_000_000n;

/** The quantities that a request is billed for, each multiplied by its price: no token is in two of them. */
export function toBilledQuantities(usage: ReportedUsage): Quantities {
  const disjoint = toDisjointQuantities(usage);
  return byUnit(UNITS, (unit) => toBilledQuantity(disjoint[unit]));
}

function toBilledQuantity(quantity: number | undefined): number | undefined {
  return quantity === undefined || Number.isInteger(quantity) ? quantity : toMillionths(quantity);
}

function toMillionths(quantity: number): number {
  const whole = Math.floor(quantity);
  const rounded = whole + Math.round((quantity - whole) * Number(MICROS_PER_UNIT)) / Number(MICROS_PER_UNIT);
  return Number(rounded.toFixed(FRACTION_DIGITS));
}

/**
 * What a request cost (decisions, "Usage and prices"). Exact: the sum over the billed quantities, rounded once, half up, to
 * whole pico; whole quantities need no rounding.
 */
export function priceUsage(usage: ReportedUsage | null, prices: PriceSet): Cost {
  if (usage === null) return { costPico: null, unpriced: false };
  const disjoint = toDisjointQuantities(usage);
  let sum = 0;
  let priced = false;
  let unpriced = false;
  for (const unit of UNITS) {
    const quantity = disjoint[unit];
    if (quantity === undefined) continue;
    if (!Number.isInteger(quantity)) return priceInMillionths(disjoint, prices);
    const pricePico = findUnitPrice(prices, unit);
    if (pricePico === null) unpriced ||= quantity > 0;
    // A row of the request log tells no detail of zero, so that none makes a cost of zero.
    else if (quantity > 0 || isReportUnit(unit)) {
      sum += quantity * pricePico;
      priced = true;
    }
  }
  // A sum of whole numbers that is safe had no term that was rounded.
  if (sum > Number.MAX_SAFE_INTEGER) return priceInMillionths(disjoint, prices);
  return { costPico: priced ? BigInt(sum) : null, unpriced };
}

/** Prices any quantities exactly, with BigInt: some fifteen times slower than numbers (measured). */
function priceInMillionths(disjoint: Quantities, prices: PriceSet): Cost {
  let costPicoMicros: bigint | null = null;
  let unpriced = false;
  for (const unit of UNITS) {
    const reported = disjoint[unit];
    const quantity = toBilledQuantity(reported);
    if (reported === undefined || quantity === undefined) continue;
    const pricePico = findUnitPrice(prices, unit);
    // As reported: a quantity that rounds to nothing has no price either, and reports count it from what is stored.
    if (pricePico === null) unpriced ||= reported > 0;
    else if (quantity > 0 || isReportUnit(unit))
      costPicoMicros = (costPicoMicros ?? 0n) + toMicros(quantity) * BigInt(pricePico);
  }
  const costPico = costPicoMicros === null ? null : (costPicoMicros + MICROS_PER_UNIT / 2n) / MICROS_PER_UNIT;
  return { costPico, unpriced };
}

export interface PricedTotals extends Pick<Cost, "costPico"> {
  /** Units with a quantity above zero that have no price. */
  readonly unpricedUnits: readonly ReportUnit[];
}

/** What totals of reports would cost at these prices, exactly. What reports count as input costs what input costs, cache writes too. */
export function priceTotals(totals: ReportQuantities, prices: PriceSet): PricedTotals {
  let costPicoMicros: bigint | null = null;
  const unpricedUnits: ReportUnit[] = [];
  for (const unit of REPORT_UNITS) {
    const quantity = totals[unit];
    if (quantity === undefined) continue;
    const pricePico = findUnitPrice(prices, unit);
    if (pricePico !== null) costPicoMicros = (costPicoMicros ?? 0n) + toMicros(quantity) * BigInt(pricePico);
    else if (quantity > 0) unpricedUnits.push(unit);
  }
  const costPico = costPicoMicros === null ? null : (costPicoMicros + MICROS_PER_UNIT / 2n) / MICROS_PER_UNIT;
  return { costPico, unpricedUnits };
}

/** By its decimal text, so that a reader who multiplies the same text gets the same cost. */
function toMicros(quantity: number): bigint {
  if (Number.isInteger(quantity)) return BigInt(quantity) * MICROS_PER_UNIT;
  const [whole = "", fraction = ""] = String(quantity).split(".");
  return BigInt(whole + fraction.padEnd(FRACTION_DIGITS, "0"));
}

const isPriced = (prices: PriceSet, unit: Unit) => (prices[unit] ?? null) !== null;

/** Whether prices are by the request and by nothing else: what its answer tells is then not asked for. */
export function isPricedByRequestAlone(prices: PriceSet): boolean {
  return isPriced(prices, "requests") && !UNITS.some((unit) => unit !== "requests" && isPriced(prices, unit));
}

/**
 * The usage with the request itself, where `prices` has a price for it: of one metered request that its upstream answered
 * 2xx. An answer that told nothing else stays without its usage, unless nothing else has a price; one that is still to be
 * told is counted with what settles it.
 */
export function withBilledRequest(usage: ReportedUsage | null, prices: PriceSet): ReportedUsage | null {
  if (!isPriced(prices, "requests") || usage?.shape === "pending") return usage;
  const shape = usage?.shape ?? (isPricedByRequestAlone(prices) ? "inclusive" : "begun");
  return { shape, quantities: { ...usage?.quantities, requests: 1 } };
}
