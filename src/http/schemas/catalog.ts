import { Type } from "@sinclair/typebox";
import { CAPABILITIES, type Capability, GUESS_SOURCES, MODEL_KINDS } from "#catalog/capability.ts";
import { ENDPOINTS } from "#catalog/endpoint.ts";
import { ORIGINS } from "#catalog/model.ts";
import { PRICE_SOURCES } from "#catalog/held-price.ts";
import { PROVIDER_SETTINGS } from "#catalog/provider-fields.ts";
import { PRINCIPAL_KINDS, ROLES } from "#identity/principal.ts";
import { KEY_SCOPES } from "#identity/secret.ts";
import { LIMIT_ACTIONS, LIMIT_MEASURES, LIMIT_WINDOWS, UNPRICED_RULES } from "#limits/limit.ts";
import { REPORT_UNITS, UNITS } from "#kernel/units.ts";
import { REQUEST_CONDITIONS } from "#stats/what-if.ts";
import { toViewFields } from "./fields.ts";
import { Cost, Count, fields, Id, Instant, nullable, oneOf, someOf, view } from "./shared.ts";

/** Wire shapes of answers about providers, models and prices (specification, sections 2.3 to 2.6 and 2.9). */

const providerSettings = toViewFields(PROVIDER_SETTINGS);
const endpoints = someOf(ENDPOINTS, Type.String(), { description: "URLs that override the base URL." });
const providerFields = {
  name: Type.String(),
  wire_format: Type.Literal("openai"),
  base_url: Type.String(),
  has_credential: Type.Boolean(),
  credential_set_at: Type.Optional(
    Type.String({
      format: "date-time",
      description: "When its credential was given; absent without one, and for one of before this was kept.",
    }),
  ),
  former_credential_until: Type.Optional(
    Type.String({
      format: "date-time",
      description:
        "Until when the credential before this one is kept and can be taken back: a day after it was replaced. Absent where none is.",
    }),
  ),
  ...providerSettings,
  enabled: Type.Boolean(),
  created_at: Instant,
};

/** A provider as lists show it. */
export const ProviderListEntry = view("ProviderListEntry", providerFields);
export const ProviderView = view("ProviderView", { ...providerFields, endpoints });

const Capabilities = Type.Unsafe<readonly Capability[]>(Type.Array(oneOf(CAPABILITIES)));

export const DiscoveredModels = view("DiscoveredModels", {
  provider: Type.String(),
  discovered_at: Instant,
  models: Type.Array(
    fields({
      upstream_name: Type.String(),
      bound_alias: nullable(Type.String()),
      kind: Type.Optional(oneOf(MODEL_KINDS)),
      capabilities: Type.Optional(Capabilities),
      guessed_from: Type.Optional(oneOf(GUESS_SOURCES)),
    }),
  ),
});

export const TestedProvider = view("TestedProvider", {
  ...DiscoveredModels.properties,
  credential_checked: Type.Optional(
    Type.Boolean({
      description:
        "False: it lists its models without the credential as well, so that nothing tells whether that holds. Absent where none was sent.",
    }),
  ),
});

/** Per million units; a unit without a price is left out. */
export const ModelPricing = someOf(UNITS, Type.Number({ minimum: 0 }), {
  title: "ModelPricing",
  description: "Per million units; units without a price are left out.",
});

/** The conditions of a variant, at least one; of a request those of the variant that priced it. */
export const PriceConditions = Type.Partial(
  fields({
    tier: Type.String(),
    input_over: Type.Integer({ minimum: 1 }),
    geo: Type.String(),
    hours: Type.String({ description: "UTC, `HH:MM-HH:MM`." }),
  }),
  { additionalProperties: false },
);
/** Beside `pricing`. */
export const PriceVariants = Type.Array(fields({ when: PriceConditions, pricing: ModelPricing }), {
  description: "Prices under conditions; absent where there are none.",
});

