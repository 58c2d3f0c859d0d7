import type { AnswerOf } from "#http/client.ts";
import type { Bucket } from "#stats/bucket.ts";
import type { GroupOrder } from "#stats/series-grouping.ts";
import { keepPreviousData, type QueryKey, queryOptions } from "@tanstack/react-query";
import { type Answered, call, callWithHeaders } from "./client.ts";
import { ApiFailure } from "./failure.ts";
import { KEYS } from "./keys.ts";
import type { LogOrder, ReportQuery } from "../search/filters.ts";

/** The team's reports, and what a caller used itself (specification, sections 4.3 and 4.4). */

export interface SeriesQuery extends ReportQuery, Partial<SeriesGroups> {
  readonly bucket: Bucket;
}

/** Adds groups to a series, the largest by `order`. */
export interface SeriesGroups {
  /** A field, or `tag:` and a tag's key. */
  readonly group_by: string;
  readonly order: GroupOrder;
  readonly top: number;
}

/** The part of the request log that is asked for; rows beyond `PAGE_LIMIT_MAX` take another page. */
export interface PageQuery {
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
  readonly order?: LogOrder | undefined;
  /** Tells of refusals beside the rows. */
  readonly refusals?: "1" | undefined;
}

/** What a report says of itself beside its figures. */
export interface ReportNotes {
  /** The window that was counted, where retention left no other; null when it is the one that was asked for. */
  readonly countedWindow: { readonly since: string; readonly until: string } | null;
  /** Rows beyond a limit of the server were left out. */
  readonly isTruncated: boolean;
}

export type UsageSeries = AnswerOf<"GET /stats/series">;
export type UsageGroup = NonNullable<UsageSeries["groups"]>[number];
export type UsageBucket = UsageSeries["series"][number];
export type Units = UsageBucket["units"];
export type TeamUsageRow = AnswerOf<"GET /stats/summary">["usage"][number];
export type RequestPage = AnswerOf<"GET /stats/requests">;
export type RequestRow = RequestPage["requests"][number];
export type Outcome = RequestRow["outcome"];
export type Breakdown = AnswerOf<"GET /stats/breakdown">;
export type BreakdownRow = Breakdown["rows"][number];
export type CacheUse = NonNullable<Breakdown["total"]["cache"]>;
export type CostChange = AnswerOf<"GET /stats/cost-change">;
export type WhatIf = AnswerOf<"POST /stats/what-if">;
export type Statement = AnswerOf<"GET /stats/statement">;
export type Facets = AnswerOf<"GET /stats/requests/facets">;
export type MissingPrices = AnswerOf<"GET /admin/v1/usage/missing-prices">;
export type MissingPriceRow = MissingPrices["missing"][number];
export type ClientChange = AnswerOf<"GET /stats/errors/clients">["clients"][number];
export type RetryStorm = AnswerOf<"GET /stats/errors/retries">["storms"][number];
export type ErrorsReport = AnswerOf<"GET /stats/errors">;
export type RefusedRequest = NonNullable<RequestPage["refusals"]>[number];
/** A line of the log: a refused request has no row of usage. */
export type LogRow = RequestRow | RefusedRequest;
export type ErrorsRow = ErrorsReport["breakdown"][number];

export function isRefusal(row: LogRow): row is RefusedRequest {
  return "code" in row;
}

export function teamSeriesQuery(query: SeriesQuery) {
  return reportQuery([...KEYS.series, query], (signal) =>
    callWithHeaders("GET /stats/series", { signal, query: { ...query } }),
  );
}

export function teamSummaryQuery(query: ReportQuery) {
  return reportQuery([...KEYS.summary, query], (signal) =>
    callWithHeaders("GET /stats/summary", { signal, query: { ...query } }),
  );
}

/** A page of the request log, newest first. */
export function requestsQuery(query: ReportQuery, page: PageQuery = {}) {
  return queryOptions({
    queryKey: [...KEYS.requests, query, page],
    queryFn: ({ signal }) => fetchRequests(query, page, signal),
    placeholderData: keepPreviousData,
  });
}

/** Fetches a page of the request log outside of the cache. */
export async function fetchRequests(query: ReportQuery, page: PageQuery, signal?: AbortSignal) {
  return await withNotes(callWithHeaders("GET /stats/requests", { signal, query: { ...query, ...page } }));
}

