import { OUTCOMES } from "#usage/event.ts";
import type { ErrorsReport, ErrorsRow, Outcome } from "../../api/reports.ts";
import type { OutcomeFilter } from "../../search/filters.ts";

/** Requests by how they ended. */
export type OutcomeCounts = { readonly [outcome in Outcome]: number };

export const NO_REQUESTS: OutcomeCounts = { ok: 0, upstream_error: 0, unreachable: 0, cancelled: 0 };

/** What went wrong at the provider or on the way to it; who hung up is counted apart. */
export const FAILURES = ["upstream_error", "unreachable"] as const satisfies readonly Outcome[];

const NOT_OK = ["cancelled", ...FAILURES] as const;

/** What the tables and the heat map tell of: the failures, or what the filter by outcome asks for. */
export function toShownOutcomes(filters: OutcomeFilters): readonly Outcome[] {
  return filters === undefined ? FAILURES : toAsked(filters).filter((outcome) => outcome !== "ok");
}

/** The bars, the lowest first: besides the failures who hung up, and on request what went well. */
export function toDrawnOutcomes(filters: OutcomeFilters, withOk: boolean): readonly Outcome[] {
  const drawn = filters === undefined ? NOT_OK : toAsked(filters);
  return withOk && !drawn.includes("ok") ? ["ok", ...drawn] : drawn;
}

type OutcomeFilters = readonly OutcomeFilter[] | undefined;

/** In the order in which they are drawn. */
function toAsked(filters: readonly OutcomeFilter[]): readonly Outcome[] {
  const isAsked = (outcome: Outcome) =>
    filters.includes(outcome) || (outcome !== "ok" && filters.includes("failed"));
  return (["ok", ...NOT_OK] as const).filter(isAsked);
}

export function toOutcomeCounts({ series }: Pick<ErrorsReport, "series">): OutcomeCounts {
  const counts = { ...NO_REQUESTS };
  for (const bucket of series) for (const outcome of OUTCOMES) counts[outcome] += bucket[outcome];
  return counts;
}

/** Rows of the report by how they ended; `of` says what counts, which is their requests when absent. */
export function countOutcomes(
  rows: readonly ErrorsRow[],
  of: (row: ErrorsRow) => number = ({ requests }) => requests,
): OutcomeCounts {
  const counts = { ...NO_REQUESTS };
  for (const row of rows) counts[row.outcome] += of(row);
  return counts;
}

export function countOf(counts: OutcomeCounts, outcomes: readonly Outcome[]): number {
  return outcomes.reduce((sum, outcome) => sum + counts[outcome], 0);
}

/**
 * What a share of these outcomes is a share of: the requests that came to an end, and also those that were hung up on when
 * these are among the outcomes.
 */
export function toDenominator(counts: OutcomeCounts, outcomes: readonly Outcome[]): number {
  const ended = counts.ok + countOf(counts, FAILURES);
  return outcomes.includes("cancelled") ? ended + counts.cancelled : ended;
}

/** From 0 to 1; null without requests. */
export function toShare(counts: OutcomeCounts, outcomes: readonly Outcome[]): number | null {
  const denominator = toDenominator(counts, outcomes);
  return denominator === 0 ? null : countOf(counts, outcomes) / denominator;
}
