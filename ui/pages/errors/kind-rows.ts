import type { Outcome } from "../../api/reports.ts";
import type { Filters } from "../../search/filters.ts";
import { addFailures, type ErrorRow, type Failures, toFailureText } from "./error-rows.ts";
import { toKindHelp, type KindHelp } from "./kind-help.ts";

/** Everything of one kind, on whatever route. */
export interface KindRow extends KindHelp {
  /** The kind, or the outcome of what has none. */
  readonly name: string;
  readonly requests: number;
  /** What the request log is asked for to have these requests, and no others. */
  readonly filters: Filters;
  /** The share of all rows together, from 0 to 1. */
  readonly share: number;
  /** Why providers gave no answer; empty where nothing is known of it. */
  readonly reasons: string;
}

/** The kinds among the rows, which are those of these outcomes, the most frequent first. */
export function toKindRows(rows: readonly ErrorRow[], outcomes: readonly Outcome[]): readonly KindRow[] {
  const first = new Map<string, ErrorRow>();
  const sums = new Map<string, number>();
  const failures = new Map<string, Failures>();
  for (const row of rows) {
    const name = toKindName(row);
    // Rows come the most frequent first: its status explains a kind that nothing else does.
    if (!first.has(name)) first.set(name, row);
    sums.set(name, (sums.get(name) ?? 0) + row.requests);
    failures.set(name, addFailures(failures.get(name) ?? new Map(), row.failures));
  }
  const all = rows.reduce((sum, { requests }) => sum + requests, 0);
  return [...first]
    .map(([name, row]) => {
      const { meaning, advice } = toKindHelp(row);
      const requests = sums.get(name) ?? 0;
      // A kind may come with several outcomes; what has none is known by its outcome.
      const filters: Filters =
        row.errorKind === null ? { outcome: row.outcome } : { error_kind: row.errorKind, outcome: outcomes };
      const reasons = toFailureText(failures.get(name) ?? new Map());
      return { name, requests, filters, share: requests / all, meaning, advice, reasons };
    })
    .toSorted((left, right) => right.requests - left.requests);
}

export function toKindName({ errorKind, outcome }: Pick<ErrorRow, "errorKind" | "outcome">): string {
  return errorKind ?? outcome;
}
