import { Type } from "@sinclair/typebox";
import { t } from "elysia";
import { UNITS } from "#kernel/units.ts";
import { REPRICING_STATES } from "#stats/repricing.ts";
import { closed } from "./fields.ts";
import { PriceVariants, Pricing } from "./requests.ts";
import { Count, fields, Id, Instant, nullable, oneOf, view } from "./shared.ts";

/** Wire shapes of re-pricings (specification of money, section 3). */

const ModelPrices = t.Object(
  {
    pricing: Pricing,
    price_variants: t.Optional(t.Union([PriceVariants, t.Null()])),
  },
  { additionalProperties: false },
);
export const REPRICED_MODELS_MAX = 1_000;

export const RepricingRequest = t.Object(
  {
    since: t.Optional(t.String({ description: "ISO 8601, inclusive." })),
    until: t.Optional(t.String({ description: "Exclusive." })),
    filters: t.Optional(
      t.Record(t.String(), t.Union([t.String(), t.Number(), t.Array(t.String())]), {
        description: "The filters of /stats, by their names, but for the window.",
      }),
    ),
    prices: t.Union(
      [
        t.Literal("history"),
        t.Record(t.String(), ModelPrices, { minProperties: 1, maxProperties: REPRICED_MODELS_MAX }),
      ],
      {
        description:
          "By the model that requests asked for, its complete prices; requests of other models keep theirs. `history`: each request at the prices that were in force for its model when it ended, as `GET /admin/v1/pricing/history` has them when the plan is made. Requests that ended before the first price of their model keep theirs.",
      },
    ),
    unpriced_only: t.Optional(t.Boolean({ description: "Only requests of which some unit has no price." })),
    dry_run: t.Boolean({ description: "A plan alone. False: it is applied as soon as it is made." }),
  },
  closed("RepricingRequest"),
);

const Amount = Type.Number({ description: "In the currency of the prices." });
const ROW = {
  id: Id,
  state: oneOf(REPRICING_STATES),
  dry_run: Type.Boolean(),
  created_at: Instant,
  changed_at: nullable(Instant),
  since: nullable(Instant),
  until: nullable(Instant),
  prices: Type.Optional(Type.Literal("history", { description: "Absent: prices that were sent." })),
  models: Type.Array(Type.String(), {
    description: "Those that prices were sent for; of `history`, those that its filters name.",
  }),
  unpriced_only: Type.Boolean(),
  progress: Type.Object(
    { done: Count, total: Count },
    {
      additionalProperties: false,
      description: "Requests that were looked at; while it is taken back, those that are left of them.",
    },
  ),
  total: Type.Union(
    [
      fields({
        requests: Count,
        cost_before: Amount,
        cost_after: Amount,
        difference: Amount,
        unpriced_before: Count,
        unpriced_after: Count,
      }),
      Type.Null(),
    ],
    { description: "Of the requests that it changes; null while they are added up." },
  ),
  rows_from: Type.Optional(
    Type.String({
      format: "date-time",
      description: "Rows of requests before it were removed: those keep their prices.",
    }),
  ),
  beyond_plan: Type.Optional(
    Type.Object(
      { requests: Type.Integer(), difference: Amount, unpriced: Type.Integer() },
      {
        additionalProperties: false,
        description:
          "What applying changed beside `total`: requests that ended before the plan was made and were recorded behind it, such as those of another replica. Below zero for rows that were removed meanwhile.",
      },
    ),
  ),
  rows_gone: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        "Requests that could not be taken back, since their rows were removed meanwhile: they keep the cost that they were given.",
    }),
  ),
  failure: Type.Optional(
    Type.String({
      description:
        "Why it failed, and what became of its requests; of one that is `applied`, why it could not be taken back.",
    }),
  ),
};
export const RepricingRow = view("RepricingRow", ROW);
export const Repricing = view("Repricing", {
  ...ROW,
  changes: Type.Array(
    fields({
      model: Type.String(),
      unit: oneOf(UNITS),
      tier: Type.Optional(Type.String()),
      quantity: Type.Number(),
      requests: Count,
      cost_before: Amount,
      cost_after: Amount,
      unpriced_before: Count,
      unpriced_after: Count,
    }),
    { description: "By model, unit and tier, as billed: no token is in two units." },
  ),
});
