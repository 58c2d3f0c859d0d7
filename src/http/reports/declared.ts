import { Type, type TSchema } from "@sinclair/typebox";
import { BREAKDOWN_SORTS, type BreakdownField } from "#stats/breakdown-query.ts";
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from "#kernel/page.ts";
import { Breakdown } from "#http/schemas/breakdown.ts";
import { BUCKETS } from "#stats/bucket.ts";
import {
  GROUP_BUCKETS_MAX,
  GROUP_ORDERS,
  GROUPS_DEFAULT,
  GROUPS_MAX,
  type GroupField,
} from "#stats/series-grouping.ts";
import { FILTER_TAGS_MAX, FILTER_VALUES_MAX, OUTCOME_FILTERS } from "#stats/filter.ts";
import { LOG_ORDERS } from "#stats/log-order.ts";
import { oneOf } from "#http/schemas/shared.ts";
import { PAGE, SINCE } from "#http/schemas/examples.ts";
import {
  BREAKDOWN_EXAMPLE,
  GROUPED_SERIES_EXAMPLE,
  REQUEST_LOG_EXAMPLE,
  SERIES_EXAMPLE,
} from "./examples.ts";
import { PAGE_QUERY } from "#http/door/paging.ts";
import type { Answer, Content, QueryParam } from "#http/door/route.ts";
import { GroupedUsageSeries, RequestPage, UsageSeries } from "#http/schemas/reports.ts";

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
    name: "tag",
    schema: Type.Array(text, { maxItems: FILTER_TAGS_MAX }),
    description: "`key:value`; all must match.",
  },
  {
    name: "outcome",
    schema: anyOf(oneOf(OUTCOME_FILTERS)),
    description: "`failed` is everything but `ok`.",
  },
  { name: "error_kind", schema: anyOf(text), description: "Such as `timeout` or `rate_limit_error`." },
  { name: "status", schema: anyOf(text), description: "A status code, or `4xx` or `5xx`." },
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

const NOTES = ["x-proxy-window", "x-proxy-truncated"] as const;

/** A report that is JSON only. */
export function reportAnswer<Schema extends TSchema>(schema: Schema, example: unknown): Answer<200, Schema> {
  return { status: 200, description: "The report.", contents: [toJson(schema, example)], headers: NOTES };
}

/** JSON, or the same rows as CSV when the Accept header asks for it. */
export function tableAnswer<Schema extends TSchema>(schema: Schema, example: unknown): Answer<200, Schema> {
  return { ...reportAnswer(schema, example), contents: [toJson(schema, example), CSV] };
}

const CSV: Content = {
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
      ...query,
    ],
    answer: reportAnswer(Breakdown, BREAKDOWN_EXAMPLE),
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

/** The request log that the team and an admin read alike. */
export const REQUEST_LOG = {
  summary: "The request log: metadata, never content",
  query: [...PAGE_QUERY, ORDER_QUERY, AFTER_QUERY, ...FILTER_QUERY],
  answer: tableAnswer(RequestPage, { requests: [REQUEST_LOG_EXAMPLE], ...PAGE }),
  errors: FILTER_ERRORS,
} as const;
