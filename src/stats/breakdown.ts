import type { Pico } from "#kernel/units.ts";
import type { BreakdownSort, Ranking } from "./breakdown-query.ts";
import { compareGroups, type Size } from "./series-groups.ts";
import type { BreakdownFigures, BreakdownRow } from "./store.ts";

/** The rows of an answer: sorted, at most so many. */
export function rankRows(
  rows: readonly BreakdownRow[],
  { sort, limit }: Pick<Ranking, "sort" | "limit">,
): readonly BreakdownRow[] {
  return rows.toSorted((left, right) => compareGroups(left, right, SIZES[sort])).slice(0, limit);
}

/** The mean over the requests that have a cost, to the nearest pico; null when none has one. */
export function toCostPerRequest({
  costPico,
  pricedRequests,
}: Pick<BreakdownFigures, "costPico" | "pricedRequests">): Pico | null {
  if (costPico === null || pricedRequests === 0) return null;
  const requests = BigInt(pricedRequests);
  return (costPico * 2n + requests) / (requests * 2n);
}

const SIZES: { readonly [sort in BreakdownSort]: (figures: BreakdownFigures) => Size } = {
  cost: ({ costPico }) => costPico,
  cost_per_request: toCostPerRequest,
  requests: ({ requests }) => requests,
  failed: toFailed,
  failed_share: (figures) => toFailedShare({ ...figures, failed: toFailed(figures) }),
  cancelled: ({ cancelled }) => cancelled,
  unpriced: ({ unpricedRequests }) => unpricedRequests,
  unmetered: ({ unmeteredRequests }) => unmeteredRequests,
  p50: ({ durationUs }) => durationUs.p50,
  p95: ({ durationUs }) => durationUs.p95,
};

function toFailed({ upstreamError, unreachable }: BreakdownFigures): number {
  return upstreamError + unreachable;
}

interface Outcomes {
  readonly requests: number;
  readonly cancelled: number;
  readonly failed: number;
}

/** The share that failed of the requests that were not cancelled, wherever it is shown; null when all were, or there are none. */
export function toFailedShare({ requests, cancelled, failed }: Outcomes): number | null {
  const ended = requests - cancelled;
  return ended === 0 ? null : failed / ended;
}
