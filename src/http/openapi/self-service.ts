import { KeyCreated, KeyView, RelayTokenCreated, RelayTokenView } from "#http/schemas/identity.ts";
import { GroupedUsageSeries, OwnUsage } from "#http/schemas/reports.ts";
import { Deleted, listOf } from "#http/schemas/shared.ts";
import { KeyCreateRequest, RelayTokenCreateRequest } from "#http/schemas/requests.ts";
import { ID, INSTANT, MODEL, OWN_KEY, RELAY_TOKEN, UNITS } from "./examples.ts";
import { json, type Operation } from "./operation.ts";
import { OWN_GROUP_FIELDS } from "#stats/series-grouping.ts";
import {
  GROUPED_SERIES_EXAMPLE,
  SERIES_QUERY,
  seriesAnswer,
  summaryAnswer,
  toGroupQuery,
  WINDOW_QUERY,
} from "./report-parts.ts";

const KEY = {
  id: ID.ownKey,
  key_suffix: OWN_KEY.slice(-4),
  label: "laptop",
  created_at: INSTANT,
  last_used_at: null,
};
const TOKEN = {
  id: ID.ownToken,
  token_suffix: RELAY_TOKEN.slice(-4),
  label: "editor",
  created_at: INSTANT,
  last_used_at: null,
};

/** Specification, section 4.3: `/my`. */
export const selfServiceOperations: readonly Operation[] = [
  {
    ...mine("POST", "/my/keys", "Make a key of one's own"),
    body: { schema: KeyCreateRequest, example: { label: "laptop" }, optional: true },
    answers: [json(201, KeyCreated, { ...KEY, key: OWN_KEY })],
    errors: ["invalid_label"],
  },
  {
    ...mine("GET", "/my/keys", "One's own keys"),
    answers: [json(200, listOf("keys", KeyView), { keys: [KEY] })],
  },
  {
    ...mine("DELETE", "/my/keys/:id", "Delete a key of one's own"),
    params: { id: ID.ownKey },
    answers: [json(200, Deleted, { deleted: ID.ownKey })],
    errors: ["key_not_found"],
  },
  {
    ...mine("POST", "/my/relay-tokens", "Make a relay token of one's own"),
    body: { schema: RelayTokenCreateRequest, example: { label: "editor" }, optional: true },
    answers: [json(201, RelayTokenCreated, { ...TOKEN, token: RELAY_TOKEN })],
    errors: ["invalid_label"],
  },
  {
    ...mine("GET", "/my/relay-tokens", "One's own relay tokens"),
    answers: [
      {
        ...json(200, listOf("relay_tokens", RelayTokenView), { relay_tokens: [TOKEN] }),
        headers: ["x-proxy-relay"],
      },
    ],
  },
  {
    ...mine("DELETE", "/my/relay-tokens/:id", "Delete a relay token of one's own"),
    params: { id: ID.ownToken },
    answers: [json(200, Deleted, { deleted: ID.ownToken })],
    errors: ["relay_token_not_found"],
  },
  {
    ...mine("GET", "/my/usage", "One's own usage by model and endpoint"),
    query: WINDOW_QUERY,
    answers: [
      summaryAnswer(OwnUsage, {
        model: MODEL.alias,
        endpoint: "chat",
        requests: 12,
        cancelled: 1,
        cost: 0.0048,
        units: UNITS,
      }),
    ],
    errors: ["invalid_date"],
  },
  {
    ...mine("GET", "/my/usage/series", "One's own usage over time"),
    query: [...SERIES_QUERY, ...toGroupQuery(OWN_GROUP_FIELDS)],
    answers: [seriesAnswer(GroupedUsageSeries, GROUPED_SERIES_EXAMPLE)],
    errors: ["invalid_request", "invalid_date", "invalid_bucket", "range_too_large"],
  },
];

function mine(method: string, path: string, summary: string) {
  return { method, path, access: "caller", tag: "Self-service", summary } as const;
}
