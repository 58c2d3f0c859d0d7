import { byUnit, REPORT_UNITS, type ReportQuantities } from "#kernel/units.ts";
import type { UsageBucket, UsageSeries } from "../api/reports.ts";
import { addKnown } from "./measure.ts";

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

export function toTotals(series: readonly UsageBucket[]): Totals {
  const add = (of: (bucket: UsageBucket) => number) => series.reduce((sum, bucket) => sum + of(bucket), 0);
  return {
    requests: add(({ requests }) => requests),
    cancelled: add(({ cancelled }) => cancelled),
    failed: add(({ failed }) => failed),
    unpriced_requests: add(({ unpriced_requests }) => unpriced_requests),
    cost: series.reduce<number | null>((sum, { cost }) => addKnown(sum, cost), null),
    units: byUnit(
      REPORT_UNITS,
      (unit) =>
        series.reduce<number | null>((sum, { units }) => addKnown(sum, units[unit]), null) ?? undefined,
    ),
  };
}

export function toSeriesTotals({ series }: Pick<UsageSeries, "series">): Totals {
  return toTotals(series);
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
