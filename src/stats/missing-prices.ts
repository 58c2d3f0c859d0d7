import type { InstantUs } from "#kernel/clock.ts";
import { compareCodeUnits } from "#kernel/text.ts";
import { REPORT_UNITS, UNIT_TABLE } from "#kernel/units.ts";
import { keepMostUsed } from "./grouping.ts";
import type { MissingPrices, UnpricedFacts, UnpricedUnit } from "./store.ts";

/** Rows of the report, since callers of the relay choose names freely; the most used are kept. */
export const MISSING_PRICES_MAX = 1000;

/** A part of what was used of one unit without a price. */
export interface UnpricedUse extends Omit<UnpricedUnit, "quantity"> {
  /** The quantity as totals keep it: audio in microseconds. */
  readonly total: number;
}

/** Adds the parts up by model, those of the relay last, what they lack, prices alone first, and unit. */
export function toUnpricedUses(parts: readonly UnpricedUse[]): Omit<MissingPrices, "snapped"> {
  const sums = new Map<string, Growing>();
  for (const { model, isRelayed, lack, unit, facts, ...part } of parts) {
    const key = JSON.stringify([model, isRelayed, lack, unit]);
    const sum = sums.get(key) ?? {
      model,
      isRelayed,
      lack,
      unit,
      requests: 0,
      total: 0,
      lastSeenUs: 0,
      facts: [],
    };
    sums.set(key, sum);
    sum.facts.push(...facts);
    sum.requests += part.requests;
    sum.total += part.total;
    sum.lastSeenUs = Math.max(sum.lastSeenUs, part.lastSeenUs);
  }
  const sorted = [...sums.values()].sort(
    (left, right) =>
      compareCodeUnits(left.model, right.model) ||
      Number(left.isRelayed) - Number(right.isRelayed) ||
      compareCodeUnits(left.lack?.kind ?? "", right.lack?.kind ?? "") ||
      compareCodeUnits(left.lack?.value ?? "", right.lack?.value ?? "") ||
      REPORT_UNITS.indexOf(left.unit) - REPORT_UNITS.indexOf(right.unit),
  );
  const { rows, truncated } = keepMostUsed(sorted, MISSING_PRICES_MAX);
  const units = rows.map(({ model, isRelayed, lack, unit, requests, total, lastSeenUs, facts }) => {
    const quantity = total / UNIT_TABLE[unit].scale;
    return { model, isRelayed, lack, unit, requests, quantity, lastSeenUs, facts };
  });
  return { rows: units, truncated };
}

interface Growing extends UnpricedUse {
  requests: number;
  total: number;
  lastSeenUs: InstantUs;
  readonly facts: UnpricedFacts[];
}
