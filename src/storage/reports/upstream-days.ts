import type { UpstreamDay } from "#bills/compared-cell.ts";
import { UNBILLED_ENDPOINTS } from "#catalog/endpoint.ts";
import { DAY_US } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { REPORT_UNITS, type ReportUnit, toReportQuantities, type UnitTotals } from "#kernel/units.ts";
import { planBuckets } from "#stats/bucket.ts";
import type { ReportNotes, StatsQuery } from "#stats/store.ts";
import { joinCost } from "#storage/cells/sums.ts";
import type { Script } from "#storage/sql/script.ts";
import type { FoldSum } from "./fold.ts";
import { foldBy } from "./folded-window.ts";
import { type GroupLabel, groupLabelSets } from "./label-groups.ts";
import { readEdges } from "./ledger-edges.ts";
import { readUnpricedUnits } from "./missing-prices.ts";
import { type ResolvedFilter, resolveFilter } from "./request-filter.ts";
import { SERIES_MEASURES, toOutcomeClass } from "./series-figures.ts";
import { SUMS_MAX } from "./series.ts";
import { cutWindow } from "./window-cut.ts";

export interface UpstreamDays extends Pick<ReportNotes, "snapped"> {
  readonly days: readonly UpstreamDay[];
}

/** Rows that are looked at for the units that lack a price: some second. */
const UNPRICED_ROWS_MAX = 1_000_000;
const UNTOLD = "untold";
/** Where a relayed request has no upstream name, its model is what the provider bills. */
const PLACE: readonly GroupLabel[] = [
  { label: "upstream_name" },
  { label: "model" },
  { label: "tier" },
  { label: "shape", toValue: (shape) => (shape === null || shape === "begun" ? UNTOLD : null) },
];
const OK = toOutcomeClass({ outcome: "ok" });

/**
 * By day, upstream model and tier, of requests that name a model and whose endpoint bills, from cells of days. The window has
 * both ends. Throws `range_too_large` for more days than a series may have, and for more
 * than `sumsMax` sums: callers of the relay choose names freely.
 */
export function* readUpstreamDays(query: StatsQuery, sumsMax = SUMS_MAX): Script<UpstreamDays> {
  const { sinceUs, untilUs } = query.window;
  planBuckets({ bucket: "day", sinceUs: sinceUs ?? 0, untilUs, nowUs: untilUs ?? 0 });
  const filter = toBilled(yield* resolveFilter(query));
  const groups = yield* groupLabelSets(filter, PLACE);
  const cut = cutWindow(yield* readEdges(), query.window, { longest: "day", snapUs: DAY_US });
  const toPeriod = (instantUs: number) => Math.floor(instantUs / DAY_US);
  const fold = yield* foldBy(
    { cut, filter, groups, toPeriod, stepUs: DAY_US },
    SERIES_MEASURES,
    toOutcomeClass,
  );
  if (fold.size > sumsMax)
    throw new ProxyError(
      "range_too_large",
      `The window has ${fold.size} days of models, and ${sumsMax} are compared at most: choose fewer days, or a provider.`,
      { param: "since" },
    );
  const days = new Map<string, GrowingDay>();
  const unpricedUnits = yield* readUnpricedUnits(query.window, { filter, groups }, UNPRICED_ROWS_MAX);
  for (const sum of fold.sums()) {
    const [upstream = null, model = null, tier = null, untold = null] = groups.values[sum.group] ?? [];
    const name = upstream ?? model ?? "";
    const key = JSON.stringify([sum.period, name, tier]);
    const day = days.get(key) ?? {
      ...NOTHING,
      dayUs: sum.period * DAY_US,
      model: name,
      tier,
      totals: [],
      unpricedUnits: new Set<ReportUnit>(),
    };
    days.set(key, day);
    for (const unit of unpricedUnits?.({ day: sum.period, group: sum.group }) ?? [])
      day.unpricedUnits.add(unit);
    addSum(day, sum, untold === UNTOLD);
  }
  return { days: [...days.values()].map(toDay), snapped: cut.snapped };
}

/** Nothing is billed without a model, nor for what only asks or counts. */
function toBilled(filter: ResolvedFilter): ResolvedFilter {
  const conditions = [
    ...filter.conditions,
    { label: "model" as const, isMet: () => true },
    { label: "endpoint" as const, isMet: (endpoint: string) => !UNBILLED_ENDPOINTS.has(endpoint) },
  ];
  return { ...filter, conditions, isByOutcomeOnly: false };
}

interface GrowingDay extends Pick<UpstreamDay, "dayUs" | "model" | "tier"> {
  requests: number;
  unmeteredRequests: number;
  unpricedRequests: number;
  pricedRequests: number;
  costHi: number;
  costLo: number;
  reportedRequests: number;
  reportedHi: number;
  reportedLo: number;
  readonly totals: UnitTotals[];
  readonly unpricedUnits: Set<ReportUnit>;
}

const NOTHING = {
  requests: 0,
  unmeteredRequests: 0,
  unpricedRequests: 0,
  pricedRequests: 0,
  costHi: 0,
  costLo: 0,
  reportedRequests: 0,
  reportedHi: 0,
  reportedLo: 0,
};

function addSum(day: GrowingDay, sum: FoldSum, isUntold: boolean): void {
  if (!isUntold || sum.ending === OK) day.requests += sum.requests;
  if (isUntold) day.unmeteredRequests += sum.requests;
  day.unpricedRequests += sum.unpriced_requests;
  day.pricedRequests += sum.priced_requests;
  day.costHi += sum.cost_hi;
  day.costLo += sum.cost_lo;
  day.reportedRequests += sum.cost_reported_requests;
  day.reportedHi += sum.cost_reported_hi;
  day.reportedLo += sum.cost_reported_lo;
  day.totals.push(sum.units);
}

function toDay(day: GrowingDay): UpstreamDay {
  const { reportedRequests: requests } = day;
  return {
    dayUs: day.dayUs,
    model: day.model,
    tier: day.tier,
    requests: day.requests,
    unmeteredRequests: day.unmeteredRequests,
    unpricedRequests: day.unpricedRequests,
    unpricedUnits: REPORT_UNITS.filter((unit) => day.unpricedUnits.has(unit)),
    costPico: day.pricedRequests === 0 ? null : joinCost(day.costHi, day.costLo),
    costReported: requests === 0 ? null : { requests, pico: joinCost(day.reportedHi, day.reportedLo) },
    units: toReportQuantities(day.totals),
  };
}
