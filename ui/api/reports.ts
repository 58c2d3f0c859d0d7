import type { Treaty } from "@elysiajs/eden/treaty2";
import { keepPreviousData, queryOptions, type QueryKey } from "@tanstack/react-query";
import type { Bucket } from "#stats/bucket.ts";
import type { GroupOrder } from "#stats/series-grouping.ts";
import type { ReportQuery } from "../search/filters.ts";
import { unwrap, unwrapWithHeaders } from "./answer.ts";
import { api, asking, toPathPart } from "./client.ts";
import { ApiFailure } from "./failure.ts";
import { KEYS } from "./keys.ts";
import { fetchWholeList, type PageQuery } from "./pages.ts";

/** The team's reports (specification, section 4.4). */

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

/** What a report says of itself beside its figures. */
export interface ReportNotes {
  /** The window that was counted, where retention left no other; null when it is the one that was asked for. */
  readonly countedWindow: { readonly since: string; readonly until: string } | null;
  /** Rows beyond a limit of the server were left out. */
  readonly isTruncated: boolean;
}

export type UsageSeries = Treaty.Data<typeof api.stats.series.get>;
export type UsageGroup = NonNullable<UsageSeries["groups"]>[number];
export type UsageBucket = UsageSeries["series"][number];
export type Units = UsageBucket["units"];
export type TeamUsageRow = Treaty.Data<typeof api.stats.summary.get>["usage"][number];
export type RequestPage = Treaty.Data<typeof api.stats.requests.get>;
export type RequestRow = RequestPage["requests"][number];
export type Outcome = RequestRow["outcome"];
export type Breakdown = Treaty.Data<typeof api.stats.breakdown.get>;
export type BreakdownRow = Breakdown["rows"][number];
export type Facets = Treaty.Data<typeof api.stats.requests.facets.get>;
export type MissingPrices = Treaty.Data<(typeof api.admin.v1.usage)["missing-prices"]["get"]>;
export type MissingPriceRow = MissingPrices["missing"][number];
export type ErrorsReport = Treaty.Data<typeof api.stats.errors.get>;
export type RecentRefusals = Treaty.Data<typeof api.admin.v1.refusals.get>;
export type RefusedRequest = RecentRefusals["refusals"][number];
export type ErrorsRow = ErrorsReport["breakdown"][number];

export function teamSeriesQuery(query: SeriesQuery) {
  return queryOptions({
    queryKey: [...KEYS.series, query],
    queryFn: ({ signal }) => fetchSeries(query, signal),
    placeholderData: keepPreviousData,
  });
}

