import { t, type TSchema } from "elysia";
import { BILL_FILES_MAX, BILL_FORMATS, MAPPED_FIELDS } from "#bills/bill.ts";
import { CAPABILITIES } from "#catalog/capability.ts";
import { ENDPOINTS } from "#catalog/endpoint.ts";
import { ORIGINS } from "#catalog/model.ts";
import { PRINCIPAL_KINDS, ROLES } from "#identity/principal.ts";
import { API_KEY_LENGTH_MAX } from "#catalog/provider.ts";
import { PROVIDER_SETTINGS } from "#catalog/provider-fields.ts";
import { UPSTREAM_URL_LENGTH_MAX } from "#catalog/upstream-url.ts";
import { VARIANTS_MAX } from "#catalog/variant-list.ts";
import {
  ALIAS_LENGTH_MAX,
  ALIAS_PATTERN,
  LABEL_LENGTH_MAX,
  NAME_LENGTH_MAX,
  NAME_PATTERN,
  UPSTREAM_NAME_LENGTH_MAX,
} from "#kernel/text.ts";
import { TAG_PAIRS_MAX } from "#kernel/tags.ts";
import { FILTER_VALUES_MAX } from "#stats/filter.ts";
import { UNITS } from "#kernel/units.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import { closed, judged, open, told, toRequestFields } from "./fields.ts";

/**
 * Wire shapes of what clients write (specification, section 2). They hold the JSON types and, on admin bodies, that there
 * is no unknown field; what a value means is the domain's to judge, with codes of its own.
 */

const Name = t.String({
  description: `At most ${NAME_LENGTH_MAX} characters.`,
  ...judged({
    maxLength: NAME_LENGTH_MAX,
    pattern: NAME_PATTERN.source,
    description:
      "lower-case letters, digits, dots, dashes and underscores, beginning with a letter or a digit",
  }),
});
export const Label = t.String({
  description: `At most ${LABEL_LENGTH_MAX} characters.`,
  ...judged({ maxLength: LABEL_LENGTH_MAX }),
});
export const Overrides = t.Record(t.String(), t.String(), { propertyNames: { enum: [...ENDPOINTS] } });

const BaseUrl = t.String(judged({ maxLength: UPSTREAM_URL_LENGTH_MAX }));
const ApiKey = t.String(judged({ maxLength: API_KEY_LENGTH_MAX }));
/** Fields that making and changing a provider both take. */
const PROVIDER_WRITTEN = {
  ...toRequestFields(PROVIDER_SETTINGS),
  endpoints: t.Optional(Overrides),
};
export const ProviderCreateRequest = t.Object(
  {
    name: Name,
    base_url: BaseUrl,
    wire_format: t.Optional(t.String()),
    api_key: t.Optional(ApiKey),
    ...PROVIDER_WRITTEN,
  },
  closed("ProviderCreateRequest"),
);

export const ProviderPatchRequest = t.Object(
  {
    enabled: t.Optional(t.Boolean()),
    base_url: t.Optional(BaseUrl),
    api_key: t.Optional(ApiKey),
    remove_credential: t.Optional(t.Boolean()),
    ...PROVIDER_WRITTEN,
  },
  closed("ProviderPatchRequest"),
);

export const Capabilities = t.Array(told(CAPABILITIES));
/** Prices are judged by the catalog, with a code of its own. */
export const Pricing = t.Record(t.String(), t.Unknown({ type: ["number", "null"], minimum: 0 }), {
  propertyNames: { enum: [...UNITS] },
  description: "Per million units, the complete set: a unit left out or null has no price afterwards.",
});

const price = { type: "number", minimum: 0 };
const CONDITIONS = {
  type: "object",
  properties: {
    tier: { type: "string", description: "The service tier that the answer tells." },
    input_over: {
      type: "integer",
      minimum: 1,
      description: "The whole input, cached and written tokens included, has more.",
    },
    geo: { type: "string", description: "The region of inference that the answer tells." },
    hours: {
      type: "string",
      description:
        "Hours of the day in UTC by the end of the request, such as `22:00-04:00`; the end is outside.",
    },
  },
  minProperties: 1,
  additionalProperties: false,
};
/** Variants are judged by the catalog, with a code of its own. */
export const PriceVariants = t.Array(
  t.Unknown({
    type: "object",
    properties: {
      when: CONDITIONS,
      pricing: {
        type: "object",
        properties: Object.fromEntries(UNITS.map((unit) => [unit, price])),
        minProperties: 1,
        additionalProperties: false,
      },
    },
    required: ["when", "pricing"],
    additionalProperties: false,
  }),
  {
    description: `Up to ${VARIANTS_MAX} complete price sets for requests that meet all of their conditions. Of those that hold, the one with the most conditions prices the request.`,
  },
);

