import type { InstantUs } from "#kernel/clock.ts";
import type { UsageFigures } from "#usage/journal-line.ts";

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
