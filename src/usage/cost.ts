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
  DETAILS_OF,
  isUnit,
} from "#kernel/units.ts";
import type { InstantUs } from "#kernel/clock.ts";
import {
  type AppliedPrices,
  type ModelPrices,
  type PriceConditions,
  type PriceVariant,
  NO_PRICES,
  toConditionName,
  toMinutes,
  toTierName,
} from "#kernel/price-variants.ts";
import type { ReportedUsage, UsageEnding } from "./event.ts";
import { type JsonObject, isJsonObject } from "#kernel/json.ts";

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
 * The cost of a request (decisions, "Usage and prices"). Exact: the sum over the billed quantities, rounded once, half up, to
 * whole pico; whole quantities need no rounding.
 */
export function priceUsage(usage: ReportedUsage | null, prices: PriceSet): Cost {
  if (usage === null) return { costPico: null, unpriced: false };
  const { costPico, unpriced } = priceDisjoint(toDisjointQuantities(usage), prices);
  return { costPico: costPico === null ? null : BigInt(costPico), unpriced };
}

/** `priceUsage` of what has each token once. A cost is a number where that is exact: millions of BigInts take longer than all else. */
export function priceDisjoint(
  disjoint: Quantities,
  prices: PriceSet,
): Pick<Cost, "unpriced"> & { readonly costPico: number | bigint | null } {
  let sum = 0;
  let priced = false;
  let unpriced = false;
  for (const unit in disjoint) {
    if (!isUnit(unit)) continue;
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
  return { costPico: priced ? sum : null, unpriced };
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
  const costPico = costPicoMicros === null ? null : roundMicros(costPicoMicros);
  return { costPico, unpriced };
}

/** What requests used that were billed at one set of prices, each token once. */
export interface BilledQuantities {
  readonly prices: PriceSet;
  readonly quantities: Quantities;
}

export type UnitCosts = { readonly [unit in ReportUnit]?: Pico };

/** The cost by report's unit, each with its details, rounded to whole pico; without units that have no price. */
export function toUnitCosts({ prices, quantities }: BilledQuantities): UnitCosts {
  return byUnit(REPORT_UNITS, (unit) => {
    const parts = byUnit([unit, ...(DETAILS_OF[unit] ?? [])], (part) => quantities[part]);
    return priceUsage({ shape: "exclusive", quantities: parts }, prices).costPico ?? undefined;
  });
}

const WRITE_UNITS = ["cache_write_tokens", "cache_write_1h_tokens"] as const;
/** The units that a prompt cache is billed by. */
export const CACHE_UNITS = ["cached_input_tokens", ...WRITE_UNITS] as const;

/** What a prompt cache cost and saved, at the prices that requests were billed at. */
export interface CacheCost {
  /** Null where something was written that had no price. */
  readonly writeCostPico: Pico | null;
  /**
   * The tokens that were read and written at the price of input, less what they cost: negative where writes cost more than
   * reads saved. Null where some of them had no price, or input had none.
   */
  readonly savingPico: Pico | null;
}

export function toCacheCost(billed: readonly BilledQuantities[]): CacheCost {
  return {
    writeCostPico: addKnown(billed.map((each) => priceParts(each, WRITE_UNITS))),
    savingPico: addKnown(
      billed.map(({ prices, quantities }) => {
        const cost = priceParts({ prices, quantities }, CACHE_UNITS);
        const tokens = CACHE_UNITS.reduce((sum, unit) => sum + (quantities[unit] ?? 0), 0);
        const uncached = priceParts({ prices, quantities: { input_tokens: tokens } }, ["input_tokens"]);
        return cost === null || uncached === null ? null : uncached - cost;
      }),
    ),
  };
}

/** Null where a part of it has no price; nothing costs nothing. */
function priceParts({ prices, quantities }: BilledQuantities, units: readonly Unit[]): Pico | null {
  const parts = byUnit(units, (unit) => quantities[unit]);
  const { costPico, unpriced } = priceUsage({ shape: "exclusive", quantities: parts }, prices);
  return unpriced ? null : (costPico ?? 0n);
}

/** Null where one of them is not known. */
function addKnown(amounts: readonly (Pico | null)[]): Pico | null {
  return amounts.reduce((sum, amount) => (sum === null || amount === null ? null : sum + amount), 0n);
}

/** The exact cost of a quantity, rounded half up to whole pico; only a fraction of a unit needs that. */
export function priceQuantity(quantity: number, pricePico: number): Pico {
  return roundMicros(toMicros(toMillionths(quantity)) * BigInt(pricePico));
}

function roundMicros(costPicoMicros: bigint): Pico {
  return (costPicoMicros + MICROS_PER_UNIT / 2n) / MICROS_PER_UNIT;
}

/** A quantity in millionths of its unit: by its decimal text, so that a reader who multiplies the same text gets the same cost. */
export function toMicros(quantity: number): bigint {
  if (Number.isInteger(quantity)) return BigInt(quantity) * MICROS_PER_UNIT;
  const [whole = "", fraction = ""] = String(quantity).split(".");
  return BigInt(whole + fraction.padEnd(FRACTION_DIGITS, "0"));
}

const isPriced = (prices: PriceSet, unit: Unit) => (prices[unit] ?? null) !== null;

/** True when prices are by the request and by nothing else: what its answer tells is then not asked for. */
export function isPricedByRequestAlone(prices: PriceSet): boolean {
  return isPriced(prices, "requests") && !UNITS.some((unit) => unit !== "requests" && isPriced(prices, unit));
}

/**
 * The usage with the request itself, where the prices that it was billed at have one for it: of one metered request that its
 * upstream answered 2xx. One without prices (`lacks`) counts itself where some price `of` its model is by the request: it would
 * be taken for free otherwise. An answer that told nothing else stays without its usage, unless nothing else has a price; one
 * that is still to be told is counted with what settles it.
 */
export function withBilledRequest(
  usage: ReportedUsage | null,
  prices: AppliedPrices,
  of: ModelPrices = NO_PRICES,
): ReportedUsage | null {
  if (!isBilledByRequest(prices, of) || usage?.shape === "pending") return usage;
  const isAlone = listBillingSets(prices, of).every(isPricedByRequestAlone);
  const shape = usage?.shape ?? (isAlone ? "inclusive" : "begun");
  return { shape, quantities: { ...usage?.quantities, requests: 1 } };
}

/** True where a request itself has a price, or would have one if prices named its tier and region. */
export function isBilledByRequest(prices: AppliedPrices, of: ModelPrices): boolean {
  if (prices.lacks === undefined) return isPriced(prices, "requests");
  return listBillingSets(prices, of).some((set) => isPriced(set, "requests"));
}

function listBillingSets(prices: AppliedPrices, of: ModelPrices): readonly PriceSet[] {
  return prices.lacks === undefined ? [prices] : [of.prices, ...of.variants];
}

/** The units that contain parts. */
const WHOLES = ["input_tokens", "output_tokens"] as const;

/**
 * Each token once: input at the full rate, with cache reads, cache writes, audio and images beside it, and output with its
 * audio beside it (decisions, "Reports"). The cached part is taken out of an inclusive prompt, unless it exceeds it, and then
 * each detail in the order of the units, as far as the rest goes. Never negative.
 */
export function toDisjointQuantities({ shape, quantities }: ReportedUsage): Quantities {
  const { input_tokens: input, cached_input_tokens: cached = 0 } = quantities;
  if (shape !== "inclusive") return quantities;
  const isCachedWithin = input !== undefined && cached > 0 && cached <= input;
  if (!hasDetail(quantities))
    return isCachedWithin ? { ...quantities, input_tokens: input - cached } : quantities;
  const disjoint: { [unit in Unit]?: number } = { ...quantities };
  if (isCachedWithin) disjoint.input_tokens = input - cached;
  for (const whole of WHOLES) {
    const there = disjoint[whole];
    if (there === undefined) continue;
    // Summed up in the order of `toDisjointSql`: of fractions the last digit depends on it.
    let taken = 0;
    for (const detail of DETAILS_OF[whole] ?? []) {
      const quantity = quantities[detail];
      if (quantity === undefined) continue;
      disjoint[detail] = Math.min(quantity, there - Math.min(taken, there));
      taken += quantity;
    }
    disjoint[whole] = there - Math.min(taken, there);
  }
  return disjoint;
}

/** Few usages have any: a loop over what was told takes half the time of one over all units (measured). */
function hasDetail(quantities: Quantities): boolean {
  for (const unit in quantities) if (isUnit(unit) && !isReportUnit(unit)) return true;
  return false;
}

/** Quantities as reports count them: each unit with its details, such as the input with what was written to a cache. */
export function normaliseUsage(usage: ReportedUsage): ReportQuantities {
  const disjoint = toDisjointQuantities(usage);
  return byUnit(REPORT_UNITS, (unit) => sumDetails(disjoint, unit));
}

/** The quantity of a report's unit among those that have each token once. */
export function sumDetails(disjoint: Quantities, unit: ReportUnit): number | undefined {
  let sum = disjoint[unit];
  for (const detail of DETAILS_OF[unit] ?? []) {
    const quantity = disjoint[detail];
    if (quantity !== undefined) sum = (sum ?? 0) + quantity;
  }
  return sum;
}

/** The member that tells the service tier; some providers do so in every event of a stream. */
export const TIER = "service_tier";

const FAST = "fast";

/** The conditions that the usage of an answer tells; null for each that it does not. */
export interface ToldConditions {
  readonly tier: string | null;
  readonly speed: string | null;
  readonly geo: string | null;
}

/**
 * The tier that an answer was served at (specification of money, section 1), which says `own` of itself, or in its `response`;
 * undefined for the standard one.
 */
export function toTier(own: string | null, { tier, speed }: ToldConditions): string | undefined {
  const isFast = speed !== null && toConditionName(speed) === FAST;
  return toTierName(own ?? tier, isFast);
}

/** A member that may tell a condition; null when it tells nothing. */
export function readCondition(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** A cost beyond it, in currency units, is nonsense: the high halves of its sums would leave what a double holds exactly. */
const COST_REPORTED_MAX = 1e9;

/** 10⁻¹⁰ dollars: `cost_in_usd_ticks` of xAI (docs.x.ai/developers/cost-tracking). */
const TICKS_OF_ONE = 1e10;

/** The cost that a usage object tells of its request: `cost`, a number or its `total_cost`, else ticks; null when it tells none. */
export function readCost({ cost, cost_in_usd_ticks: ticks }: JsonObject): number | null {
  const whole = cost ?? (typeof ticks === "number" ? ticks / TICKS_OF_ONE : null);
  const told = isJsonObject(whole) ? whole["total_cost"] : whole;
  return typeof told === "number" && told >= 0 && told <= COST_REPORTED_MAX ? told : null;
}

/** The facts of a request that decide between the prices of its model. */
export interface PricedFacts {
  readonly tier?: string | undefined;
  readonly geo?: string | undefined;
  readonly usage: ReportedUsage | null;
  readonly endedAtUs: InstantUs;
}

const LACKS_TIER: AppliedPrices = { lacks: "tier" };
const LACKS_GEO: AppliedPrices = { lacks: "geo" };

/**
 * The prices of the whole request (specification of money, section 1): of the variants whose conditions all hold, the one with
 * the most. They must name the tier and the region that its answer tells: the standard prices are another tier's.
 */
export function choosePrices({ prices, variants }: ModelPrices, facts: PricedFacts): AppliedPrices {
  const { tier, geo } = facts;
  const chosen = variants.length === 0 ? null : findVariant(variants, facts);
  if (tier !== undefined && chosen?.when.tier !== tier) return LACKS_TIER;
  if (geo !== undefined && chosen?.when.geo !== geo) return LACKS_GEO;
  return chosen ?? prices;
}

function findVariant(variants: readonly PriceVariant[], facts: PricedFacts): PriceVariant | null {
  const input = toWholeInput(facts.usage);
  const minute = Math.floor(facts.endedAtUs / US_PER_MINUTE) % MINUTES_PER_DAY;
  const { tier, geo } = facts;
  let best: PriceVariant | null = null;
  for (const variant of variants) {
    const { when } = variant;
    const holds =
      (when.tier === undefined || when.tier === tier) &&
      (when.geo === undefined || when.geo === geo) &&
      (when.inputOver === undefined || input > when.inputOver) &&
      (when.hours === undefined || isWithin(minute, when.hours));
    if (holds && (best === null || outranks(when, best.when))) best = variant;
  }
  return best;
}

const US_PER_MINUTE = 60_000_000;
const MINUTES_PER_DAY = 1440;

/** Cached and written tokens included. */
function toWholeInput(usage: ReportedUsage | null): number {
  if (usage === null) return 0;
  const { input_tokens: input = 0, cached_input_tokens: cached = 0 } = normaliseUsage(usage);
  return input + cached;
}

function isWithin(minute: number, hours: string): boolean {
  const [start, end] = toMinutes(hours);
  return start < end ? start <= minute && minute < end : start <= minute || minute < end;
}

function outranks(when: PriceConditions, best: PriceConditions): boolean {
  const more = Object.keys(when).length - Object.keys(best).length;
  return more === 0 ? (when.inputOver ?? 0) > (best.inputOver ?? 0) : more > 0;
}

/** The kind of condition that no price of a request names; undefined where its prices hold. */
export function findLack({ tier, prices }: Pick<UsageEnding, "tier" | "prices">): AppliedPrices["lacks"] {
  // Events of before there were variants do not say what they lack.
  return prices.lacks ?? (tier !== undefined && prices.when === undefined ? "tier" : undefined);
}

/** Why a request has no price although its model may have one. */
export function toUnpricedReason(ending: Pick<UsageEnding, "tier" | "geo" | "prices">): string | undefined {
  const lack = findLack(ending);
  return lack === undefined ? undefined : `${lack}: ${ending[lack] ?? ""}`;
}