const effectiveFrom = {
  type: "string",
  description:
    "The moment from which the price holds, in UTC; absent: from now on. One to come takes force by itself, one that is past changes no request that was recorded.",
};

/** Fields that making and changing a model both take, before and after `origin`. */
const MODEL_ROUTE = {
  alias: t.Optional(
    t.String(
      judged({
        maxLength: ALIAS_LENGTH_MAX,
        pattern: ALIAS_PATTERN.source,
        description:
          "letters, digits, dots, dashes, colons, slashes and underscores, beginning with a letter or a digit",
      }),
    ),
  ),
  provider: t.Optional(t.String()),
  upstream_name: t.Optional(t.String(judged({ maxLength: UPSTREAM_NAME_LENGTH_MAX }))),
  target: t.Optional(t.String()),
  capabilities: t.Optional(Capabilities),
};
const MODEL_TERMS = {
  pricing: t.Optional(Pricing),
  price_variants: t.Optional(
    t.Union([PriceVariants, t.Null()], { description: "The whole list; null or an empty one removes it." }),
  ),
  hidden: t.Optional(t.Boolean()),
};
export const ModelCreateRequest = t.Object(
  {
    ...MODEL_ROUTE,
    origin: t.Optional(told(ORIGINS)),
    ...MODEL_TERMS,
  },
  closed("ModelCreateRequest"),
);

export const ModelPatchRequest = t.Object(
  {
    ...MODEL_ROUTE,
    ...MODEL_TERMS,
    effective_from: t.Optional(t.String({ description: effectiveFrom.description })),
  },
  closed("ModelPatchRequest"),
);

/**
 * An entry has the fields `model`, `unit`, perhaps `when`, and one of `price_per_unit` and `price_per_million`. The catalog judges each of
 * them, so that a refusal names the first bad one and a feed of thousands of bad entries costs no more than one.
 */
const PLACE = {
  model: { type: "string", description: "An alias or an upstream model name." },
  unit: { type: "string", enum: [...UNITS] },
  when: { ...CONDITIONS, description: "Absent: the standard price." },
};
const FeedEntry = t.Unknown({
  type: "object",
  properties: {
    ...PLACE,
    price_per_unit: price,
    price_per_million: price,
    effective_from: effectiveFrom,
  },
  required: ["model", "unit"],
  oneOf: [{ required: ["price_per_unit"] }, { required: ["price_per_million"] }],
  additionalProperties: false,
});

const RemovedPrice = t.Unknown({
  type: "object",
  properties: PLACE,
  required: ["model", "unit"],
  additionalProperties: false,
});

export const PricingFeed = t.Object(
  {
    version: t.Optional(t.Unknown({ type: "string", description: "Required." })),
    entries: t.Array(FeedEntry),
    removed: t.Optional(
      t.Array(RemovedPrice, {
        description:
          "Prices that are kept no longer from now on, whatever set them: the name inherits, or has no price. One that is not there is none to remove.",
      }),
    ),
  },
  closed("PricingFeed"),
);

/** Both refuse what the write itself refuses. */
export const PricePreviewRequest = t.Object(
  {
    model: t.Optional(
      t.String({
        description: "With `pricing`, `price_variants` or both: what `PATCH /admin/v1/models/{alias}` takes.",
      }),
    ),
    pricing: t.Optional(Pricing),
    price_variants: t.Optional(t.Union([PriceVariants, t.Null()])),
    entries: t.Optional(
      t.Array(FeedEntry, { description: "Without `model`: what `POST /admin/v1/pricing` takes." }),
    ),
    removed: t.Optional(t.Array(RemovedPrice, { description: "Beside `entries`." })),
  },
  closed("PricePreviewRequest"),
);

