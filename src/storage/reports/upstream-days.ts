import { TOOL_UNITS } from "#bills/bill.ts";
import type { ToolUse, UpstreamDay } from "#bills/compared-cell.ts";
import { DAY_US } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import {
  findUnitPrice,
  REPORT_UNITS,
  type ReportUnit,
  toReportQuantities,
  UNIT_TABLE,
  type UnitTotals,
} from "#kernel/units.ts";
import { planBuckets } from "#stats/bucket.ts";
import type { ReportNotes, StatsQuery } from "#stats/store.ts";
import { joinCost } from "#storage/cells/sums.ts";
import { dialectOf, type Script } from "#storage/sql/script.ts";
import { priceQuantity } from "#usage/cost.ts";
import { sumBilled } from "./billed-sums.ts";
import { toBilledMeasures, type Wanted } from "./chosen-events.ts";
import type { FoldSum } from "./fold.ts";
import { foldBy } from "./folded-window.ts";
import { type GroupLabel, groupLabelSets } from "./label-groups.ts";
import { readUnpricedUnits } from "./missing-prices.ts";
import { resolveFilter, toBilled } from "./request-filter.ts";
import { SERIES_MEASURES, toOutcomeClass } from "./series-figures.ts";
import { SUMS_MAX } from "./series.ts";
import { findRowRanges } from "./row-window.ts";
import { BY_DAY, cutWindow, readEdges, type WindowCut } from "./window-cut.ts";

export interface UpstreamDays extends Pick<ReportNotes, "snapped"> {
  readonly days: readonly UpstreamDay[];
}

/** Rows that are looked at for the units that lack a price, and for what tools cost: some second each. */
const ROWS_MAX = 1_000_000;
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
export function* readUpstreamDays(
  query: StatsQuery,
  { sumsMax = SUMS_MAX, rowsMax = ROWS_MAX } = {},
): Script<UpstreamDays> {
  const { sinceUs, untilUs } = query.window;
  planBuckets({ bucket: "day", sinceUs: sinceUs ?? 0, untilUs, nowUs: untilUs ?? 0 });
  const filter = toBilled(yield* resolveFilter(query));
  const groups = yield* groupLabelSets(filter, PLACE);
  const cut = cutWindow(yield* readEdges(), query.window, BY_DAY);
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
  const unpricedUnits = yield* readUnpricedUnits(query.window, { filter, groups }, rowsMax);
  const tools = yield* readToolUses(fold.sums(), { cut, query, filter, groups, rowsMax });
  const getDay = (group: number, period: number): GrowingDay => {
    const [upstream = null, model = null, tier = null] = groups.values[group] ?? [];
    const name = upstream ?? model ?? "";
    const key = JSON.stringify([period, name, tier]);
    const day = days.get(key) ?? {
      ...NOTHING,
      dayUs: period * DAY_US,
      model: name,
      tier,
      totals: [],
      unpricedUnits: new Set<ReportUnit>(),
      tools: tools === null ? null : [],
    };
    days.set(key, day);
    return day;
  };
  for (const sum of fold.sums()) {
    const day = getDay(sum.group, sum.period);
    for (const unit of unpricedUnits?.({ day: sum.period, group: sum.group }) ?? [])
      day.unpricedUnits.add(unit);
    addSum(day, sum, groups.values[sum.group]?.at(-1) === UNTOLD);
  }
  for (const { group, period, ...use } of tools ?? []) getDay(group, period).tools?.push(use);
  return { days: [...days.values()].map(toDay), snapped: cut.snapped };
}

interface ToolRows extends Wanted {
  readonly cut: WindowCut;
  readonly query: StatsQuery;
  readonly rowsMax: number;
}

interface PlacedTool extends ToolUse, Pick<FoldSum, "group" | "period"> {}

/** Costs of tools, from rows: totals tell no cost of a unit. None is read where no tool was used. */
function* readToolUses(
  sums: Iterable<FoldSum>,
  { cut, query, filter, groups, rowsMax }: ToolRows,
): Script<readonly PlacedTool[] | null> {
  const isUsed = [...sums].some(({ units }) => TOOL_UNITS.some((unit) => units[UNIT_TABLE[unit].column]));
  if (!isUsed) return [];
  const range = yield* findRowRanges({ cut, window: query.window, filter }, rowsMax);
  if (range.state !== "exact") return null;
  const used = [...toBilledMeasures(yield* dialectOf(), TOOL_UNITS).values()].map((sql) => `${sql} > 0`);
  const condition = `AND (${used.join(" OR ")})`;
  const window = { ranges: range.ranges, units: TOOL_UNITS, condition, stepUs: DAY_US };
  const billed = yield* sumBilled({ ...window, filter, groups });
  return billed.flatMap(({ group, period, requests, prices, quantities }) =>
    TOOL_UNITS.flatMap((unit): PlacedTool[] => {
      const quantity = quantities[unit] ?? 0;
      if (quantity === 0) return [];
      const price = findUnitPrice(prices, unit);
      const unpricedRequests = price === null ? requests : 0;
      const costPico = price === null ? 0n : priceQuantity(quantity, price);
      return [{ group, period: period / DAY_US, unit, requests, unpricedRequests, costPico }];
    }),
  );
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
  readonly tools: ToolUse[] | null;
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
    tools: day.tools,
  };
}
