import { picoToNumber, UNITS, type Pico, type PriceSet, type Unit } from "#kernel/units.ts";
import { priceUsage } from "#usage/cost.ts";
import type { ReportedUsage, UsageShape } from "#usage/event.ts";
import { normaliseUsage } from "#usage/normalise.ts";
import type { RequestRow } from "../../api/reports.ts";

type Metered = Pick<RequestRow, "units" | "unit_prices" | "cost">;

/** One product of the sum that makes a cost. */
export interface CostLine {
  /** `cache_writes` are input tokens that were written to a cache: priced as input, and kept beside the units. */
  readonly unit: Unit | "cache_writes";
  readonly quantity: number;
  /** Null: the unit has no price, and no part in the sum. */
  readonly pricePerMillion: number | null;
  /** In the currency unit, nearest to the exact product; null without a price. */
  readonly amount: number | null;
}

export interface CostReading {
  readonly lines: readonly CostLine[];
  /** True when the priced lines add up to the cost of the row, to its last digit; also when nothing was priced. */
  readonly isExact: boolean;
  /** Input tokens that are in the row but not in the line of input, since they were read from a cache. */
  readonly cachedWithinInput: number;
}

/**
 * How a row's cost comes out of its units and prices. A row keeps the units as the upstream counted them, and not whether
 * its input contains the cached part: that is found by pricing each possibility as the server does and keeping the one
 * that gives the cost. When none does, the lines are the units as they are, without amounts.
 */
export function readCost(row: Metered): CostReading {
  const prices = toPriceSet(row);
  // Null also when nothing was used: there is nothing to explain, and the units stand as they are.
  const usages = row.cost === null ? [] : toPossibleUsages(row, prices);
  const usage = usages.find((possible) => toCost(possible, prices) === row.cost);
  if (usage === undefined) {
    const lines = UNITS.flatMap((unit) => toLine(row, unit, row.units[unit], false));
    return { lines, isExact: row.cost === null, cachedWithinInput: 0 };
  }
  const { cacheCreationTokens: writes } = usage;
  const priced = normaliseUsage({ ...usage, cacheCreationTokens: null });
  const input = row.units.input_tokens ?? 0;
  return {
    lines: [
      ...toLine(row, "input_tokens", priced.input_tokens, true),
      ...(writes === null ? [] : [toCacheWrites(row, writes)]),
      ...UNITS.filter((unit) => unit !== "input_tokens").flatMap((unit) =>
        toLine(row, unit, row.units[unit], true),
      ),
    ],
    isExact: true,
    cachedWithinInput: usage.shape === "inclusive" ? input - (priced.input_tokens ?? input) : 0,
  };
}

/** Whether something of it has no price beside what has one: the cost is then too low. */
export function isPartlyPriced({ cost, units, unit_prices: prices }: Metered): boolean {
  return cost !== null && UNITS.some((unit) => (units[unit] ?? 0) > 0 && (prices[unit] ?? null) === null);
}

/** Most likely first: two that give the same cost are then told as the usual one. */
function toPossibleUsages({ units, cost }: Metered, prices: PriceSet): readonly ReportedUsage[] {
  const toUsage = (shape: UsageShape, cacheCreationTokens: number | null): ReportedUsage => ({
    shape,
    quantities: units,
    cacheCreationTokens,
  });
  const beside = toUsage("exclusive", null);
  const writes = cost === null ? null : findCacheWrites(cost, beside, prices);
  return [toUsage("inclusive", null), beside, ...(writes === null ? [] : [toUsage("exclusive", writes)])];
}

/** What is left of the cost, in whole tokens at the price of input. */
function findCacheWrites(cost: number, usage: ReportedUsage, prices: PriceSet): number | null {
  const price = BigInt(prices.input_tokens ?? 0);
  const rest = toPico(cost) - (priceUsage(usage, prices).costPico ?? 0n);
  return price > 0n && rest > 0n && rest % price === 0n ? Number(rest / price) : null;
}

function toCost(usage: ReportedUsage, prices: PriceSet): number | null {
  const { costPico } = priceUsage(usage, prices);
  return costPico === null ? null : picoToNumber(costPico);
}

function toLine(row: Metered, unit: Unit, quantity: number | undefined, hasAmount: boolean): CostLine[] {
  if (quantity === undefined) return [];
  const pricePerMillion = row.unit_prices[unit] ?? null;
  const amount = hasAmount ? toCost(toSingle(unit, quantity), toPriceSet(row)) : null;
  return [{ unit, quantity, pricePerMillion, amount }];
}

function toCacheWrites(row: Metered, quantity: number): CostLine {
  const amount = toCost(toSingle("input_tokens", quantity), toPriceSet(row));
  return { unit: "cache_writes", quantity, pricePerMillion: row.unit_prices.input_tokens ?? null, amount };
}

function toSingle(unit: Unit, quantity: number): ReportedUsage {
  return { shape: "exclusive", quantities: { [unit]: quantity }, cacheCreationTokens: null };
}

const PICO_PER_MILLIONTH = 1e6;

/** Prices come as JSON numbers per million; in pico per unit they are whole, as the server keeps them. */
function toPriceSet({ unit_prices: perMillion }: Metered): PriceSet {
  const toPricePico = (unit: Unit): number | null => {
    const price = perMillion[unit] ?? null;
    return price === null ? null : Math.round(price * PICO_PER_MILLIONTH);
  };
  return Object.fromEntries(UNITS.map((unit) => [unit, toPricePico(unit)]));
}

const PICO_DIGITS = 12;

function toPico(amount: number): Pico {
  return BigInt(amount.toFixed(PICO_DIGITS).replace(".", ""));
}
