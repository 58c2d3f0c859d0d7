import { byUnit, REPORT_UNITS, type ReportQuantities, TOKEN_UNITS } from "#kernel/units.ts";
import type { Units, UsageBucket } from "../api/reports.ts";
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

/** The spelling of an axis, a tooltip and a legend. */
export const MEASURE_FORMATS: { readonly [measure in Measure]: (value: number) => string } = {
  cost: formatMoneyCompact,
  requests: formatCountCompact,
  tokens: formatCountCompact,
};

/** Figures of a bucket, a row or a group. */
interface Figures {
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

/** A whole series as one, with the names of the wire: what tells of it tells of a group as well. */
export interface Totals {
  readonly requests: number;
  readonly cancelled: number;
  readonly failed: number;
  readonly unpriced_requests: number;
  /** Null when nothing was priced. */
  readonly cost: number | null;
  /** A unit that nothing reported is absent. */
  readonly units: ReportQuantities;
}

export function toTotals({ series }: { readonly series: readonly UsageBucket[] }): Totals {
  const add = (of: (bucket: UsageBucket) => number) => series.reduce((sum, bucket) => sum + of(bucket), 0);
  const addAll = (of: (bucket: UsageBucket) => number | null | undefined) =>
    series.reduce<number | null>((sum, bucket) => addKnown(sum, of(bucket)), null);
  return {
    requests: add(({ requests }) => requests),
    cancelled: add(({ cancelled }) => cancelled),
    failed: add(({ failed }) => failed),
    unpriced_requests: add(({ unpriced_requests }) => unpriced_requests),
    cost: addAll(({ cost }) => cost),
    units: byUnit(REPORT_UNITS, (unit) => addAll(({ units }) => units[unit]) ?? undefined),
  };
}

/** As `Cost` takes it. */
export function toCost({ cost, unpriced_requests: unpriced }: Pick<Totals, "cost" | "unpriced_requests">) {
  return { value: cost, unpriced: unpriced > 0, used: cost !== null || unpriced > 0 };
}

/** How much more `now` is than `before`, as a share of `before`. Null when there was none of it, of which no share can be told. */
export function toChange(now: number, before: number | null): number | null {
  if (before === null) return null;
  if (before === 0) return now === 0 ? 0 : null;
  return (now - before) / before;
}
