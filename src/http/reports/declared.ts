import { type TSchema, Type } from "@sinclair/typebox";
import { PAGE_QUERY } from "#http/door/paging.ts";
import type { Answer, Content, QueryParam } from "#http/door/route.ts";
import { CLIENT, ID, MODEL, PAGE, SINCE, UNITS } from "#http/schemas/examples.ts";
import {
  Breakdown,
  CostChange,
  GroupedUsageSeries,
  RequestPage,
  UsageSeries,
} from "#http/schemas/reports.ts";
import { oneOf } from "#http/schemas/shared.ts";
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from "#kernel/page.ts";
import { BREAKDOWN_SORTS, type BreakdownField } from "#stats/breakdown-query.ts";
import { BUCKETS } from "#stats/bucket.ts";
import { FILTER_TAGS_MAX, FILTER_VALUES_MAX, OUTCOME_FILTERS } from "#stats/filter.ts";
import { LOG_ORDERS } from "#stats/request-log.ts";
import {
  GROUPS_DEFAULT,
  GROUPS_MAX,
  GROUP_BUCKETS_MAX,
  GROUP_ORDERS,
  type GroupField,
} from "#stats/series-grouping.ts";

/** Answers of reports, as the OpenAPI document shows them. */

const FIGURES_EXAMPLE = {
  requests: 14,
  ok: 12,
  cancelled: 1,
  failed: 1,
  unpriced_requests: 0,
  cost: 0.0048,
  units: UNITS,
};

const SERIES_EXAMPLE = {
  bucket: "day",
  series: [{ start: "2026-03-11T00:00:00.000000Z", ...FIGURES_EXAMPLE }],
};

/** The answer to `group_by`. */
const GROUPED_SERIES_EXAMPLE = {
  ...SERIES_EXAMPLE,
  group_by: "model",
  order: "cost",
  group_count: 1,
  groups: [{ value: MODEL.alias, ...FIGURES_EXAMPLE, series: SERIES_EXAMPLE.series }],
  other: null,
};

const BREAKDOWN_FIGURES_EXAMPLE = {
  requests: 14,
  ok: 12,
  failed: 1,
  cancelled: 1,
  unpriced: 0,
  unmetered: 0,
  cost: 0.0048,
  cost_per_request: 0.0004,
  units: UNITS,
  duration_ms: { p50: 1840.5, p95: 6120.25 },
  time_to_first_byte_ms: { p50: 310.25, p95: 900 },
  last_ok_at: "2026-03-11T11:59:58.250000Z",
  cache: { read_share: 0.9, write_cost: 0.0004, saving: 0.0021 },
};

const BREAKDOWN_EXAMPLE = {
  by: "model",
  sort: "cost",
  rows: [{ value: MODEL.alias, ...BREAKDOWN_FIGURES_EXAMPLE }],
  total: BREAKDOWN_FIGURES_EXAMPLE,
  row_count: 1,
  truncated: false,
  percentiles: "exact",
};

export const REQUEST_LOG_EXAMPLE = {
  id: ID.request,
  ts: "2026-03-11T11:59:58.250000Z",
  principal: "alice",
  key_id: ID.aliceKey,
  key_label: "laptop",
  relay_token_id: null,
  provider: MODEL.provider,
  model: MODEL.alias,
  upstream_name: MODEL.upstream_name,
  endpoint: "chat",
  client: CLIENT,
  status_code: 200,
  outcome: "ok",
  error_kind: null,
  cancelled: false,
  streamed: true,
  duration_ms: 1840.5,
  time_to_first_byte_ms: 310.25,
  cost: 0.0041,
  units: UNITS,
  unit_prices: MODEL.pricing,
  tags: ["app:wiki"],
};

export const REFUSAL_EXAMPLE = {
  id: ID.request,
  at: "2026-03-11T11:59:58.250000Z",
  code: "model_not_found",
  principal: "alice",
  key_suffix: "x7Yz",
  model: MODEL.alias,
  endpoint: "chat",
  client: CLIENT,
};

/** The parts of declarations that reports share (specification, sections 4 and 4.4). */

const instant = Type.String({ description: "ISO 8601; UTC where no zone is given." });
export const WINDOW_QUERY: readonly QueryParam[] = [
  { name: "since", schema: instant, description: "Inclusive.", example: SINCE },
  { name: "until", schema: instant, description: "Exclusive." },
];
const BUCKET_QUERY: QueryParam = {
  name: "bucket",
  schema: Type.String({ enum: [...BUCKETS], default: "day" }),
  description: "How long each part of the series is.",
  example: "day",
};
export const SERIES_QUERY: readonly QueryParam[] = [BUCKET_QUERY, ...WINDOW_QUERY];