export const ModelView = view("ModelView", {
  alias: Type.String(),
  provider: Type.String(),
  upstream_name: Type.String(),
  capabilities: Capabilities,
  origin: oneOf(ORIGINS),
  created_at: Instant,
  target: nullable(Type.String()),
  pricing: ModelPricing,
  price_variants: Type.Optional(PriceVariants),
  pricing_inherited: Type.Boolean(),
  hidden: Type.Boolean(),
});

/** A row of the admin's list of models. */
export const ModelRow = view("ModelRow", {
  ...ModelView.properties,
  unpriced_units: Type.Optional(Type.Array(oneOf(UNITS))),
});

const ModelListEntry = view("ModelListEntry", {
  id: Type.String(),
  object: Type.Literal("model"),
  created: Type.Integer({ minimum: 0, description: "Unix seconds." }),
  owned_by: Type.String(),
  capabilities: Capabilities,
  alias_of: nullable(Type.String()),
  hidden: Type.Boolean(),
  pricing: Type.Optional(ModelPricing),
  price_variants: Type.Optional(PriceVariants),
  pricing_inherited: Type.Optional(Type.Boolean()),
  type: Type.Optional(Type.Literal("model")),
  display_name: Type.Optional(Type.String({ description: "The alias." })),
  created_at: Type.Optional(Type.String({ format: "date-time" })),
});
export const ModelList = view("ModelList", {
  object: Type.Literal("list"),
  data: Type.Array(ModelListEntry),
  has_more: Type.Optional(Type.Literal(false)),
  first_id: Type.Optional(nullable(Type.String())),
  last_id: Type.Optional(nullable(Type.String())),
});

export const ResolveResult = view("ResolveResult", {
  alias: Type.String(),
  provider: Type.String(),
  upstream_name: Type.String(),
  url: Type.String(),
  capabilities: Capabilities,
});

export const ModelDeployment = view("ModelDeployment", {
  model_name: Type.String(),
  compat_params: fields({
    model: Type.String(),
    api_base: Type.String(),
    custom_llm_provider: Type.Literal("openai"),
  }),
  model_info: fields({ id: Id }),
});
export const ModelDeploymentList = view("ModelDeploymentList", { data: Type.Array(ModelDeployment) });

/** Present where a change dates its prices back. */
const RepriceableRequests = Type.Optional(
  Type.Integer({
    minimum: 0,
    description:
      "Requests of each name that has these prices, since the first `effective_from` of its own: what a re-pricing would price again, also where the cost stays. Absent unless a date is past, and where they cannot be counted now.",
  }),
);
export const PatchedModel = view("PatchedModel", {
  ...ModelView.properties,
  repriceable_requests: RepriceableRequests,
});

export const PricingLoad = view("PricingLoad", {
  version: Type.String(),
  loaded_at: Instant,
  entries: Type.Integer({ minimum: 0, description: "How many the feed had." }),
  repriceable_requests: RepriceableRequests,
});
export const PricingList = view("PricingList", {
  version: nullable(Type.String()),
  loaded_at: nullable(Instant),
  entries: Type.Array(
    fields({
      model: Type.String(),
      unit: oneOf(UNITS),
      price_per_unit: Type.Number({ minimum: 0 }),
      price_per_million: Type.Number({ minimum: 0 }),
      version: nullable(Type.String({ description: "Null for a price that was written with a model." })),
    }),
  ),
  variants: Type.Optional(
    Type.Array(
      fields({
        model: Type.String(),
        when: PriceConditions,
        pricing: ModelPricing,
        version: nullable(Type.String({ description: "As in `entries`, of the name's whole list." })),
      }),
      { description: "Prices under conditions; absent where there are none." },
    ),
  ),
});

