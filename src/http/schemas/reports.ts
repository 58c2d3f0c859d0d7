import { Type } from "@sinclair/typebox";
import { BILL_FORMATS, BILLED_UNITS } from "#bills/bill.ts";
import { LINE_KINDS, REASON_CODES, SOURCES } from "#bills/compared-cell.ts";
import { CONNECTION_FAILURES } from "#kernel/system-code.ts";
import { BREAKDOWN_SORTS, ROW_STATES } from "#stats/breakdown-query.ts";
import { BUCKETS } from "#stats/bucket.ts";
import { GROUP_ORDERS } from "#stats/series-grouping.ts";
import { FACET_NAMES, STATEMENT_PARTS, STATEMENT_REPRICING_STATES } from "#stats/store.ts";
import { REQUEST_CONDITIONS } from "#stats/what-if.ts";
import { ERROR_STATUS } from "#kernel/errors.ts";
import { REPORT_UNITS, UNITS } from "#kernel/units.ts";
import { PRICED_NAME_KINDS } from "#views/pricing.ts";
import { OUTCOMES } from "#usage/event.ts";
import { PriceConditions } from "./catalog.ts";
import {
  Cost,
  CostReported,
  Count,
  eachOf,
  fields,
  Id,
  Instant,
  nullable,
  oneOf,
  PendingRequests,
  someOf,
  Tags,
  Units,
  view,
} from "./shared.ts";

/** Wire shapes of reports (specification, sections 2.10, 4.3 and 4.4; exact keys from the decisions, "Reports"). */

const cacheFigures = {
  read_share: nullable(
    Type.Number({
      minimum: 0,
      maximum: 1,
      description: "Of the input tokens those that were read from a cache; null where there were none.",
    }),
  ),
  write_cost: nullable(
    Type.Number({
      minimum: 0,
      description: "What was written to a cache cost. Null where it had no price, or is not told.",
    }),
  ),
  saving: nullable(
    Type.Number({
      description:
        "What the tokens that were read and written would have cost as input, less what they cost, at the prices that were applied: negative where writes cost more than reads saved. Null where a price was missing, or it is not told.",
    }),
  ),
};

const figures = {
  requests: Count,
  cancelled: Count,
  pending_requests: PendingRequests,
  cost: Cost,
  cost_reported: CostReported,
  units: Units,
};
const used = { model: Type.String(), endpoint: Type.String() };
const by = { principal: Type.String() };

const OwnUsageRow = view("OwnUsageRow", { ...used, ...figures });
const UsageSummaryRow = view("UsageSummaryRow", { ...by, ...used, ...figures });
const TeamUsageRow = view("TeamUsageRow", {
  ...by,
  provider: Type.String(),
  ...used,
  client: nullable(Type.String()),
  tags: Tags,
  app: Type.String({ description: "The value of the tag `app`, or `untagged`." }),
  ...figures,
});
export const OwnUsage = fields({ usage: Type.Array(OwnUsageRow) });
export const UsageByPrincipal = fields({ usage: Type.Array(UsageSummaryRow) });
export const TeamUsage = fields({ usage: Type.Array(TeamUsageRow) });

const seriesFigures = {
  requests: Count,
  ok: Count,
  cancelled: Count,
  failed: Count,
  unpriced_requests: Count,
  pending_requests: PendingRequests,
  cost: Cost,
  cost_reported: CostReported,
  units: Units,
};
const usageSeries = {
  bucket: oneOf(BUCKETS),
  series: Type.Array(view("UsageSeriesBucket", { start: Instant, ...seriesFigures })),
};
const groupFigures = { ...seriesFigures, series: usageSeries.series };
export const UsageSeries = view("UsageSeries", usageSeries);
/** The groups only with `group_by`. */
export const GroupedUsageSeries = view("GroupedUsageSeries", {
  ...usageSeries,
  group_by: Type.Optional(Type.String()),
  order: Type.Optional(oneOf(GROUP_ORDERS)),
  group_count: Type.Optional(Count),
  groups: Type.Optional(
    Type.Array(
      view("UsageSeriesGroup", {
        value: nullable(Type.String({ description: "Null for requests that have no value." })),
        ...groupFigures,
      }),
    ),
  ),
  other: Type.Optional(nullable(fields(groupFigures))),
});

