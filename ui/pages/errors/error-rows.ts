import type { ConnectionFailure } from "#kernel/connection-failure.ts";
import { FAILURE_WORDS } from "../../text/failure-words.ts";
import { formatCount } from "../../text/format.ts";
import type { ErrorsRow, Outcome } from "../../api/reports.ts";
import type { Filters } from "../../search/filters.ts";
import { addTo, toDenominator, NO_REQUESTS, type OutcomeCounts } from "./outcomes.ts";

/** One way in which the requests of one route ended, for all senders and endpoints together: what the request log can be asked for. */
export interface ErrorRow {
  /** Unique among the rows. */
  readonly id: string;
  readonly provider: string;
  /** Null at a provider to which requests without one were relayed: no filter tells these from the others. */
  readonly model: string | null;
  readonly endpoints: readonly string[];
  readonly outcome: Outcome;
  /** Null for requests that were hung up on. */
  readonly errorKind: string | null;
  readonly statusCode: number;
  readonly requests: number;
  /** The share of the requests to the same provider and model, from 0 to 1. */
  readonly share: number;
  readonly averageDurationMs: number;
  readonly lastSeen: string;
  /** Why providers gave no answer, as far as that is known, with how often. */
  readonly failures: Failures;
}

export type Failures = ReadonlyMap<ConnectionFailure, number>;

const NO_FAILURES: Failures = new Map();

/** What they have in common in words, the most frequent first; empty without any. */
export function toFailureText(failures: Failures): string {
  const words = [...failures]
    .toSorted(([, left], [, right]) => right - left)
    .map(([failure, requests]) => `${FAILURE_WORDS[failure]} (${formatCount(requests)})`);
  return words.length === 0 ? "" : `Why: ${words.join("; ")}.`;
}

export function addFailures(to: Failures, more: Failures): Failures {
  const sums = new Map(to);
  for (const [failure, requests] of more) sums.set(failure, (sums.get(failure) ?? 0) + requests);
  return sums;
}

/** The rows of these outcomes, with clients and tags added together; the most frequent first. */
export function toErrorRows(
  breakdown: readonly ErrorsRow[],
  outcomes: readonly Outcome[],
): readonly ErrorRow[] {
  const mixed = new Set(breakdown.filter(({ model }) => model === null).map(({ provider }) => provider));
  const toModel = ({ provider, model }: ErrorsRow) => (mixed.has(provider) ? null : model);
  const toRouteId = (row: ErrorsRow) => JSON.stringify([row.provider, toModel(row)]);
  const routes = new Map<string, OutcomeCounts>();
  const sums = new Map<string, Sum>();
  for (const row of breakdown) {
    const route = toRouteId(row);
    routes.set(route, addTo(routes.get(route), row.outcome, row.requests));
    if (!outcomes.includes(row.outcome)) continue;
    const id = JSON.stringify([route, row.outcome, row.error_kind, row.status_code]);
    sums.set(id, add(sums.get(id), row));
  }
  return [...sums]
    .map(([id, { first, requests, durationMs, lastSeen, endpoints, failures }]) => ({
      id,
      provider: first.provider,
      model: toModel(first),
      endpoints: [...endpoints],
      outcome: first.outcome,
      errorKind: first.error_kind,
      statusCode: first.status_code,
      requests,
      share: requests / toDenominator(routes.get(toRouteId(first)) ?? NO_REQUESTS, [first.outcome]),
      averageDurationMs: durationMs / requests,
      lastSeen,
      failures,
    }))
    .toSorted((left, right) => right.requests - left.requests);
}

interface Sum {
  readonly first: ErrorsRow;
  readonly requests: number;
  readonly durationMs: number;
  readonly lastSeen: string;
  readonly endpoints: ReadonlySet<string>;
  readonly failures: Failures;
}

function add(sum: Sum | undefined, row: ErrorsRow): Sum {
  const durationMs = row.avg_duration_ms * row.requests;
  const own: Failures = row.failure === undefined ? NO_FAILURES : new Map([[row.failure, row.requests]]);
  if (sum === undefined) {
    const endpoints = new Set([row.endpoint]);
    const { requests, last_seen: lastSeen } = row;
    return { first: row, requests, durationMs, lastSeen, endpoints, failures: own };
  }
  return {
    first: sum.first,
    requests: sum.requests + row.requests,
    durationMs: sum.durationMs + durationMs,
    lastSeen: later(sum.lastSeen, row.last_seen),
    endpoints: new Set([...sum.endpoints, row.endpoint]),
    failures: addFailures(sum.failures, own),
  };
}

/** Stamps are all spelled alike, so the later one is the larger text. */
export function later(left: string, right: string): string {
  return left > right ? left : right;
}

/** What the request log is asked for to have the requests of a row, and no others. */
export function toRowFilters({ provider, model, outcome, errorKind, statusCode }: ErrorRow): Filters {
  return {
    provider,
    ...(model !== null && { model }),
    outcome,
    status: String(statusCode),
    ...(errorKind !== null && { error_kind: errorKind }),
  };
}
