import {
  ErrorsReport,
  Facets,
  GroupedUsageSeries,
  RequestPage,
  TeamUsage,
  UsageByPrincipal,
  UsageSeries,
} from "#http/schemas/reports.ts";
import { GROUP_FIELDS } from "#stats/series-grouping.ts";
import { oneOf } from "#http/schemas/shared.ts";
import { CLIENT, ID, MODEL, PAGE, TAGS, UNITS } from "./examples.ts";
import type { Operation, QueryParam } from "./operation.ts";
import {
  FILTER_QUERY,
  FILTERED_SERIES_QUERY,
  GROUPED_SERIES_EXAMPLE,
  PAGE_QUERY,
  REQUEST_LOG_EXAMPLE,
  SERIES_EXAMPLE,
  seriesAnswer,
  summaryAnswer,
  tableAnswer,
  toGroupQuery,
} from "./report-parts.ts";

const FILTER_ERRORS = ["invalid_date", "invalid_outcome", "invalid_request"] as const;
const BUCKET_ERRORS = ["invalid_bucket", "range_too_large"] as const;

const REQUEST_LOG = {
  method: "GET",
  summary: "The request log, newest first: metadata, never content",
  query: [...PAGE_QUERY, ...FILTER_QUERY],
  answers: [tableAnswer(RequestPage, { requests: [REQUEST_LOG_EXAMPLE], ...PAGE })],
  errors: FILTER_ERRORS,
} as const;

const ERRORS_EXAMPLE = {
  bucket: "day",
  series: [{ start: "2026-03-11T00:00:00.000000Z", ok: 12, upstream_error: 1, unreachable: 0, cancelled: 1 }],
  breakdown: [
    {
      provider: MODEL.provider,
      model: MODEL.alias,
      endpoint: "chat",
      client: CLIENT,
      tags: [],
      outcome: "upstream_error",
      error_kind: "rate_limit_error",
      status_code: 429,
      requests: 1,
      avg_duration_ms: 120.5,
      last_seen: "2026-03-11T11:59:58.250000Z",
      bands: { "<1s": 1, "1-5s": 0, "5-15s": 0, "15-30s": 0, "30-60s": 0, "60-120s": 0, ">=120s": 0 },
    },
  ],
};
const FACETS_EXAMPLE = {
  principals: ["alice"],
  keys: [{ id: ID.aliceKey, label: "laptop", key_suffix: "MPLE", principal: "alice" }],
  providers: [MODEL.provider],
  models: [MODEL.alias],
  clients: [CLIENT],
  tags: TAGS,
  truncated: {
    principals: false,
    keys: false,
    providers: false,
    models: false,
    clients: false,
    tags: false,
  },
  counts: { principals: [12], keys: [12], providers: [12], models: [12], clients: [12], tags: [12, 7] },
};
const FACETS_QUERY: readonly QueryParam[] = [
  ...FILTER_QUERY,
  {
    name: "counts",
    schema: oneOf(["1"]),
    description: "Adds `counts`: how many requests have each value.",
    example: "1",
  },
];

/** Specification, section 4.4: `/stats`, visible to the whole team. */
export const statisticsOperations: readonly Operation[] = [
  {
    ...team("/stats/series", "Everybody's usage over time"),
    query: [...FILTERED_SERIES_QUERY, ...toGroupQuery(GROUP_FIELDS)],
    answers: [seriesAnswer(GroupedUsageSeries, GROUPED_SERIES_EXAMPLE)],
    errors: [...FILTER_ERRORS, ...BUCKET_ERRORS],
  },
  {
    ...team("/stats/summary", "Everybody's usage by principal, provider, model, endpoint, client and tags"),
    query: FILTER_QUERY,
    answers: [
      summaryAnswer(TeamUsage, {
        principal: "alice",
        provider: MODEL.provider,
        model: MODEL.alias,
        endpoint: "chat",
        client: CLIENT,
        tags: ["app:wiki"],
        app: "wiki",
        requests: 12,
        cancelled: 1,
        cost: 0.0048,
        units: UNITS,
      }),
    ],
    errors: [...FILTER_ERRORS, "range_too_large"],
  },
  { ...REQUEST_LOG, path: "/stats/requests", access: "caller", tag: "Statistics" },
  {
    ...team("/stats/requests/facets", "What the filters can be set to"),
    query: FACETS_QUERY,
    answers: [seriesAnswer(Facets, FACETS_EXAMPLE)],
    errors: FILTER_ERRORS,
  },
  {
    ...team("/stats/errors", "How requests ended"),
    query: FILTERED_SERIES_QUERY,
    answers: [seriesAnswer(ErrorsReport, ERRORS_EXAMPLE)],
    errors: [...FILTER_ERRORS, ...BUCKET_ERRORS],
  },
];

/** Specification, section 4.6: the reports of an admin. */
export const adminReportOperations: readonly Operation[] = [
  {
    ...ofAdmin("/admin/v1/usage/summary", "Everybody's usage by principal, model and endpoint"),
    query: FILTER_QUERY,
    answers: [
      summaryAnswer(UsageByPrincipal, {
        principal: "alice",
        model: MODEL.alias,
        endpoint: "chat",
        requests: 12,
        cancelled: 1,
        cost: 0.0048,
        units: UNITS,
      }),
    ],
    errors: FILTER_ERRORS,
  },
  {
    ...ofAdmin("/admin/v1/usage/series", "Everybody's usage over time"),
    query: FILTERED_SERIES_QUERY,
    answers: [seriesAnswer(UsageSeries, SERIES_EXAMPLE)],
    errors: [...FILTER_ERRORS, ...BUCKET_ERRORS],
  },
  { ...REQUEST_LOG, path: "/admin/v1/requests", access: "admin", tag: "Reports" },
];

function team(path: string, summary: string) {
  return { method: "GET", path, access: "caller", tag: "Statistics", summary } as const;
}

function ofAdmin(path: string, summary: string) {
  return { method: "GET", path, access: "admin", tag: "Reports", summary } as const;
}