export const ReconcileRequest = t.Object(
  {
    files: t.Array(
      t.Object(
        {
          name: t.String({ description: "For messages.", maxLength: 255 }),
          text: t.String({ description: "The file, JSON or CSV in UTF-8." }),
        },
        { additionalProperties: false },
      ),
      { minItems: 1, maxItems: BILL_FILES_MAX },
    ),
    format: t.Optional(told(BILL_FORMATS)),
    map: t.Optional(
      t.Partial(
        t.Object(
          Object.fromEntries(
            MAPPED_FIELDS.map((field) => [field, t.String({ description: "The column of the CSV." })]),
          ),
          { additionalProperties: false },
        ),
      ),
    ),
    provider: t.Optional(t.String({ description: `Its usage alone; the relay's is \`${RELAY_PROVIDER}\`.` })),
    since: t.Optional(t.String({ description: "The first day, ISO 8601; absent: the files' first." })),
    until: t.Optional(t.String({ description: "The day behind the last; absent: that of the files." })),
  },
  closed("ReconcileRequest"),
);

const filterValue = t.Union([t.String(), t.Number(), t.Array(t.String())]);
export const WhatIfRequest = t.Object(
  {
    since: t.Optional(t.String({ description: "ISO 8601, inclusive." })),
    until: t.Optional(t.String({ description: "Exclusive." })),
    models: t.Record(t.String(), t.String(), {
      minProperties: 1,
      maxProperties: FILTER_VALUES_MAX,
      description: "By the name that requests asked for, the model whose prices are applied.",
    }),
    filters: t.Optional(
      t.Record(t.String(), filterValue, {
        description: "The filters of /stats, by their names, but for `model` and the window.",
      }),
    ),
  },
  closed("WhatIfRequest"),
);

/** The domain judges them, with a code of their own. */
export const FixedTags = t.Optional(
  t.Unknown({
    type: ["array", "null"],
    items: { type: "string" },
    maxItems: TAG_PAIRS_MAX,
    description:
      "Pairs `name:value` on all of its usage, which no caller can change; null: none. An admin sets them.",
  }),
);

export const PrincipalCreateRequest = t.Object(
  { name: Name, kind: t.Optional(told(PRINCIPAL_KINDS)), role: t.Optional(told(ROLES)), tags: FixedTags },
  closed("PrincipalCreateRequest"),
);

export const PrincipalPatchRequest = t.Object(
  { role: t.Optional(told(ROLES)), enabled: t.Optional(t.Boolean()), tags: FixedTags },
  closed("PrincipalPatchRequest"),
);

export const PasswordRequest = t.Object({ password: t.String() }, open("PasswordRequest"));
export const LoginLinkRequest = t.Object({ token: t.String() }, open("LoginLinkRequest"));

/** A request without a body of meaning, such as a revocation: anything that is a JSON object. */
export const NoRequest = t.Object({}, open("NoRequest"));
export const NoAdminRequest = t.Object({}, closed("NoAdminRequest"));

/** LiteLLM's clients send null for what they leave out. */
const leftOut = <Schema extends TSchema>(schema: Schema) => t.Optional(t.Union([schema, t.Null()]));
const DeploymentParams = t.Object(
  { model: t.String(), api_base: t.String(), api_key: leftOut(t.String()) },
  open("DeploymentParams"),
);

export const DeploymentRequest = t.Object(
  {
    model_name: t.String(),
    compat_params: t.Optional(DeploymentParams),
    litellm_params: t.Optional(DeploymentParams),
    model_info: leftOut(t.Object({ mode: leftOut(t.String()) }, { additionalProperties: true })),
  },
  open("DeploymentRequest"),
);

export const DeploymentDeleteRequest = t.Object({ id: t.String() }, open("DeploymentDeleteRequest"));

/** A body of the data plane: only these fields are read, and every other goes upstream as it came. Shown, not run. */
export const ProxyRequestBody = t.Object(
  {
    model: t.String({ description: "The alias; replaced by the upstream name." }),
    stream: t.Optional(t.Boolean()),
    stream_options: t.Optional(
      t.Object(
        {},
        { additionalProperties: true, description: "`include_usage` becomes true on streamed requests." },
      ),
    ),
  },
  open("ProxyRequestBody"),
);