const statementFigures = {
  requests: Count,
  unpriced_requests: Count,
  unmetered_requests: Count,
  cost: Cost,
};

export const StatementView = view("Statement", {
  month: Type.String({ description: "`YYYY-MM`, UTC." }),
  hash: Type.String({
    description: "SHA-256 over usage and costs of each day: the same for the same month.",
  }),
  total: fields(statementFigures),
  repricings: Type.Array(
    fields({
      state: oneOf(STATEMENT_REPRICING_STATES),
      changed_at: nullable(Instant),
    }),
    {
      description:
        "Re-pricings whose time has days of the month, the last first: 100 at most. Where the hash is another one, they may have changed it; while one is `running` or `reverting`, costs go on changing.",
    },
  ),
  rows: Type.Array(
    fields({
      by: oneOf(STATEMENT_PARTS),
      value: Type.String({ description: "A principal's name, a key's id, or a tag." }),
      label: Type.Optional(Type.String({ description: "Of a key." })),
      ...statementFigures,
    }),
  ),
});

export const RefusedRequest = view("RefusedRequest", {
  id: Id,
  at: Instant,
  code: Type.String({ description: "As the answer had it in `error.code`." }),
  principal: nullable(Type.String({ description: "Null where the caller is not known." })),
  key_suffix: nullable(Type.String({ description: "Of keys in the form of this server's own." })),
  model: nullable(Type.String({ description: "That was asked for." })),
  endpoint: nullable(Type.String({ description: "`chat`, …, or the path." })),
  client: nullable(Type.String()),
  message: Type.Optional(
    Type.String({
      description:
        "As the answer had it. Absent where it is not kept: that of an unknown model only until a restart.",
    }),
  ),
});

export const RecentRefusals = view("RecentRefusals", {
  since: Instant,
  counts: someOf(Object.keys(ERROR_STATUS), Count, {
    title: "CountsByCode",
    description: "Codes that there were none of are left out.",
  }),
  refusals: Type.Array(RefusedRequest),
  limit: Count,
  offset: Count,
  total: Count,
});

export const MissingPrices = view("MissingPrices", {
  missing: Type.Array(
    fields({
      model: Type.String(),
      kind: oneOf(PRICED_NAME_KINDS),
      unit: oneOf(REPORT_UNITS),
      requests: Count,
      quantity: Type.Number({ minimum: 0, description: "As reports count it." }),
      last_seen: Instant,
      reason: Type.Optional(
        Type.String({
          description:
            "Why prices do not hold for it: `tier: flex` or `geo: us`. Absent for usage that lacks a price and nothing else.",
        }),
      ),
      has_price: Type.Boolean({
        description: "Whether such requests have a price now: of that tier, region and length.",
      }),
    }),
  ),
});

const Day = Type.String({ format: "date", description: "UTC." });
const billed = {
  units: someOf(BILLED_UNITS, Type.Number({ minimum: 0 }), {
    description:
      "Units that the files tell. Where they tell no `cached_input_tokens`, these are part of `input_tokens`.",
  }),
  cost: nullable(Type.Number({ description: "Null where nothing was priced, or the files tell no cost." })),
};