export function teamSummaryQuery(query: ReportQuery) {
  return reportQuery([...KEYS.summary, query], (signal) =>
    api.stats.summary.get(asking(signal, { ...query })),
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
  return await unwrapReport(api.stats.requests.get(asking(signal, { ...query, ...page })));
}

/**
 * Fetches what was recorded since a cursor was given, and the next one; an empty cursor means from now on. Nothing new is a small
 * answer, which the server gives without reading the ledger.
 */
export async function fetchRecorded(
  query: ReportQuery,
  since: { readonly after: string; readonly limit: number },
  signal?: AbortSignal,
) {
  return await unwrap(api.stats.requests.get(asking(signal, { ...query, ...since })));
}

/** Fetches a series outside of the cache. */
export async function fetchSeries(query: SeriesQuery, signal?: AbortSignal) {
  return await unwrapReport(api.stats.series.get(asking(signal, { ...query })));
}

/** What is asked of a breakdown: `by` a field, or `tag:` and a tag's key. */
export interface BreakdownQuery extends ReportQuery {
  readonly by: string;
  readonly limit?: number | undefined;
}

/** The figures of each value of one dimension. */
export function breakdownQuery(query: BreakdownQuery) {
  return reportQuery([...KEYS.breakdown, query], (signal) =>
    api.stats.breakdown.get(asking(signal, { ...query })),
  );
}

/** What the filters can be set to within the window and the other filters, and how many requests have each value. */
export function facetsQuery(query: ReportQuery) {
  return reportQuery([...KEYS.facets, query], (signal) =>
    api.stats.requests.facets.get(asking(signal, { ...query, counts: "1" })),
  );
}

const REFUSALS_AGE_MS = 30_000;

const HOUR_MS = 3_600_000;

/** The newest refusal of the last hour, how many there were in it, and counts by code since the start, for admins. */
export function recentRefusalsQuery() {
  return queryOptions({
    queryKey: [...KEYS.refusals, "recent"],
    queryFn: ({ signal }) => {
      const since = new Date(Date.now() - HOUR_MS).toISOString();
      return unwrap(api.admin.v1.refusals.get(asking(signal, { since, limit: 1 })));
    },
    refetchInterval: REFUSALS_AGE_MS,
  });
}

/** All that is kept of what was refused and left no usage event, for admins. */
export function refusalsQuery() {
  return queryOptions({
    queryKey: [...KEYS.refusals, "all"],
    queryFn: ({ signal }) =>
      fetchWholeList(
        async (page) => {
          const { refusals, total } = await unwrap(api.admin.v1.refusals.get(asking(signal, { ...page })));
          return { rows: refusals, total };
        },
        ({ id }) => id,
      ),
  });
}

/** What became of a request: its row of the log, or for admins its refusal. Null: neither is kept. */
export function foundRequestQuery(id: string) {
  return queryOptions({
    queryKey: [...KEYS.request, id],
    queryFn: async ({ signal }) => {
      try {
        return await unwrap(api.stats.requests({ id: toPathPart(id) }).get(asking(signal)));
      } catch (failure) {
        if (failure instanceof ApiFailure && failure.code === "request_not_found") return null;
        throw failure;
      }
    },
  });
}

export type ProviderHealth = Treaty.Data<typeof api.stats.breakdown.get>["rows"][number];

/** What the last day of each provider was like; asked for again while it is looked at. */
export function providerHealthQuery(query: Pick<ReportQuery, "since">) {
  return {
    ...reportQuery([...KEYS.reports, "provider-health", query], (signal) =>
      api.stats.breakdown.get(asking(signal, { ...query, by: "provider", sort: "requests", limit: 500 })),
    ),
    refetchInterval: HEALTH_AGE_MS,
  };
}

const HEALTH_AGE_MS = 15_000;

export function errorsQuery(query: SeriesQuery) {
  return reportQuery([...KEYS.errors, query], (signal) => api.stats.errors.get(asking(signal, { ...query })));
}

/** For an administrator: what was recorded without a price. A change of prices makes it stale. */
export function missingPricesQuery(query: ReportQuery) {
  return reportQuery([...KEYS.pricing, "missing", query], (signal) =>
    api.admin.v1.usage["missing-prices"].get(asking(signal, { ...query })),
  );
}

/** For an administrator: usage by principal, model and endpoint (specification, section 4.6). */
export function usageByPrincipalQuery(query: ReportQuery) {
  return reportQuery([...KEYS.usageByPrincipal, query], (signal) =>
    api.admin.v1.usage.summary.get(asking(signal, { ...query })),
  );
}

/** Options of a report by its key in the cache; the report before it stays in sight until it is there. */
export function reportQuery<Report extends object, const Key extends QueryKey>(
  queryKey: Key,
  ask: (signal: AbortSignal) => Parameters<typeof unwrapReport<Report>>[0],
) {
  return queryOptions({
    queryKey,
    queryFn: ({ signal }) => unwrapReport(ask(signal)),
    placeholderData: keepPreviousData,
  });
}

/** The figures with their notes. Throws as `unwrap` does. */
export async function unwrapReport<Report extends object>(
  asked: Parameters<typeof unwrapWithHeaders<Report | null>>[0],
): Promise<Report & { readonly notes: ReportNotes }> {
  const { data, headers } = await unwrapWithHeaders(asked);
  return { ...data, notes: toNotes(headers) };
}

function toNotes(headers: Headers): ReportNotes {
  const [since, until] = headers.get("x-proxy-window")?.split("/") ?? [];
  return {
    countedWindow: since === undefined || until === undefined ? null : { since, until },
    isTruncated: headers.get("x-proxy-truncated") === "true",
  };
}