/** Cutting a series into groups by one of these fields, or by a tag. */
function toGroupQuery(groupFields: readonly GroupField[]): readonly QueryParam[] {
  return [
    {
      name: "group_by",
      schema: Type.String(),
      description: `Adds \`groups\`: one of ${groupFields.map((field) => `\`${field}\``).join(", ")}, or \`tag:\` and a tag's key.`,
      example: "model",
    },
    {
      name: "order",
      schema: Type.String({ enum: [...GROUP_ORDERS], default: "cost" }),
      description: "Which groups are the largest.",
      example: "cost",
    },
    {
      name: "top",
      schema: Type.Integer({ minimum: 1, maximum: GROUPS_MAX, default: GROUPS_DEFAULT }),
      description: `Groups told apart, the largest first; \`other\` is the rest. Fewer when their series would have more than ${GROUP_BUCKETS_MAX} buckets in all.`,
      example: "1",
    },
  ];
}

const text = Type.String();
const amount = Type.Number({ minimum: 0 });
/** The parameter may be repeated: any of its values matches. */
const anyOf = (value: TSchema) => Type.Array(value, { maxItems: FILTER_VALUES_MAX });
export const FILTER_QUERY: readonly QueryParam[] = [
  ...WINDOW_QUERY,
  { name: "principal", schema: anyOf(text), description: "A principal's name." },
  { name: "key", schema: anyOf(text), description: "A key's id." },
  {
    name: "provider",
    schema: anyOf(text),
    description: "A provider's name, `transparent:messages` or `(deleted)`.",
  },
  { name: "model", schema: anyOf(text), description: "As the caller named it." },
  { name: "client", schema: anyOf(text), description: "A prefix of the User-Agent." },
  {
    name: "client_version",
    schema: anyOf(text),
    description:
      "The User-Agent up to its version, such as `Continue/1.3.2`, and no longer version; all of one without a version.",
  },
  {
    name: "tag",
    schema: Type.Array(text, { maxItems: FILTER_TAGS_MAX }),
    description: "`key:value`; all must match.",
  },
  {
    name: "outcome",
    schema: anyOf(oneOf(OUTCOME_FILTERS)),
    description:
      "`failed` is everything but `ok`. `refused` is no usage and matches none: the request log tells of it with `refusals`.",
  },
  { name: "error_kind", schema: anyOf(text), description: "Such as `timeout` or `rate_limit_error`." },
  { name: "status", schema: anyOf(text), description: "A status code, or `4xx` or `5xx`." },
  {
    name: "tier",
    schema: anyOf(text),
    description: "The service tier that the answer told, such as `flex`; `standard` is none.",
  },
  {
    name: "unpriced",
    schema: oneOf(["true"]),
    description: "Only requests of which some unit was used without a price.",
  },
  { name: "min_cost", schema: amount, description: "Inclusive. A request without a cost never matches." },
  { name: "max_cost", schema: amount, description: "Inclusive. A request without a cost never matches." },
  { name: "min_duration_ms", schema: amount, description: "Inclusive." },
  { name: "max_duration_ms", schema: amount, description: "Inclusive." },
];
export const FILTERED_SERIES_QUERY: readonly QueryParam[] = [BUCKET_QUERY, ...FILTER_QUERY];

const NOTES = ["x-proxy-window", "x-proxy-truncated", "x-proxy-repricing"] as const;

/** A report that is JSON only. */
export function reportAnswer<Schema extends TSchema>(schema: Schema, example: unknown): Answer<200, Schema> {
  return { status: 200, description: "The report.", contents: [toJson(schema, example)], headers: NOTES };
}

/** JSON, or the same rows as CSV when the Accept header asks for it. */
export function tableAnswer<Schema extends TSchema>(schema: Schema, example: unknown): Answer<200, Schema> {
  return { ...reportAnswer(schema, example), contents: [toJson(schema, example), CSV] };
}

export const CSV: Content = {
  type: "text/csv",
  schema: Type.String({ description: "RFC 4180, with a header." }),
};

function toJson<Schema extends TSchema>(schema: Schema, example: unknown): Content<Schema> {
  return { type: "application/json", schema, example };
}

/** `range_too_large`: a filter on single requests leaves too many to look at. */
export const FILTER_ERRORS = [
  "invalid_date",
  "invalid_outcome",
  "invalid_request",
  "range_too_large",
  "reports_busy",
] as const;
/** Those of a series, whose window may also have too many buckets. */
export const SERIES_ERRORS = [...FILTER_ERRORS, "invalid_bucket"] as const;