export const HeldPrice = view("HeldPrice", {
  model: Type.String({ description: "An alias, or a name that prices are kept by." }),
  unit: oneOf(UNITS),
  when: nullable(PriceConditions),
  price: Type.Number({ minimum: 0, description: "Per million units." }),
  from: Instant,
  until: nullable(Instant),
  source: oneOf(PRICE_SOURCES, {
    description:
      "A write of the model, a feed, a catalog file, or list prices; of an inherited price its own.",
  }),
  version: nullable(Type.String({ description: "Of the feed." })),
  superseded_at: Type.Optional(Instant),
});

export const PricesToCome = view("PricesToCome", {
  id: Type.Integer({ minimum: 1, description: "`DELETE /admin/v1/pricing/schedule/:id` takes it back." }),
  effective_from: Instant,
  model: Type.String({ description: "An alias, or a name that prices are kept by." }),
  source: oneOf(["model", "feed"], {
    description:
      "A write of the model has whole sets. A feed has the prices that it names, and leaves all others.",
  }),
  version: nullable(Type.String({ description: "Of the feed." })),
  pricing: nullable(ModelPricing),
  price_variants: nullable(PriceVariants),
  left_out: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        "Prices under conditions that will be left out at that moment, since the price variants of the name are full: remove a variant before.",
    }),
  ),
});

const Repriced = {
  requests: Count,
  cost: Cost,
  cost_before: Cost,
  cost_after: Cost,
};
/** The last 30 days at the prices of now and at those of the change. */
export const PricePreview = view("PricePreview", {
  since: Instant,
  until: Instant,
  names: Type.Array(
    fields({
      name: Type.String(),
      kind: oneOf(["model", "relay"]),
      target: nullable(Type.String()),
      pricing_before: ModelPricing,
      pricing_after: ModelPricing,
      price_variants_before: Type.Optional(PriceVariants),
      price_variants_after: Type.Optional(PriceVariants),
      ...Repriced,
      unpriced_before: Type.Array(oneOf(REPORT_UNITS)),
      unpriced_after: Type.Array(oneOf(REPORT_UNITS)),
      cache_writes_as_input: Type.Boolean({
        description:
          "Cache writes have a price of their own, before or after, and are counted at the price of input: only sums are known, since there are more than 200,000 requests, or retention has removed rows.",
      }),
      conditions_left_out: Type.Optional(
        Type.Array(oneOf(REQUEST_CONDITIONS), {
          description:
            "Conditions of variants, before or after, that depend on each request, and are not applied to sums.",
        }),
      ),
    }),
  ),
  truncated: Type.Boolean({ description: "There are more names than are told." }),
});

export const ListPricing = view("ListPricing", {
  version: Type.String({ description: "What these prices are loaded as." }),
  source: Type.String(),
  source_url: Type.String(),
  sources: Type.Array(Type.String(), { description: "The vendors' pages that the prices are from." }),
  as_of: Type.String({ format: "date", description: "The day on which the source was published." }),
  entries: Type.Array(
    fields({
      model: Type.String(),
      unit: oneOf(UNITS),
      when: Type.Optional(PriceConditions),
      price_per_million: Type.Number({ minimum: 0 }),
    }),
  ),
});

