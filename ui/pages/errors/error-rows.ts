import type { ConnectionFailure } from "#kernel/system-code.ts";
import { compareCodeUnits } from "#kernel/text.ts";
import { OUTCOMES } from "#usage/event.ts";
import type { ErrorsRow, Outcome } from "../../api/reports.ts";
import type { Filters } from "../../search/filters.ts";
import type { HeatMeasure } from "../../search/pages.ts";
import { formatCount } from "../../text/format.ts";
import { FAILURE_WORDS } from "../../text/outcomes.ts";
import { type KindHelp, toKindHelp } from "./kind-help.ts";
import { countOf, countOutcomes, toDenominator, toShare } from "./outcomes.ts";

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

/** The rows of these outcomes, with clients and tags added together; the most frequent first. */
export function toErrorRows(
  breakdown: readonly ErrorsRow[],
  outcomes: readonly Outcome[],
): readonly ErrorRow[] {
  const mixed = new Set(breakdown.filter(({ model }) => model === null).map(({ provider }) => provider));
  const toModel = ({ provider, model }: ErrorsRow) => (mixed.has(provider) ? null : model);
  const routes = groupRows(breakdown, (row) => [row.provider, toModel(row)]);
  return routes
    .flatMap(([route, ofRoute]) => {
      const counts = countOutcomes(ofRoute);
      const shown = ofRoute.filter(({ outcome }) => outcomes.includes(outcome));
      return groupRows(shown, (row) => [route, row.outcome, row.error_kind, row.status_code]).map(
        ([id, own, first]) => {
          const requests = sum(own, (row) => row.requests);
          return {
            id,
            provider: first.provider,
            model: toModel(first),
            endpoints: [...new Set(own.map(({ endpoint }) => endpoint))],
            outcome: first.outcome,
            errorKind: first.error_kind,
            statusCode: first.status_code,
            requests,
            share: requests / toDenominator(counts, [first.outcome]),
            averageDurationMs: sum(own, (row) => row.avg_duration_ms * row.requests) / requests,
            lastSeen: toLast(own),
            failures: sumBy(
              own,
              ({ failure }) => failure ?? null,
              (row) => row.requests,
            ),
          };
        },
      );
    })
    .toSorted((left, right) => right.requests - left.requests);
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

/** Why providers gave no answer, the most frequent first; empty where nothing is known of it. */
export function toFailureText(failures: Failures): string {
  const words = [...failures]
    .toSorted(([, left], [, right]) => right - left)
    .map(([failure, requests]) => `${FAILURE_WORDS[failure]} (${formatCount(requests)})`);
  return words.length === 0 ? "" : `Why: ${words.join("; ")}.`;
}

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
  const all = sum(rows, ({ requests }) => requests);
  return [...Map.groupBy(rows, toKindName)]
    .flatMap(([name, own]) => {
      // Rows come the most frequent first: its status explains a kind that nothing else does.
      const [first] = own;
      if (first === undefined) return [];
      const requests = sum(own, (row) => row.requests);
      // A kind may come with several outcomes; what has none is known by its outcome.
      const filters: Filters =
        first.errorKind === null
          ? { outcome: first.outcome }
          : { error_kind: first.errorKind, outcome: outcomes };
      const failures = sumBy(
        own.flatMap((row) => [...row.failures]),
        ([failure]) => failure,
        ([, count]) => count,
      );
      return [
        {
          name,
          requests,
          filters,
          share: requests / all,
          ...toKindHelp(first),
          reasons: toFailureText(failures),
        },
      ];
    })
    .toSorted((left, right) => right.requests - left.requests);
}

export function toKindName({ errorKind, outcome }: Pick<ErrorRow, "errorKind" | "outcome">): string {
  return errorKind ?? outcome;
}

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
  const byRoot = Map.groupBy(breakdown, ({ client }) =>
    client === null ? null : (roots.get(client) ?? null),
  );
  return [...byRoot]
    .map(([client, own]) => {
      const counts = countOutcomes(own);
      const shown = own.filter(({ outcome }) => outcomes.includes(outcome));
      const kinds = sumBy(
        shown,
        (row) => row.error_kind,
        (row) => row.requests,
      );
      const [top] = [...kinds].toSorted(([, left], [, right]) => right - left);
      return {
        client,
        requests: countOf(counts, OUTCOMES),
        count: countOf(counts, outcomes),
        share: toShare(counts, outcomes) ?? 0,
        topKind: top?.[0] ?? null,
        lastSeen: toLast(shown),
      };
    })
    .filter(({ count }) => count > 0)
    .toSorted((left, right) => right.count - left.count);
}

