import { Type } from "@sinclair/typebox";
import { t } from "elysia";
import { LIMIT_ACTIONS, LIMIT_MEASURES, LIMIT_WINDOWS, UNPRICED_RULES } from "#limits/limit.ts";
import { NAME_LENGTH_MAX, UPSTREAM_NAME_LENGTH_MAX } from "#kernel/text.ts";
import { closed, judged, told } from "./fields.ts";
import { Count, fields, Id, Instant, nullable, oneOf, view } from "./shared.ts";

/** Wire shapes of limits (`docs/spec/limits.md`): what clients write, and what they get. */

const Name = t.String({
  description: `At most ${NAME_LENGTH_MAX} characters; unique.`,
  ...judged({ maxLength: NAME_LENGTH_MAX }),
});
const Each = t.String({ description: "`principal`, `key` or `tag:<key>`." });
const Amount = t.Number({
  exclusiveMinimum: 0,
  description: "Cost in the currency of the prices, up to 12 decimals; else a whole number.",
});
const SubjectRequest = t.Object(
  {
    principal: t.Optional(t.String()),
    key: t.Optional(t.String()),
    relay_token: t.Optional(t.String()),
    tag: t.Optional(t.String({ description: "`key:value`" })),
    model: t.Optional(t.String(judged({ maxLength: UPSTREAM_NAME_LENGTH_MAX }))),
  },
  {
    additionalProperties: false,
    description:
      "Who it holds for, everybody when empty: one of the first four at most, and a model beside it.",
  },
);

/** Fields that may be written again. */
const SETTINGS = {
  window: t.Optional(told(LIMIT_WINDOWS)),
  action: t.Optional(told(LIMIT_ACTIONS)),
  unpriced: t.Optional(told(UNPRICED_RULES)),
  unknown: t.Optional(
    t.Union([t.Number(judged({ minimum: 1 })), t.Null()], {
      description:
        "Refuses once so many requests of its window ended without their usage; null, or left out: any number.",
    }),
  ),
  enabled: t.Optional(t.Boolean()),
};

export const LimitCreateRequest = t.Object(
  {
    name: Name,
    subject: SubjectRequest,
    each: t.Optional(Each),
    fixed: t.Optional(
      t.Boolean({
        description:
          "Counts fixed tags alone, and none that a caller sends. With a tag as `subject` or `each` only.",
      }),
    ),
    measure: told(LIMIT_MEASURES),
    amount: Amount,
    ...SETTINGS,
  },
  closed("LimitCreateRequest"),
);
export const LimitPatchRequest = t.Object(
  { name: t.Optional(Name), amount: t.Optional(Amount), ...SETTINGS },
  closed("LimitPatchRequest"),
);

const figures = {
  used: Type.Number({ minimum: 0 }),
  left: Type.Number({ minimum: 0 }),
  unpriced_requests: Count,
  unknown_requests: Type.Integer({
    minimum: 0,
    description: "Ended without their usage, such as streams whose caller left early.",
  }),
};
const useFields = {
  principal: Type.Optional(Type.String({ description: "With `each: principal`." })),
  key: Type.Optional(Type.String({ description: "With `each: key`." })),
  tag: Type.Optional(Type.String({ description: "With `each: tag:<key>`." })),
  ...figures,
};
export const LimitUse = view("LimitUse", useFields);

const limitFields = {
  id: Id,
  name: Type.String(),
  subject: fields({
    principal: Type.Optional(Type.String()),
    key: Type.Optional(Id),
    relay_token: Type.Optional(Id),
    tag: Type.Optional(Type.String()),
    model: Type.Optional(Type.String()),
  }),
  each: Type.Optional(Type.String()),
  fixed: Type.Optional(Type.Boolean({ description: "Only when true." })),
  measure: oneOf(LIMIT_MEASURES),
  amount: Type.Number({ exclusiveMinimum: 0 }),
  window: Type.Optional(oneOf(LIMIT_WINDOWS)),
  action: oneOf(LIMIT_ACTIONS),
  unpriced: Type.Optional(oneOf(UNPRICED_RULES)),
  unknown: Type.Optional(Type.Integer({ minimum: 1 })),
  enabled: Type.Boolean(),
  sentence: Type.String({ description: "The limit for a person; may change." }),
  ...figures,
  window_start: nullable(Instant),
  resets_at: nullable(Instant),
  top: Type.Optional(Type.Array(LimitUse)),
};
/** A limit as its caller sees it. */
export const OwnLimitView = view("OwnLimit", limitFields);
export const LimitView = view("Limit", {
  ...limitFields,
  refused: Count,
  last_refused_at: nullable(Instant),
});