export const Reconciliation = view("Reconciliation", {
  agrees: Type.Boolean({ description: "Whether each line is `equal` or `within`." }),
  counts: eachOf(LINE_KINDS, Count),
  since: Day,
  until: Type.String({ format: "date", description: "The day behind the last." }),
  providers: nullable(
    Type.Array(Type.String(), { description: "Whose usage was compared; null: everyone's." }),
  ),
  files: Type.Array(
    fields({
      name: Type.String(),
      format: oneOf(BILL_FORMATS),
      rows: Count,
      skipped_rows: Type.Integer({ minimum: 0, description: "Rows of other products." }),
    }),
  ),
  total: fields({ here: billed.cost, there: billed.cost }),
  lines: Type.Array(
    view("ReconciliationLine", {
      compared_with: oneOf(SOURCES, {
        description:
          "`answers`: with the cost that the answers told themselves, where it differs by more than 1 %.",
      }),
      day: Day,
      model: nullable(
        Type.String({ description: "The upstream's; null where the files do not tell models apart." }),
      ),
      billed_as: Type.Optional(
        Type.Array(Type.String(), { description: "The files' names for it, where they are others." }),
      ),
      tier: nullable(
        Type.String({ description: "`standard` or another; null where the files do not tell tiers apart." }),
      ),
      kind: oneOf(LINE_KINDS, {
        description: "`within`: 1 % apart at most, or five requests and what they may have used.",
      }),
      here: nullable(
        fields({ requests: Count, ...billed, unpriced_requests: Count, unmetered_requests: Count }),
      ),
      there: nullable(fields({ requests: nullable(Count), ...billed })),
      reasons: Type.Array(
        fields({
          code: oneOf(REASON_CODES),
          text: Type.String({ description: "With its facts, for a person; may change." }),
        }),
      ),
    }),
  ),
});

/** Why a provider gave no answer; absent where it did, or where the reason is not known. */
export const Failure = Type.Optional(oneOf(CONNECTION_FAILURES));

const UNIT_DETAILS_DESCRIPTION =
  "What was billed otherwise than `units` and `unit_prices` tell: cache writes, and a unit whose billed quantity differs from the one that the provider reported, such as `input_tokens` without what was read from a cache. `price` is per million, null for none. Quantity × price, summed over these and over the units that are not among them, divided by a million and rounded to twelve decimals, is `cost`. Absent when empty.";

export const RequestRow = view("RequestRow", {
  id: Id,
  ts: Instant,
  principal: Type.String(),
  key_id: nullable(Id),
  key_label: nullable(Type.String()),
  relay_token_id: nullable(Id),
  provider: Type.String(),
  model: nullable(Type.String()),
  upstream_name: nullable(Type.String()),
  endpoint: Type.String(),
  client: nullable(Type.String()),
  status_code: Type.Integer(),
  outcome: oneOf(OUTCOMES),
  error_kind: nullable(Type.String()),
  failure: Failure,
  cancelled: Type.Boolean(),
  streamed: Type.Boolean(),
  duration_ms: Type.Number({ minimum: 0 }),
  time_to_first_byte_ms: nullable(Type.Number({ minimum: 0 })),
  cost: Cost,
  cost_reported: CostReported,
  units: Units,
  unit_prices: someOf(REPORT_UNITS, nullable(Type.Number({ minimum: 0 })), {
    description: "Per million, as they were applied; null for a unit without a price.",
  }),
  unit_details: Type.Optional(
    someOf(
      UNITS,
      fields({ quantity: Type.Number({ minimum: 0 }), price: nullable(Type.Number({ minimum: 0 })) }),
      {
        description: UNIT_DETAILS_DESCRIPTION,
      },
    ),
  ),
  cache: Type.Optional(
    Type.Object(cacheFigures, {
      additionalProperties: false,
      description: "Of a request that read or wrote a prompt cache.",
    }),
  ),
  tier: Type.Optional(
    Type.String({
      description: "The service tier that the answer told, such as `flex`. Absent for the standard one.",
    }),
  ),
  geo: Type.Optional(
    Type.String({
      description: "The region of inference that the answer told, such as `us`. Absent for a standard one.",
    }),
  ),
  price_when: Type.Optional(PriceConditions),
  unpriced_reason: Type.Optional(
    Type.String({
      description:
        "Why nothing of it is priced, though its units may have prices: `tier: flex` or `geo: us`. Absent otherwise.",
    }),
  ),
  unmetered: Type.Optional(
    Type.Literal(true, {
      description: "It ended without its usage, so what it used and cost is unknown. Absent otherwise.",
    }),
  ),
  pending: Type.Optional(
    Type.Literal(true, {
      description: "Its answer is given in the background: what it used is not known yet. Absent otherwise.",
    }),
  ),
  tags: Tags,
});