/**
 * Clients are filtered by how they begin, so one that begins with the whole of another belongs to it: only then does each
 * request count once. Every named client with the shortest of them that it begins with; one without a name has none.
 */
export function toClientRoots(clients: Iterable<string | null>): ReadonlyMap<string, string> {
  const roots = new Map<string, string>();
  let root: string | null = null;
  // In this order whatever begins with a name follows it at once.
  for (const client of [...new Set(clients)].flatMap(toNamed).toSorted(compareCodeUnits)) {
    if (root === null || !client.startsWith(root)) root = client;
    roots.set(client, root);
  }
  return roots;
}

function toNamed(client: string | null): readonly string[] {
  return client === null || client === "" ? [] : [client];
}

/** The times to an outcome that the report tells apart, shortest first (specification, section 4.4), and how they are headed. */
const BAND_WORDS: { readonly [band in keyof ErrorsRow["bands"]]: string } = {
  "<1s": "< 1 s",
  "1-5s": "1–5 s",
  "5-15s": "5–15 s",
  "15-30s": "15–30 s",
  "30-60s": "30–60 s",
  "60-120s": "1–2 min",
  ">=120s": "≥ 2 min",
};
export const BANDS = Object.keys(BAND_WORDS).filter((band) => isBand(band));
export const BAND_LABELS = BANDS.map((band) => BAND_WORDS[band]);

function isBand(text: string): text is keyof ErrorsRow["bands"] {
  return Object.hasOwn(BAND_WORDS, text);
}

/** A provider's model, or its calls without one. */
export interface BandRow {
  readonly id: string;
  readonly label: string;
  readonly provider: string;
  readonly model: string | null;
  /** A number for each band: requests, or a share from 0 to 1. */
  readonly values: readonly number[];
}

export interface BandQuery {
  readonly outcomes: readonly Outcome[];
  readonly measure: HeatMeasure;
}

/** How long requests took to end by provider and model: those with the most of what is counted first, those with none left out. */
export function toBandRows(
  breakdown: readonly ErrorsRow[],
  { outcomes, measure }: BandQuery,
): readonly BandRow[] {
  const counted = measure === "all" ? OUTCOMES : outcomes;
  return groupRows(breakdown, ({ provider, model }) => [provider, model])
    .map(([id, own, { provider, model }]) => {
      const byBand = BANDS.map((band) => countOutcomes(own, ({ bands }) => bands[band]));
      const counts = byBand.map((band) => countOf(band, counted));
      const values = measure === "share" ? byBand.map((band) => toShare(band, outcomes) ?? 0) : counts;
      const total = sum(counts, (count) => count);
      return { total, id, label: `${provider} · ${model ?? "no model"}`, provider, model, values };
    })
    .filter(({ total }) => total > 0)
    .toSorted((left, right) => right.total - left.total);
}

/** The rows that share a key, which is an id, with the first of them. */
function groupRows(rows: readonly ErrorsRow[], toKey: (row: ErrorsRow) => readonly unknown[]) {
  return [...Map.groupBy(rows, (row) => JSON.stringify(toKey(row)))].flatMap(([id, own]) => {
    const [first] = own;
    return first === undefined ? [] : [[id, own, first] as const];
  });
}

function sum<Row>(rows: readonly Row[], of: (row: Row) => number): number {
  return rows.reduce((total, row) => total + of(row), 0);
}

/** What has no name is left out. */
function sumBy<Row, Name extends string>(
  rows: readonly Row[],
  toName: (row: Row) => Name | null,
  of: (row: Row) => number,
): ReadonlyMap<Name, number> {
  const sums = new Map<Name, number>();
  for (const row of rows) {
    const name = toName(row);
    if (name !== null) sums.set(name, (sums.get(name) ?? 0) + of(row));
  }
  return sums;
}

/** Stamps are all spelled alike, so the later one is the larger text. */
function toLast(rows: readonly ErrorsRow[]): string {
  return rows.reduce((last, { last_seen: seen }) => (seen > last ? seen : last), "");
}