/** The series of the whole team, without groups. */
export const SERIES = {
  summary: "Everybody's usage over time",
  query: FILTERED_SERIES_QUERY,
  answer: reportAnswer(UsageSeries, SERIES_EXAMPLE),
  errors: SERIES_ERRORS,
} as const;

/** The query and the answer of a breakdown by one of these fields. */
export function breakdown(query: readonly QueryParam[], breakdownFields: readonly BreakdownField[]) {
  return {
    query: [
      {
        name: "by",
        schema: Type.String({ default: "model" }),
        description: `One of ${breakdownFields.map((field) => `\`${field}\``).join(", ")}, or \`tag:\` and a tag's key.`,
        example: "model",
      },
      {
        name: "sort",
        schema: Type.String({ enum: [...BREAKDOWN_SORTS], default: "cost" }),
        description: "The largest first.",
      },
      {
        name: "limit",
        schema: Type.Integer({ minimum: 1, maximum: PAGE_LIMIT_MAX, default: PAGE_LIMIT_DEFAULT }),
        description: "Rows of the answer.",
      },
      {
        name: "cache",
        schema: oneOf(["1"]),
        description: "Adds `cache`: what prompt caches gave, cost and saved.",
        example: "1",
      },
      ...query,
    ],
    answer: tableAnswer(Breakdown, BREAKDOWN_EXAMPLE),
  };
}

const WINDOW_COST_EXAMPLE = { requests: 12, failed: 0, unpriced_requests: 0, cost: 0.0048, units: UNITS };
const COST_CHANGE_EXAMPLE = {
  before: WINDOW_COST_EXAMPLE,
  now: { ...WINDOW_COST_EXAMPLE, requests: 24, cost: 0.0096 },
  difference: 0.0048,
  terms: { volume: 0.0048, models: 0, tokens: 0, cache: 0, unpriced: 0, price: 0, unexplained: 0 },
};

/** The difference of two windows' costs; `query` filters both alike. */
export function costChange(query: readonly QueryParam[]) {
  return {
    description:
      "The difference of two windows' costs as terms that add up to it exactly. One thing after the other is taken from the later window, in the order of the terms, and each term is what that changes.",
    query: [
      ...query,
      {
        name: "before_since",
        schema: instant,
        description: "Of the window to compare with; as long as the other one where absent.",
      },
      { name: "before_until", schema: instant, description: "The other window's start where absent." },
    ],
    answer: reportAnswer(CostChange, {
      windows: {
        before: { since: "2026-03-01T00:00:00.000000Z", until: "2026-03-08T00:00:00.000000Z" },
        now: { since: "2026-03-08T00:00:00.000000Z", until: "2026-03-15T00:00:00.000000Z" },
      },
      total: COST_CHANGE_EXAMPLE,
      models: [{ model: MODEL.alias, ...COST_CHANGE_EXAMPLE }],
      other_models: null,
      rows: "exact",
    }),
  };
}

/** The query and the answer of a series that can be grouped by these fields. */
export function groupedSeries(query: readonly QueryParam[], groupFields: readonly GroupField[]) {
  return {
    query: [...query, ...toGroupQuery(groupFields)],
    answer: reportAnswer(GroupedUsageSeries, GROUPED_SERIES_EXAMPLE),
  };
}

const AFTER_QUERY: QueryParam = {
  name: "after",
  schema: Type.String(),
  description:
    "Only what was recorded since this cursor was given, and with the answer the next `cursor`. Empty: from now on.",
};

const ORDER_QUERY: QueryParam = {
  name: "order",
  schema: Type.String({ enum: [...LOG_ORDERS], default: "newest" }),
  description: "`cost` and `duration`: the largest first. Not with `after`, nor for the CSV of every row.",
};

const REFUSALS_QUERY: QueryParam = {
  name: "refusals",
  schema: oneOf(["1"]),
  description:
    "Adds `refusals`, those that arrived among the rows of the page: one's own, for admins all that the replica keeps. Where the outcome `refused` alone is asked for they are the rows of the page. Not in CSV.",
  example: "1",
};

/** The request log that the team and an admin read alike. */
export const REQUEST_LOG = {
  summary: "The request log: metadata, never content",
  query: [...PAGE_QUERY, ORDER_QUERY, AFTER_QUERY, REFUSALS_QUERY, ...FILTER_QUERY],
  answer: tableAnswer(RequestPage, { requests: [REQUEST_LOG_EXAMPLE], ...PAGE }),
  errors: FILTER_ERRORS,
} as const;