/**
 * Fetches what was recorded since a cursor was given, and the next one; an empty cursor means from now on. Nothing new is a small
 * answer, which the server gives without reading the ledger.
 */
export async function fetchRecorded(
  query: ReportQuery,
  since: Pick<PageQuery, "limit" | "refusals"> & { readonly after: string },
  signal?: AbortSignal,
) {
  return await call("GET /stats/requests", { signal, query: { ...query, ...since } });
}

/** Fetches a series outside of the cache. */
export async function fetchSeries(query: SeriesQuery, signal?: AbortSignal) {
  return await withNotes(callWithHeaders("GET /stats/series", { signal, query: { ...query } }));
}

/** What is asked of a breakdown: `by` a field, or `tag:` and a tag's key. */
export interface BreakdownQuery extends ReportQuery {
  readonly by: string;
  readonly limit?: number | undefined;
  /** Tells what prompt caches gave and saved as well. */
  readonly cache?: "1" | undefined;
}

/** The figures of each value of one dimension. */
export function breakdownQuery(query: BreakdownQuery) {
  return reportQuery([...KEYS.breakdown, query], (signal) =>
    callWithHeaders("GET /stats/breakdown", { signal, query: { ...query } }),
  );
}

/** Two windows of the team, or of oneself, where there are no filters. */
export interface CostChangeQuery extends ReportQuery {
  readonly before_since: string | undefined;
  readonly before_until: string | undefined;
}

/** Why the one window costs another amount than the other. */
export function costChangeQuery(scope: "team" | "own", query: CostChangeQuery) {
  const path = scope === "team" ? "GET /stats/cost-change" : "GET /my/usage/cost-change";
  return reportQuery([...KEYS.costChange, scope, query], (signal) =>
    callWithHeaders(path, { signal, query: { ...query } }),
  );
}

export interface WhatIfQuery extends Pick<ReportQuery, "since" | "until"> {
  /** No two of them from the same model. */
  readonly pairs: readonly { readonly from: string; readonly to: string }[];
}

/** What the usage of models would have cost at the prices of other ones. */
export function whatIfQuery({ pairs, since, until }: WhatIfQuery) {
  return reportQuery([...KEYS.whatIf, pairs, since, until], (signal) =>
    callWithHeaders("POST /stats/what-if", {
      signal,
      body: {
        models: Object.fromEntries(pairs.map(({ from, to }) => [from, to])),
        ...(since !== undefined && { since }),
        ...(until !== undefined && { until }),
      },
    }),
  );
}

/** The account of a month, such as `2026-03`, and when it was answered by the server's clock. */
export function statementQuery(month: string) {
  return reportQuery([...KEYS.statement, month], async (signal) => {
    const { data, headers } = await callWithHeaders("GET /stats/statement", { signal, query: { month } });
    const answeredAt = Date.parse(headers.get("date") ?? "");
    const at = new Date(Number.isNaN(answeredAt) ? Date.now() : answeredAt).toISOString();
    return { data: { ...data, at }, headers };
  });
}

/** What the filters can be set to within the window and the other filters, and how many requests have each value. */
export function facetsQuery(query: ReportQuery) {
  return reportQuery([...KEYS.facets, query], (signal) =>
    callWithHeaders("GET /stats/requests/facets", { signal, query: { ...query, counts: "1" } }),
  );
}

const REFUSALS_AGE_MS = 30_000;

const HOUR_MS = 3_600_000;

/** The newest refusal of the last hour, for admins. */
export function recentRefusalsQuery() {
  return queryOptions({
    queryKey: [...KEYS.refusals, "recent"],
    queryFn: ({ signal }) => {
      const since = new Date(Date.now() - HOUR_MS).toISOString();
      return call("GET /admin/v1/refusals", { signal, query: { since, limit: 1 } });
    },
    refetchInterval: REFUSALS_AGE_MS,
  });
}

/** A request's row of the log, or its refusal, for its caller and for admins. Null: neither is kept. */
export function foundRequestQuery(id: string) {
  return queryOptions({
    queryKey: [...KEYS.request, id],
    queryFn: async ({ signal }) => {
      try {
        return await call("GET /stats/requests/:id", { params: { id }, signal });
      } catch (failure) {
        if (failure instanceof ApiFailure && failure.code === "request_not_found") return null;
        throw failure;
      }
    },
  });
}

