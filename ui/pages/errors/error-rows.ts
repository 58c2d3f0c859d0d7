import type { ErrorsRow, Outcome } from "../../api/reports.ts";
import { addTo, toDenominator, NO_REQUESTS, type OutcomeCounts } from "./outcomes.ts";

/** One way in which the requests of one route ended, for all senders together. */
export interface ErrorRow {
  /** Unique among the rows. */
  readonly id: string;
  readonly provider: string;
  /** Null for relay calls without one. */
  readonly model: string | null;
  readonly endpoint: string;
  readonly outcome: Outcome;
  /** Null for requests that were hung up on. */
  readonly errorKind: string | null;
  readonly statusCode: number;
  readonly requests: number;
  /** The share of the requests to the same provider, model and endpoint, from 0 to 1. */
  readonly share: number;
  readonly averageDurationMs: number;
  readonly lastSeen: string;
}

/** The rows of these outcomes, with clients and tags added together; the most frequent first. */
export function toErrorRows(
  breakdown: readonly ErrorsRow[],
  outcomes: readonly Outcome[],
): readonly ErrorRow[] {
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
    .map(([id, { first, requests, durationMs, lastSeen }]) => ({
      id,
      provider: first.provider,
      model: first.model,
      endpoint: first.endpoint,
      outcome: first.outcome,
      errorKind: first.error_kind,
      statusCode: first.status_code,
      requests,
      share: requests / toDenominator(routes.get(toRouteId(first)) ?? NO_REQUESTS, [first.outcome]),
      averageDurationMs: durationMs / requests,
      lastSeen,
    }))
    .toSorted((left, right) => right.requests - left.requests);
}

interface Sum {
  readonly first: ErrorsRow;
  readonly requests: number;
  readonly durationMs: number;
  readonly lastSeen: string;
}

function add(sum: Sum | undefined, row: ErrorsRow): Sum {
  const durationMs = row.avg_duration_ms * row.requests;
  if (sum === undefined) return { first: row, requests: row.requests, durationMs, lastSeen: row.last_seen };
  return {
    first: sum.first,
    requests: sum.requests + row.requests,
    durationMs: sum.durationMs + durationMs,
    lastSeen: later(sum.lastSeen, row.last_seen),
  };
}

/** Stamps are all spelled alike, so the later one is the larger text. */
export function later(left: string, right: string): string {
  return left > right ? left : right;
}

function toRouteId({ provider, model, endpoint }: ErrorsRow): string {
  return JSON.stringify([provider, model, endpoint]);
}
