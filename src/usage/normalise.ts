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
 * part is taken out of an inclusive prompt, unless it exceeds it, and then what was written, as far as the rest goes. Never
 * negative.
 */
export function toDisjointQuantities({ shape, quantities }: ReportedUsage): Quantities {
  const {
    input_tokens: input,
    cached_input_tokens: cached = 0,
    cache_write_tokens: written,
    cache_write_1h_tokens: writtenFor1h,
  } = quantities;
  if (shape !== "inclusive" || input === undefined) return quantities;
  const uncached = cached <= input ? input - cached : input;
  if (written === undefined && writtenFor1h === undefined)
    return uncached === input ? quantities : { ...quantities, input_tokens: uncached };
  const billed = Math.min(written ?? 0, uncached);
  return {
    ...quantities,
    // In the order of `toDisjointSql`: of fractions the last digit depends on it.
    input_tokens: uncached - Math.min((written ?? 0) + (writtenFor1h ?? 0), uncached),
    ...(written !== undefined && { cache_write_tokens: billed }),
    ...(writtenFor1h !== undefined && {
      cache_write_1h_tokens: Math.min(writtenFor1h, uncached - billed),
    }),
  };
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