const CHANGED_PROVIDER = {
  base_url: providerFields.base_url,
  ...providerSettings,
  enabled: providerFields.enabled,
  endpoints,
};
const CHANGED_MODEL = {
  route: Type.Partial(
    fields({ provider: Type.String(), upstream_name: Type.String(), target: Type.String() }),
    { additionalProperties: false },
  ),
  capabilities: Capabilities,
  pricing: ModelPricing,
  price_variants: PriceVariants,
  hidden: Type.Boolean(),
  origin: oneOf(ORIGINS),
};
const CHANGED_TO_COME = {
  effective_from: Type.String({ format: "date-time", description: "Of prices to come." }),
  feed: Type.String({ description: "Of prices to come: the version of the feed that has them." }),
};
const FeedVariants = Type.Record(Type.String(), PriceVariants, {
  additionalProperties: false,
  description: "Of a feed: the lists of variants that change, by alias or upstream name.",
});
const FeedPrices = Type.Record(Type.String(), ModelPricing, {
  additionalProperties: false,
  description: "Of a feed: the prices that change, by alias or upstream name.",
});
const Texts = Type.Array(Type.String());
/** A change tells these fields of principals, keys and limits, under the names that a file has for them. */
const CHANGED_PEOPLE = {
  kind: oneOf(PRINCIPAL_KINDS),
  role: oneOf(ROLES),
  tags: Texts,
  principal: Type.String(),
  label: Type.String(),
  expires_at: nullable(Instant),
  scope: oneOf(KEY_SCOPES),
  models: nullable(Texts),
  subject: Type.Partial(
    fields({
      principal: Type.String(),
      key: Type.String(),
      relay_token: Type.String(),
      tag: Type.String(),
      model: Type.String(),
    }),
    { additionalProperties: false },
  ),
  each: nullable(Type.String()),
  fixed: Type.Boolean(),
  measure: oneOf(LIMIT_MEASURES),
  amount: Type.Number(),
  window: nullable(oneOf(LIMIT_WINDOWS)),
  action: oneOf(LIMIT_ACTIONS),
  unpriced: oneOf(UNPRICED_RULES),
  unknown: nullable(Type.Integer()),
};
const ChangedFields = nullable(
  Type.Unsafe<{ readonly [field: string]: unknown }>(
    Type.Partial(
      fields({
        ...CHANGED_PROVIDER,
        ...CHANGED_MODEL,
        ...CHANGED_TO_COME,
        prices: FeedPrices,
        variants: FeedVariants,
        ...CHANGED_PEOPLE,
      }),
      {
        additionalProperties: false,
      },
    ),
  ),
);
const Change = fields({
  action: oneOf(["create", "update", "delete"]),
  kind: oneOf(["provider", "model", "feed", "prices_to_come", "principal", "key", "limit"]),
  name: Type.String({
    description:
      "The provider's, principal's or limit's name, the model's alias, the feed's version, of prices to come the name that they are kept by, or what the file calls the key.",
  }),
  before: ChangedFields,
  after: ChangedFields,
  credential: Type.Optional(
    nullable(
      Type.Unsafe<"set" | "kept" | "removed">(
        Type.String({
          enum: ["set", "kept", "removed"],
          description:
            "Of a provider: what becomes of its key; null when it has none. Of a key: of its secret.",
        }),
      ),
    ),
  ),
  along: Type.Optional(
    Type.Object(
      { keys: Texts, relay_tokens: Texts, limits: Texts },
      {
        additionalProperties: false,
        description:
          "What goes with a principal or a key that is removed and has no change of its own: keys and relay tokens by label, or id where there is none, and limits by name.",
      },
    ),
  ),
});
export const CatalogOutcome = view("CatalogOutcome", {
  applied: Type.Boolean({ description: "False for a dry run." }),
  changes: Type.Array(Change, {
    description:
      "All fields of what is made or removed and of prices to come, those that change otherwise; `pricing` of a model is in force, inherited or not.",
  }),
  kept: fields({
    providers: Count,
    models: Count,
    prices: Count,
    prices_to_come: Type.Optional(Count),
    principals: Type.Optional(Count),
    keys: Type.Optional(Count),
    limits: Type.Optional(Count),
  }),
  missing: Type.Array(fields({ provider: Type.String(), secret: oneOf(["api_key", "ca_pem"]) }), {
    description: "Secrets that the file speaks of, and that are neither sent nor stored.",
  }),
  skipped: Type.Optional(
    Type.Array(
      fields({
        kind: oneOf(["key", "limit"]),
        name: Type.String(),
        reason: oneOf(["no_secret", "former_secret", "no_key", "no_relay_token"]),
      }),
      {
        description:
          "What the file has and was not made: a new key without a secret, a limit of one or of a relay token that is not there; `former_secret`: the file has the secret from before a rotation, and the present one stays.",
      },
    ),
  ),
});