export type ProviderHealth = AnswerOf<"GET /stats/breakdown">["rows"][number];

/** What the last day of each provider was like; asked for again while it is looked at. */
export function providerHealthQuery(query: Pick<ReportQuery, "since">) {
  return {
    ...reportQuery([...KEYS.reports, "provider-health", query], (signal) =>
      callWithHeaders("GET /stats/breakdown", {
        signal,
        query: { ...query, by: "provider", sort: "requests", limit: 500 },
      }),
    ),
    refetchInterval: HEALTH_AGE_MS,
  };
}

const HEALTH_AGE_MS = 15_000;

export function errorsQuery(query: SeriesQuery) {
  return reportQuery([...KEYS.errors, query], (signal) =>
    callWithHeaders("GET /stats/errors", { signal, query: { ...query } }),
  );
}

/** The versions of clients that fail more often than before; a member's own. */
export function clientChangesQuery(query: ReportQuery) {
  return reportQuery([...KEYS.errors, "clients", query], (signal) =>
    callWithHeaders("GET /stats/errors/clients", { signal, query: { ...query } }),
  );
}

/** Attempts right after failures, the most first; a member's own. */
export function retryStormsQuery(query: ReportQuery) {
  return reportQuery([...KEYS.errors, "retries", query], (signal) =>
    callWithHeaders("GET /stats/errors/retries", { signal, query: { ...query } }),
  );
}

/** For an administrator: what was recorded without a price. A change of prices makes it stale. */
export function missingPricesQuery(query: ReportQuery) {
  return reportQuery([...KEYS.pricing, "missing", query], (signal) =>
    callWithHeaders("GET /admin/v1/usage/missing-prices", { signal, query: { ...query } }),
  );
}

/** For an administrator: usage by principal, model and endpoint (specification, section 4.6). */
export function usageByPrincipalQuery(query: ReportQuery) {
  return reportQuery([...KEYS.usageByPrincipal, query], (signal) =>
    callWithHeaders("GET /admin/v1/usage/summary", { signal, query: { ...query } }),
  );
}

/** Options of a report by its key in the cache; the report before it stays in sight until it is there. */
export function reportQuery<Report extends object>(
  queryKey: QueryKey,
  ask: (signal: AbortSignal) => Promise<Answered<Report>>,
) {
  return queryOptions({
    queryKey,
    queryFn: ({ signal }) => withNotes(ask(signal)),
    placeholderData: keepPreviousData,
  });
}

/** The figures with their notes. Throws as `call` does. */
export async function withNotes<Report extends object>(
  asked: Promise<Answered<Report>>,
): Promise<Report & { readonly notes: ReportNotes }> {
  const { data, headers } = await asked;
  return { ...data, notes: toNotes(headers) };
}

function toNotes(headers: Headers): ReportNotes {
  const [since, until] = headers.get("x-proxy-window")?.split("/") ?? [];
  return {
    countedWindow: since === undefined || until === undefined ? null : { since, until },
    isTruncated: headers.get("x-proxy-truncated") === "true",
  };
}

type OwnWindow = Pick<ReportQuery, "since" | "until">;

/** By model and endpoint. */
export function myUsageQuery(window: OwnWindow) {
  return reportQuery([...KEYS.myUsage, window], (signal) =>
    callWithHeaders("GET /my/usage", { signal, query: { ...window } }),
  );
}

/** The figures of each model, failed requests among them. */
export function myBreakdownQuery(window: OwnWindow) {
  return reportQuery([...KEYS.myBreakdown, window], (signal) =>
    callWithHeaders("GET /my/usage/breakdown", {
      signal,
      query: { ...window, by: "model", limit: OWN_MODELS_MAX, cache: "1" },
    }),
  );
}

/** As many as one answer can have. */
const OWN_MODELS_MAX = 500;

export function mySeriesQuery(query: OwnWindow & Pick<SeriesQuery, "bucket"> & Partial<SeriesGroups>) {
  return reportQuery([...KEYS.mySeries, query], (signal) =>
    callWithHeaders("GET /my/usage/series", { signal, query: { ...query } }),
  );
}
