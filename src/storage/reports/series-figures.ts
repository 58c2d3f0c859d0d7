import { toReportQuantities } from "#kernel/units.ts";
import type { SeriesFigures } from "#stats/store.ts";
import { HOUR_MEASURES } from "#storage/cells/measures.ts";
import { joinCost } from "#storage/cells/sums.ts";
import type { FoldSum } from "./fold.ts";

/** The classes of results that figures tell apart. */
const OUTCOMES: readonly string[] = ["ok", "cancelled", "upstream_error", "unreachable"];

/** The measures that figures are made of. */
export const SERIES_MEASURES: readonly string[] = HOUR_MEASURES.map(({ name }) => name);

export function toOutcomeClass({ outcome }: { readonly outcome: string }): number {
  return OUTCOMES.indexOf(outcome);
}

/** Sums with the class of their outcome; zeros for none. */
export function toSeriesFigures(sums: readonly FoldSum[]): SeriesFigures {
  let [requests, unpricedRequests, pricedRequests, pendingRequests, costHi, costLo] = [0, 0, 0, 0, 0, 0];
  let [reportedRequests, reportedHi, reportedLo] = [0, 0, 0];
  const byOutcome = OUTCOMES.map(() => 0);
  for (const sum of sums) {
    requests += sum.requests;
    byOutcome[sum.ending] = (byOutcome[sum.ending] ?? 0) + sum.requests;
    unpricedRequests += sum.unpriced_requests;
    pricedRequests += sum.priced_requests;
    pendingRequests += sum.pending_requests;
    costHi += sum.cost_hi;
    costLo += sum.cost_lo;
    reportedRequests += sum.cost_reported_requests;
    reportedHi += sum.cost_reported_hi;
    reportedLo += sum.cost_reported_lo;
  }
  const [ok = 0, cancelled = 0, upstreamError = 0, unreachable = 0] = byOutcome;
  const costPico = pricedRequests === 0 ? null : joinCost(costHi, costLo);
  const units = toReportQuantities(sums.map((sum) => sum.units));
  return {
    requests,
    ok,
    cancelled,
    upstreamError,
    unreachable,
    unpricedRequests,
    pendingRequests,
    costPico,
    costReportedPico: reportedRequests === 0 ? null : joinCost(reportedHi, reportedLo),
    units,
  };
}