/** A refused request has no row, and is told apart by this field. */
export const OwnRequest = Type.Union([RequestRow, fields({ refusal: RefusedRequest })]);

/** One of the two is null. */
export const FoundRequest = view("FoundRequest", {
  request: nullable(RequestRow),
  refusal: nullable(RefusedRequest),
});

/** A page of the request log; what stands behind `total` only with `after`. */
export const RequestPage = fields({
  requests: Type.Array(RequestRow),
  limit: Count,
  offset: Count,
  total: Count,
  cursor: Type.Optional(Type.String({ description: "With `after`: what to send as `after` next." })),
  gap: Type.Optional(
    Type.Boolean({ description: "With `after`: the cursor is not known any more; read the page anew." }),
  ),
  refusals: Type.Optional(Type.Array(RefusedRequest, { description: "With `refusals`." })),
  refusals_total: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: "With `refusals`, without `after`: those that match, over every page.",
    }),
  ),
});

const Names = Type.Array(Type.String());
export const Facets = view("Facets", {
  principals: Names,
  keys: Type.Array(
    fields({
      id: Id,
      label: nullable(Type.String({ description: "Null for a key that was deleted." })),
      key_suffix: nullable(Type.String()),
      principal: Type.String(),
    }),
  ),
  providers: Names,
  models: Names,
  clients: Names,
  tags: Names,
  truncated: eachOf(FACET_NAMES, Type.Boolean()),
  counts: Type.Optional(
    eachOf(
      FACET_NAMES,
      Type.Array(Count, { description: "Requests that have each value, in the order of the values." }),
    ),
  ),
});

const milliseconds = nullable(Type.Number({ minimum: 0 }));
const percentiles = fields({ p50: milliseconds, p95: milliseconds });
const breakdownFigures = {
  requests: Count,
  ok: Count,
  failed: Count,
  cancelled: Count,
  unpriced: Count,
  unmetered: Type.Integer({
    minimum: 0,
    description:
      "Ended without their usage: answers that told none, and callers that left before it was told.",
  }),
  pending_requests: PendingRequests,
  cost: Cost,
  cost_reported: CostReported,
  cost_per_request: nullable(Type.Number({ minimum: 0, description: "Of the requests that have a cost." })),
  units: Units,
  duration_ms: percentiles,
  time_to_first_byte_ms: percentiles,
  last_ok_at: nullable(Instant),
  cache: Type.Optional(fields(cacheFigures)),
};

/** The answer of `GET /stats/breakdown` (docs/decisions.md). */
export const Breakdown = view("Breakdown", {
  by: Type.String(),
  sort: oneOf(BREAKDOWN_SORTS),
  rows: Type.Array(
    view("BreakdownRow", {
      value: nullable(Type.String({ description: "Null for requests that have no value." })),
      label: Type.Optional(
        nullable(Type.String({ description: "By key: its label; null for a key that was deleted." })),
      ),
      key_suffix: Type.Optional(nullable(Type.String({ description: "By key." }))),
      ...breakdownFigures,
    }),
  ),
  total: fields(breakdownFigures),
  row_count: Type.Integer({ minimum: 0, description: "How many values there are." }),
  truncated: Type.Boolean({ description: "There are more values than rows; the total has them all." }),
  percentiles: Type.Unsafe<(typeof ROW_STATES)[number]>({
    type: "string",
    enum: [...ROW_STATES],
    description:
      "By nearest rank, of requests that ended `ok`; of first bytes only where they were streamed. `exact`, or why all of them are null, and the costs in `cache`: more than a million requests in the window, or retention has removed rows of it.",
  }),
});

