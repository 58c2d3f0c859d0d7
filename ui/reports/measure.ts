import { TOKEN_UNITS } from "#kernel/units.ts";
import type { Units } from "../api/reports.ts";
import { MEASURES, type Measure } from "../search/breakdown.ts";
import { formatCountCompact, formatMoneyCompact } from "../text/format.ts";

export const MEASURE_LABELS: { readonly [measure in Measure]: string } = {
  cost: "Cost",
  requests: "Requests",
  tokens: "Tokens",
};

export const MEASURE_OPTIONS = MEASURES.map((measure) => ({
  value: measure,
  label: MEASURE_LABELS[measure],
}));

/** How an axis, a tooltip and a legend write it. */
export const MEASURE_FORMATS: { readonly [measure in Measure]: (value: number) => string } = {
  cost: formatMoneyCompact,
  requests: formatCountCompact,
  tokens: formatCountCompact,
};

/** What reports tell of a bucket, a row or a group. */
export interface Figures {
  readonly requests: number;
  /** Null when nothing was priced. */
  readonly cost: number | null;
  readonly units: Units;
}

/** Null where there is no number: nothing priced, or no unit reported. */
export function toMeasured({ requests, cost, units }: Figures, measure: Measure): number | null {
  if (measure === "cost") return cost;
  return measure === "requests" ? requests : countTokens(units);
}

/** Input at the full rate, output and cache reads, which reports count apart (specification, section 2.10). */
export function countTokens(units: Units): number | null {
  return TOKEN_UNITS.map((unit) => units[unit]).reduce<number | null>(addKnown, null);
}

/** Nothing known and nothing known stay nothing; a zero is known. */
export function addKnown(sum: number | null, more: number | null | undefined): number | null {
  return more === null || more === undefined ? sum : (sum ?? 0) + more;
}
