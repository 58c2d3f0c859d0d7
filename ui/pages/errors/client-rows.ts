import { compareCodeUnits } from "#kernel/text.ts";
import { OUTCOMES } from "#usage/event.ts";
import type { ErrorsRow, Outcome } from "../../api/reports.ts";
import { later } from "./error-rows.ts";
import { addTo, countOf, NO_REQUESTS, type OutcomeCounts, toShare } from "./outcomes.ts";

/** What one client ran into. */
export interface ClientRow {
  /** The beginning of the User-Agent, which is what `client` filters by; null without one. */
  readonly client: string | null;
  /** Requests of any outcome. */
  readonly requests: number;
  /** Those of the outcomes that are shown. */
  readonly count: number;
  /** From 0 to 1. */
  readonly share: number;
  /** The kind that came most often; null when none has one. */
  readonly topKind: string | null;
  readonly lastSeen: string;
}

/** Who ran into these outcomes, the most often first. */
export function toClientRows(
  breakdown: readonly ErrorsRow[],
  outcomes: readonly Outcome[],
): readonly ClientRow[] {
  const roots = toClientRoots(breakdown.map(({ client }) => client));
  const sums = new Map<string | null, Sum>();
  for (const row of breakdown) {
    const client = row.client === null ? null : (roots.get(row.client) ?? null);
    sums.set(client, add(sums.get(client), row, outcomes.includes(row.outcome)));
  }
  return [...sums]
    .map(([client, { counts, kinds, lastSeen }]) => ({
      client,
      requests: countOf(counts, OUTCOMES),
      count: countOf(counts, outcomes),
      share: toShare(counts, outcomes) ?? 0,
      topKind: toTop(kinds),
      lastSeen,
    }))
    .filter(({ count }) => count > 0)
    .toSorted((left, right) => right.count - left.count);
}

interface Sum {
  readonly counts: OutcomeCounts;
  readonly kinds: Map<string, number>;
  readonly lastSeen: string;
}

function add(sum: Sum | undefined, row: ErrorsRow, isShown: boolean): Sum {
  const { counts, kinds, lastSeen } = sum ?? {
    counts: NO_REQUESTS,
    kinds: new Map<string, number>(),
    lastSeen: "",
  };
  if (isShown && row.error_kind !== null) {
    kinds.set(row.error_kind, (kinds.get(row.error_kind) ?? 0) + row.requests);
  }
  return {
    counts: addTo(counts, row.outcome, row.requests),
    kinds,
    lastSeen: isShown ? later(lastSeen, row.last_seen) : lastSeen,
  };
}

function toTop(kinds: ReadonlyMap<string, number>): string | null {
  let top: readonly [kind: string, requests: number] | null = null;
  for (const entry of kinds) if (top === null || entry[1] > top[1]) top = entry;
  return top === null ? null : top[0];
}

/**
 * Clients are filtered by how they begin, so one that begins with the whole of another belongs to it: only then does each
 * request count once. Every named client with the shortest of them that it begins with; one without a name has none.
 */
export function toClientRoots(clients: Iterable<string | null>): ReadonlyMap<string, string> {
  const roots = new Map<string, string>();
  let root: string | null = null;
  // In this order whatever begins with a name follows it at once.
  for (const client of [...new Set(clients)].filter(isNamed).toSorted(compareCodeUnits)) {
    if (root === null || !client.startsWith(root)) root = client;
    roots.set(client, root);
  }
  return roots;
}

function isNamed(client: string | null): client is string {
  return client !== null && client !== "";
}
