import { CLIENT, ID, MODEL, UNITS } from "#http/schemas/examples.ts";

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

export const SERIES_EXAMPLE = {
  bucket: "day",
  series: [{ start: "2026-03-11T00:00:00.000000Z", ...FIGURES_EXAMPLE }],
};

/** The answer to `group_by`. */
export const GROUPED_SERIES_EXAMPLE = {
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
};

export const BREAKDOWN_EXAMPLE = {
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
