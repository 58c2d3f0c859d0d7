import { toReportQuantities } from "#kernel/units.ts";
import { HOUR_US, type InstantUs } from "#kernel/clock.ts";
import type { SeriesBucket, SeriesFigures } from "#stats/store.ts";
import { HOUR_MEASURES } from "#storage/cells/measures.ts";
import { joinCost, toCostSums } from "#storage/cells/sums.ts";
import { all, dialectOf, type Script } from "#storage/sql/script.ts";
import type { FoldSum } from "./fold.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import type { WindowCut } from "./window-cut.ts";

/** The classes of results that figures tell apart. */
const OUTCOMES: readonly string[] = ["ok", "cancelled", "upstream_error", "unreachable"];

/** What figures are made of. */
export const SERIES_MEASURES: readonly string[] = HOUR_MEASURES.map(({ name }) => name);

export function toOutcomeClass({ outcome }: { readonly outcome: string }): number {
  return OUTCOMES.indexOf(outcome);
}

/** Sums with the class of their outcome; zeros for none. */
export function toSeriesFigures(sums: readonly FoldSum[]): SeriesFigures {
  let [requests, unpricedRequests, pricedRequests, pendingRequests, costHi, costLo] = [0, 0, 0, 0, 0, 0];
  const byOutcome = OUTCOMES.map(() => 0);
  for (const sum of sums) {
    requests += sum.requests;
    byOutcome[sum.ending] = (byOutcome[sum.ending] ?? 0) + sum.requests;
    unpricedRequests += sum.unpriced_requests;
    pricedRequests += sum.priced_requests;
    pendingRequests += sum.pending_requests;
    costHi += sum.cost_hi;
    costLo += sum.cost_lo;
  }
  const [ok = 0, cancelled = 0, upstreamError = 0, unreachable = 0] = byOutcome;
  const costPico = pricedRequests === 0 ? null : joinCost(costHi, costLo);
  const units = toReportQuantities(sums);
  return {
    requests,
    ok,
    cancelled,
    upstreamError,
    unreachable,
    unpricedRequests,
    pendingRequests,
    costPico,
    units,
  };
}

export function toSeriesBucket(startUs: InstantUs, sums: readonly FoldSum[]): SeriesBucket {
  return { startUs, ...toSeriesFigures(sums) };
}

type TotalRow = Omit<FoldSum, "period" | "group" | "ending" | "duration_us" | "last_seen_us" | "bands"> & {
  readonly at: number;
  readonly outcome: string;
};

/** The whole hours of a cut from the totals of hours, for a filter by outcome only; days as one where `isByDay`. */
export function* sumHours(
  { hours }: WindowCut,
  { outcomes }: ResolvedFilter,
  { toPeriod, isByDay }: { readonly toPeriod: (instantUs: InstantUs) => number; readonly isByDay: boolean },
): Script<readonly FoldSum[]> {
  const { isAnyOf, toStep } = yield* dialectOf();
  const isChosen = outcomes === null ? "" : `AND ${isAnyOf("outcome", "text")}`;
  const plain = SERIES_MEASURES.filter((column) => !column.startsWith("cost_"));
  const rows = yield* all<TotalRow>(
    `SELECT ${isByDay ? toStep("hour", 24) : "hour"} AS at, outcome, ${plain.map((column) => `sum(${column}) AS ${column}`).join(", ")},
       ${toCostSums((column) => column)}
     FROM hour_total WHERE hour >= ? AND hour < ? ${isChosen} GROUP BY 1, 2`,
    [hours.first, hours.end, ...(outcomes === null ? [] : [outcomes])],
  );
  return rows.map((row) =>
    Object.assign(row, {
      period: toPeriod(row.at * HOUR_US),
      group: 0,
      ending: toOutcomeClass(row),
      duration_us: 0,
      last_seen_us: 0,
      bands: [],
    }),
  );
}