const change = (description: string) => Type.Number({ description });
const windowCost = fields({
  requests: Count,
  failed: Count,
  unpriced_requests: Count,
  cost: Cost,
  units: Units,
});
const costChange = {
  before: windowCost,
  now: windowCost,
  difference: change("Negative where it became less. The terms add up to it, to the twelfth decimal."),
  terms: fields({
    volume: change("As many requests do not fail as now."),
    models: change("They are shared among models as now."),
    tokens: change("Each uses as much as now, of its prompt as much from and for a cache as before."),
    cache: change("Prompts are read from and written to caches as now."),
    unpriced: change("As much of what is used has a price as now."),
    price: change("It costs what it costs now, tiers and conditions included."),
    unexplained: change("What is left: rounding, and what `rows` says is not read."),
  }),
};
const countedWindow = fields({ since: nullable(Instant), until: Instant });

/** The answer of `GET /stats/cost-change`. */
export const CostChange = view("CostChange", {
  windows: fields({ before: countedWindow, now: countedWindow }),
  total: fields(costChange),
  models: Type.Array(
    view("ModelCostChange", {
      model: nullable(Type.String({ description: "Null for requests that name none." })),
      ...costChange,
    }),
    {
      description:
        "The largest difference first, a hundred at most; with those of `other_models` their terms add up to those of the total.",
    },
  ),
  other_models: nullable(fields(costChange)),
  rows: oneOf(ROW_STATES, {
    description:
      "`exact`: what requests were billed for is read from rows. Else why everything but `volume` and `models` is `unexplained`: more than a million requests in a window, or retention has removed rows of it.",
  }),
});

const comparedCosts = {
  cost: Cost,
  other_cost: Cost,
  difference: nullable(
    Type.Number({
      description:
        "The other cost less the recorded one; null where one of the two leaves something out, or the recorded one is not told.",
    }),
  ),
};
const comparedSum = { requests: Count, unpriced_requests: Count, ...comparedCosts };
const compared = { from: Type.String(), to: Type.String() };

/** The answer of `POST /stats/what-if` (specification of money, section 4). */
export const WhatIf = view("WhatIf", {
  note: Type.String(),
  units: Type.Array(
    fields({
      ...compared,
      unit: oneOf(REPORT_UNITS),
      tier: Type.Optional(Type.String({ description: "Absent for the standard one." })),
      geo: Type.Optional(Type.String({ description: "Absent where the standard prices hold." })),
      quantity: Type.Number({ minimum: 0 }),
      ...comparedCosts,
      unpriced_reason: Type.Optional(
        Type.String({
          description:
            "The other model has no price for it, `no price`, or none that names the tier or region, such as `tier: flex`. Never taken as zero.",
        }),
      ),
    }),
  ),
  models: Type.Array(
    fields({
      ...compared,
      ...comparedSum,
      cache_writes_as_input: Type.Boolean({
        description:
          "Cache writes, audio or images have a price of their own with the other model, and are counted at the price of input or output, where sums keep them. Never where `unit_costs` is `exact`.",
      }),
      conditions_left_out: Type.Optional(
        Type.Array(oneOf(REQUEST_CONDITIONS), {
          description:
            "Conditions of the other model's prices that depend on each request, and are not applied to sums. Absent where `unit_costs` is `exact`.",
        }),
      ),
    }),
  ),
  total: fields(comparedSum),
  unit_costs: oneOf(ROW_STATES, {
    description:
      "`exact`: what each unit cost is read from rows. Else why `cost` is null in `units`: more than 200,000 requests in the window, or retention has removed rows of it.",
  }),
});
