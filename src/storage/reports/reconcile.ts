import { type Bill, TOOL_UNITS, toSummary, toVendor } from "#bills/bill.ts";
import type { ToolUse, UpstreamDay } from "#bills/compared-cell.ts";
import { readBills } from "#bills/read-bill.ts";
import { type Billed, reconcile } from "#bills/reconciliation.ts";
import { DAY_US } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { findUnitPrice, REPORT_UNITS, type ReportUnit, UNIT_TABLE } from "#kernel/units.ts";
import { planBuckets } from "#stats/bucket.ts";
import { EVERY_PROVIDER, filterBy } from "#stats/filter.ts";
import type { BillQuery, ComparedBills, ReportNotes, StatsQuery } from "#stats/store.ts";
import { toDay } from "#storage/cells/calendar.ts";
import { dialectOf, type Script } from "#storage/sql/script.ts";
import { priceQuantity } from "#usage/cost.ts";
import { sumBilled } from "./billed-sums.ts";
import { toBilledMeasures, type Wanted } from "./chosen-events.ts";
import type { FoldSum } from "./fold.ts";
import { foldBy } from "./folded-window.ts";
import { type GroupLabel, groupLabelSets } from "./label-groups.ts";
import { readUnpricedUnits } from "./missing-prices.ts";
import { resolveFilter, toBilled } from "./request-filter.ts";
import { SERIES_MEASURES, toOutcomeClass, toSeriesFigures } from "./series-figures.ts";
import { SUMS_MAX } from "./series.ts";
import { findRowRanges } from "./row-window.ts";
import { BY_DAY, cutWindow, readEdges, type WindowCut } from "./window-cut.ts";

/**
 * `StatsStore.reconcile`: files are parsed where the ledger is read, since 8 MiB of rows take two seconds, in which the thread
 * that serves would answer nobody.
 */
export function* reconcileBills({ providersOf, ...files }: BillQuery): Script<ComparedBills> {
  const bills = readBills(files);
  const parts: Billed[] = [];
  let snapped: ReportNotes["snapped"] = null;
  for (const [vendor, ofVendor] of Map.groupBy(bills, ({ format }) => toVendor(format))) {
    const providers = providersOf[vendor] ?? EVERY_PROVIDER;
    const query = { window: toWindow(ofVendor), filter: filterBy({}), providers, principalId: null };
    const found = yield* readUpstreamDays(query);
    parts.push({ bills: ofVendor, ledger: found.days });
    snapped ??= found.snapped;
  }
  return { ...reconcile(parts), bills: bills.map(toSummary), snapped, truncated: false };
}

function toWindow(bills: readonly Bill[]) {
  return {
    sinceUs: Math.min(...bills.map(({ firstDay }) => firstDay)) * DAY_US,
    untilUs: (Math.max(...bills.map(({ lastDay }) => lastDay)) + 1) * DAY_US,
  };
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
 * both ends. Throws `range_too_large` for more days than a series may have, and for more than `sumsMax` sums: callers of the relay
 * choose names freely.
 */
export function* readUpstreamDays(
  query: StatsQuery,
  { sumsMax = SUMS_MAX, rowsMax = ROWS_MAX } = {},
): Script<Pick<ReportNotes, "snapped"> & { readonly days: readonly UpstreamDay[] }> {
  const { sinceUs, untilUs } = query.window;
  planBuckets({ bucket: "day", sinceUs: sinceUs ?? 0, untilUs, nowUs: untilUs ?? 0 });
  const filter = toBilled(yield* resolveFilter(query));
  const groups = yield* groupLabelSets(filter, PLACE);
  const cut = cutWindow(yield* readEdges(), query.window, BY_DAY);
  const byDay = { cut, filter, groups, toPeriod: toDay, stepUs: DAY_US };
  const fold = yield* foldBy(byDay, SERIES_MEASURES, toOutcomeClass);
  if (fold.size > sumsMax)
    throw new ProxyError(
      "range_too_large",
      `The window has ${fold.size} days of models, and ${sumsMax} are compared at most: choose fewer days, or a provider.`,
      { param: "since" },
    );
  const sums = [...fold.sums()];
  const unpricedUnits = yield* readUnpricedUnits(query.window, { filter, groups }, rowsMax);
  const tools = yield* readToolUses(sums, { cut, query, filter, groups, rowsMax });
  const days = new Map<string, GrowingDay>();
  const getDay = ({ group, period }: Pick<FoldSum, "group" | "period">): GrowingDay => {
    const [upstream = null, model = null, tier = null] = groups.values[group] ?? [];
    const place = { dayUs: period * DAY_US, model: upstream ?? model ?? "", tier };
    const key = JSON.stringify(place);
    const day = days.get(key) ?? { ...place, sums: [], unpriced: new Set(), tools: tools && [] };
    days.set(key, day);
    return day;
  };
  for (const sum of sums) {
    const { sums: ofDay, unpriced } = getDay(sum);
    ofDay.push({ ...sum, isUntold: groups.values[sum.group]?.at(-1) === UNTOLD });
    for (const unit of unpricedUnits?.({ day: sum.period, group: sum.group }) ?? []) unpriced.add(unit);
  }
  for (const { group, period, ...use } of tools ?? []) getDay({ group, period }).tools?.push(use);
  return { days: [...days.values()].map(toUpstreamDay), snapped: cut.snapped };
}

interface ToolRows extends Wanted {
  readonly cut: WindowCut;
  readonly query: StatsQuery;
  readonly rowsMax: number;
}

interface PlacedTool extends ToolUse, Pick<FoldSum, "group" | "period"> {}

/** Costs of tools, from rows: totals tell no cost of a unit. None is read where no tool was used. */
function* readToolUses(
  sums: readonly FoldSum[],
  { cut, query, filter, groups, rowsMax }: ToolRows,
): Script<readonly PlacedTool[] | null> {
  const isUsed = sums.some(({ units }) => TOOL_UNITS.some((unit) => units[UNIT_TABLE[unit].column]));
  if (!isUsed) return [];
  const { state, ranges } = yield* findRowRanges({ cut, window: query.window, filter }, rowsMax);
  if (state !== "exact") return null;
  const used = [...toBilledMeasures(yield* dialectOf(), TOOL_UNITS).values()].map((sql) => `${sql} > 0`);
  const condition = `AND (${used.join(" OR ")})`;
  const window = { ranges, units: TOOL_UNITS, condition, stepUs: DAY_US };
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
  readonly sums: (FoldSum & { readonly isUntold: boolean })[];
  readonly unpriced: Set<ReportUnit>;
  readonly tools: ToolUse[] | null;
}

function toUpstreamDay({ sums, unpriced, ...day }: GrowingDay): UpstreamDay {
  const { unpricedRequests, costPico, costReportedPico, units } = toSeriesFigures(sums);
  const add = (count: (sum: GrowingDay["sums"][number]) => number) =>
    sums.reduce((total, sum) => total + count(sum), 0);
  return {
    ...day,
    requests: add(({ isUntold, ending, requests }) => (isUntold && ending !== OK ? 0 : requests)),
    unmeteredRequests: add(({ isUntold, requests }) => (isUntold ? requests : 0)),
    unpricedRequests,
    unpricedUnits: REPORT_UNITS.filter((unit) => unpriced.has(unit)),
    costPico,
    costReported:
      costReportedPico === null
        ? null
        : { requests: add((sum) => sum.cost_reported_requests), pico: costReportedPico },
    units,
  };
}
