import {
  type Quantities,
  type ReportQuantities,
  byUnit,
  DETAIL_UNITS,
  REPORT_UNITS,
  toReportUnit,
} from "#kernel/units.ts";
import type { ReportedUsage } from "./event.ts";

/**
 * Each token once: input at the full rate, with cache reads and cache writes beside it (decisions, "Reports"). The cached
 * part is taken out of an inclusive prompt, unless it exceeds it. Never negative.
 */
export function toDisjointQuantities({ shape, quantities }: ReportedUsage): Quantities {
  const { input_tokens: input, cached_input_tokens: cached } = quantities;
  const isCachedWithin =
    shape === "inclusive" && input !== undefined && cached !== undefined && cached <= input;
  return isCachedWithin ? { ...quantities, input_tokens: input - cached } : quantities;
}

/** Quantities as reports count them: each unit with its details, such as the input with what was written to a cache. */
export function normaliseUsage(usage: ReportedUsage): ReportQuantities {
  const disjoint = toDisjointQuantities(usage);
  return byUnit(REPORT_UNITS, (unit) => {
    let sum = disjoint[unit];
    for (const detail of DETAIL_UNITS) {
      const quantity = disjoint[detail];
      if (quantity !== undefined && toReportUnit(detail) === unit) sum = (sum ?? 0) + quantity;
    }
    return sum;
  });
}
