import {
  type Quantities,
  type ReportQuantities,
  type Unit,
  byUnit,
  DETAILS_OF,
  isReportUnit,
  isUnit,
  REPORT_UNITS,
} from "#kernel/units.ts";
import type { ReportedUsage } from "./event.ts";

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
  return byUnit(REPORT_UNITS, (unit) => {
    let sum = disjoint[unit];
    for (const detail of DETAILS_OF[unit] ?? []) {
      const quantity = disjoint[detail];
      if (quantity !== undefined) sum = (sum ?? 0) + quantity;
    }
    return sum;
  });
}
