import type { InstantUs } from "#kernel/clock.ts";
import { REPORT_UNITS, UNIT_COLUMNS, UNIT_TABLE } from "#kernel/units.ts";
import type { UsageFigures } from "#usage/journal-line.ts";
import type { ReportedUsage } from "#usage/event.ts";
import { normaliseUsage } from "#usage/cost.ts";

/** 10^9 pico: the seam of the two halves of an amount. */
export const COST_SEAM = 1_000_000_000;
const COST_SEAM_BIG = BigInt(COST_SEAM);

/** An amount in two halves that add up exactly; `lo` is below the seam. */
export interface SplitCost {
  readonly hi: number;
  readonly lo: number;
}

/** Where and as what an event is counted. The day follows from `id`, so that totals and rows agree about a boundary. */
export interface CountedEvent {
  readonly id: InstantUs;
  readonly combination: number;
  readonly result: number;
  readonly ending: UsageFigures;
  readonly cost: SplitCost | null;
  /** The cost that its provider told. */
  readonly costReported: SplitCost | null;
  readonly amounts: Amounts;
}

/** The quantities of a usage that reports count, in the order of UNIT_COLUMNS and in their multiples; null for what was not reported. */
export type Amounts = readonly (number | null)[];

const NO_AMOUNTS: Amounts = UNIT_COLUMNS.map(() => null);

export function toAmounts(usage: ReportedUsage | null): Amounts {
  if (usage === null) return NO_AMOUNTS;
  const quantities = normaliseUsage(usage);
  return REPORT_UNITS.map((unit) => {
    const quantity = quantities[unit];
    const { scale } = UNIT_TABLE[unit];
    if (quantity === undefined) return null;
    return scale === 1 ? quantity : Math.round(quantity * scale);
  });
}

export function splitCost(costPico: number | bigint | null): SplitCost | null {
  if (costPico === null) return null;
  const whole = Number(costPico);
  // A division of BigInts takes ten times as long, and nearly all costs are safe numbers.
  if (Number.isSafeInteger(whole) && whole >= 0) {
    const hi = Math.floor(whole / COST_SEAM);
    return { hi, lo: whole - hi * COST_SEAM };
  }
  const big = BigInt(costPico);
  return { hi: Number(big / COST_SEAM_BIG), lo: Number(big % COST_SEAM_BIG) };
}

export function joinCost(hi: number, lo: number): bigint {
  return BigInt(hi) * COST_SEAM_BIG + BigInt(lo);
}

/**
 * The SQL that adds up the two halves of an amount, such as `cost_hi` and `cost_lo`. As whole numbers: from nine million rows
 * on, low halves add up to more than a REAL holds exactly.
 */
export function toCostSums(amount: string, toColumn: (column: string) => string): string {
  const [high, low] = [`${amount}_hi`, `${amount}_lo`];
  const sum = `sum(CAST(${toColumn(low)} AS INTEGER))`;
  return `sum(${toColumn(high)}) + ${sum} / ${COST_SEAM} AS ${high}, ${sum} % ${COST_SEAM} AS ${low}`;
}
