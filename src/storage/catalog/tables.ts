import type { AuditAction, AuditTargetKind } from "#audit/event.ts";
import { AUTH_STYLES } from "#catalog/provider-fields.ts";
import { ORIGINS } from "#catalog/model.ts";
import type { PriceSource } from "#catalog/held-price.ts";
import type { TermSetter } from "#identity/secret.ts";
import type { Unit } from "#kernel/units.ts";
import { LIMIT_ACTIONS, LIMIT_MEASURES, LIMIT_WINDOWS, UNPRICED_RULES } from "#limits/limit.ts";
import {
  boolean,
  bytes,
  coded,
  given,
  integer,
  json,
  numbered,
  oneOf,
  orNull,
  ownedBy,
  real,
  references,
  type RowOf,
  table,
  text,
  unique,
  type ValuesOf,
} from "#storage/sql/table.ts";
import {
  ALIASES,
  AMOUNT,
  AUDIT_CHANGE,
  CAPABILITIES,
  CONDITIONS,
  EACH,
  ENDPOINTS,
  FORMER_MODELS,
  oneOfWords,
  OWN_UNITS,
  SCHEDULE,
  TAGS,
  VARIANTS,
} from "./codecs.ts";

/**
 * The catalog: who may use the server, what it offers, and what it promises to people. Instants are microseconds since the
 * epoch, prices 10⁻¹² of the currency unit per unit. What no CHECK holds to a set of words may hold
 * one of a newer version.
 */

/** Facts about the database itself, such as the check value of the secret that it was made with. */
export const meta = table("meta", { key: text("key"), value: text("value") }, { key: ["key"] });

export const providers = table(
  "providers",
  {
    id: text("id"),
    name: unique(given("name")),
    wireFormat: oneOf("wire_format", ["openai"]),
    baseUrl: text("base_url"),
    /** JSON object: endpoint → URL. */
    endpoints: json("endpoints", "object", ENDPOINTS),
    sealedCredential: orNull(bytes("sealed_credential")),
    verifyTls: boolean("verify_tls"),
    caPem: orNull(text("ca_pem")),
    timeoutConnectSeconds: real("timeout_connect_seconds"),
    timeoutReadSeconds: real("timeout_read_seconds"),
    maxConcurrency: orNull(integer("max_concurrency")),
    enabled: boolean("enabled"),
    createdAtUs: integer("created_at_us"),
    authStyle: coded("auth_style", oneOfWords(AUTH_STYLES)),
    /** Null for a credential that is older than the column. */
    credentialSetAtUs: orNull(integer("credential_set_at_us")),
    /** The credential before, kept for a day. */
    formerCredential: orNull(bytes("former_credential")),
    formerSetAtUs: orNull(integer("former_set_at_us")),
    formerUntilUs: orNull(integer("former_until_us")),
  },
  {
    checks: [
      {
        name: "providers_timeouts_positive",
        sql: "timeout_connect_seconds > 0 AND timeout_read_seconds > 0",
      },
      { name: "providers_max_concurrency_positive", sql: "max_concurrency IS NULL OR max_concurrency > 0" },
    ],
  },
);

/** A row routes to a provider's model itself, or is a name for another row; never both (specification, section 2.4). */
export const models = table(
  "models",
  {
    id: text("id"),
    alias: unique(given("alias")),
    providerId: orNull(references(text("provider_id"), "providers")),
    upstreamName: orNull(text("upstream_name")),
    /** JSON array of capabilities; null for a name, which inherits its target's. */
    capabilities: orNull(coded("capabilities", CAPABILITIES)),
    targetId: orNull(references(text("target_id"), "models")),
    origin: oneOf("origin", ORIGINS),
    hidden: boolean("hidden"),
    createdAtUs: integer("created_at_us"),
  },
  {
    indexes: [
      { name: "models_by_provider", on: ["providerId"] },
      { name: "models_by_target", on: ["targetId"] },
    ],
    checks: [
      {
        name: "models_one_route",
        sql: (jsonType) => `CASE WHEN target_id IS NULL
        THEN provider_id IS NOT NULL AND upstream_name IS NOT NULL AND coalesce(${jsonType("capabilities")}, '') = 'array'
        ELSE provider_id IS NULL AND upstream_name IS NULL AND capabilities IS NULL AND target_id <> id
      END`,
      },
    ],
  },
);

/** Keyed by a name, which is an alias or an upstream model name and need not exist: a feed may price what is bound later. */
export const prices = table(
  "prices",
  {
    name: text("name"),
    unit: text<Unit>("unit"),
    /** Null is the mark "this unit has no price". */
    pricePico: orNull(integer("price_pico")),
    feedVersion: orNull(text("feed_version")),
  },
  {
    key: ["name", "unit"],
    checks: [{ name: "prices_not_negative", sql: "price_pico IS NULL OR price_pico >= 0" }],
  },
);

/** Prices under conditions, one list for each name that prices are keyed by. */
export const priceVariants = table(
  "price_variants",
  {
    name: text("name"),
    /** JSON array; an empty one is the mark "no variants". */
    variants: json("variants", "array", VARIANTS),
    feedVersion: orNull(text("feed_version")),
  },
  { key: ["name"] },
);

/** The prices that held, by the name that requests are recorded with: an alias, or one that only the relay knows. */
export const priceHistory = table(
  "price_history",
  {
    /** Order of commit. */
    id: numbered("id"),
    name: text("name"),
    unit: text<Unit>("unit"),
    /** JSON object; an empty text is the standard price. */
    when: coded("condition", CONDITIONS),
    /** Place of the variant in its list. */
    ordinal: integer("ordinal"),
    pricePico: integer("price_pico"),
    fromUs: integer("from_us"),
    /** Null: it holds. */
    untilUs: orNull(integer("until_us")),
    source: text<PriceSource>("source"),
    version: orNull(text("version")),
    /** Null: it counts. Else the moment at which prices that are dated back took its place. */
    supersededUs: orNull(integer("superseded_us")),
  },
  {
    indexes: [
      { name: "price_history_by_name", on: ["name", "fromUs"] },
      { name: "price_history_by_begin", on: ["fromUs", "id"] },
      { name: "price_history_in_force", on: ["name", "unit", "when"], where: "until_us IS NULL" },
    ],
  },
);

/** What a name took its prices from, from each moment on at which that changed: a past date of a price goes by it. */
export const priceInheritance = table(
  "price_inheritance",
  {
    name: text("name"),
    fromUs: integer("from_us"),
    /** Null: the name was no model. It is no foreign key: it outlives the model. */
    modelId: orNull(text("model_id")),
    /** Alias of the model that routes. */
    bound: orNull(text("bound")),
    upstream: orNull(text("upstream")),
    /** JSON array of the units that have a row of the name itself, marks included. */
    ownUnits: json("own_units", "array", OWN_UNITS),
    hasOwnVariants: boolean("has_own_variants"),
  },
  {
    key: ["name", "fromUs"],
    indexes: [
      { name: "price_inheritance_by_model", on: ["modelId"] },
      { name: "price_inheritance_by_bound", on: ["bound"] },
      { name: "price_inheritance_by_upstream", on: ["upstream"] },
    ],
  },
);

/** Prices that take force once their moment has come, and are gone with the next change after it. */
export const priceSchedule = table(
  "price_schedule",
  {
    /** Order of commit. */
    id: numbered("id"),
    atUs: integer("at_us"),
    /** JSON object. */
    change: json("change", "object", SCHEDULE),
  },
  { indexes: [{ name: "price_schedule_by_moment", on: ["atUs", "id"] }] },
);

/** One row, once a feed was loaded: the newest load, whose prices may have been written over since. */
export const pricingFeed = table(
  "pricing_feed",
  { id: integer("id"), version: given("version"), loadedAtUs: integer("loaded_at_us") },
  { checks: [{ name: "pricing_feed_one_row", sql: "id = 1" }] },
);

/** Identifiers, and the change beside them, never a secret. Its actor is no foreign key: the trail outlives the principal. */
export const auditEvents = table("audit_events", {
  /** Order of commit, which a clock that was set back does not change. */
  id: numbered("id"),
  atUs: integer("at_us"),
  actorPrincipalId: text("actor_principal_id"),
  action: text<AuditAction>("action"),
  targetKind: text<AuditTargetKind>("target_kind"),
  targetRef: text("target_ref"),
  /** JSON; null for entries of before it was kept. */
  change: orNull(coded("change", AUDIT_CHANGE)),
});

export const principals = table("principals", {
  id: text("id"),
  name: unique(given("name")),
  kind: oneOf("kind", ["user", "service"]),
  role: oneOf("role", ["member", "admin"]),
  enabled: boolean("enabled"),
  createdAtUs: integer("created_at_us"),
  tags: fixedTags(),
});

/** JSON array of the `name:value` pairs on all of its usage, which no caller can change; null where there are none. */
function fixedTags() {
  return { ...coded("tags", TAGS), isNull: true };
}

/** API keys and relay tokens have the same columns, and are two tables so that neither is ever found as the other. */
export type SecretTable = typeof apiKeys;

export const apiKeys = secretTable("api_keys");

/** Relay tokens open nothing except the relay path (specification, section 5). */
export const relayTokens = secretTable("relay_tokens");

function secretTable(name: string) {
  return table(
    name,
    {
      id: text("id"),
      principalId: ownedBy(text("principal_id"), "principals"),
      /** Keyed HMAC-SHA256 of the plaintext, which is stored nowhere. */
      hash: unique(text("hash")),
      suffix: text("suffix"),
      label: text("label"),
      createdAtUs: integer("created_at_us"),
      // Terms, null where none is set.
      expiresAtUs: orNull(integer("expires_at_us")),
      /** JSON array of aliases. */
      models: orNull(coded("models", ALIASES)),
      /** Whose pause it is. */
      pausedBy: orNull(text<TermSetter>("paused_by")),
      /** Terms that an admin has set: those that its owner sets stay within. */
      adminExpiresAtUs: orNull(integer("admin_expires_at_us")),
      adminModels: orNull(coded("admin_models", ALIASES)),
      /** Hash of the plaintext before the last rotation, and until when that is good. */
      formerHash: unique(orNull(text("former_hash"))),
      formerUntilUs: orNull(integer("former_until_us")),
      /** They go before the principal's. */
      tags: fixedTags(),
      /** A term as well: who has narrowed its scope to inference. */
      scopedBy: orNull(text<TermSetter>("scoped_by")),
    },
    {
      indexes: [
        { name: `${name}_by_principal`, on: ["principalId", "createdAtUs", "id"] },
        { name: `${name}_by_creation`, on: ["createdAtUs", "id"] },
        { name: `${name}_by_expiry`, on: ["expiresAtUs"], where: "expires_at_us IS NOT NULL" },
      ],
    },
  );
}

/** An account at an identity provider; a principal that never signed in by one has no row. */
export const oidcSubjects = table(
  "oidc_subject",
  {
    issuer: given("issuer"),
    subject: given("subject"),
    principalId: ownedBy(text("principal_id"), "principals"),
  },
  {
    key: ["issuer", "subject"],
    indexes: [{ name: "oidc_subject_by_principal", on: ["principalId"] }],
  },
);

export const sessions = table(
  "sessions",
  {
    /** Keyed hash of the cookie's token. */
    tokenHash: text("token_hash"),
    principalId: ownedBy(text("principal_id"), "principals"),
    /** The session is as old as its first cookie; the column keeps the name that it had when there was no second one. */
    cookieIssuedAtUs: integer("created_at_us"),
    expiresAtUs: integer("expires_at_us"),
  },
  {
    key: ["tokenHash"],
    indexes: [
      { name: "sessions_by_principal", on: ["principalId"] },
      { name: "sessions_by_expiry", on: ["expiresAtUs"] },
    ],
  },
);

/** Each is good for one sign-in; one that was used is gone. */
export const loginLinks = table(
  "login_links",
  {
    /** Keyed hash of the link's token. */
    tokenHash: text("token_hash"),
    principalId: ownedBy(text("principal_id"), "principals"),
    createdAtUs: integer("created_at_us"),
    expiresAtUs: integer("expires_at_us"),
  },
  {
    key: ["tokenHash"],
    indexes: [
      { name: "login_links_by_principal", on: ["principalId"] },
      { name: "login_links_by_expiry", on: ["expiresAtUs"] },
    ],
  },
);

/**
 * Limits on use (`docs/spec/limits.md`). What was used of one is in the ledger, never here. A limit of a principal, a key or a
 * relay token goes with it.
 */
export const limits = table(
  "limits",
  {
    id: text("id"),
    name: unique(given("name")),
    principalId: orNull(ownedBy(text("principal_id"), "principals")),
    keyId: orNull(ownedBy(text("key_id"), "api_keys")),
    relayTokenId: orNull(ownedBy(text("relay_token_id"), "relay_tokens")),
    tag: orNull(text("tag")),
    model: orNull(text("model")),
    formerModels: json("former_models", "array", FORMER_MODELS),
    each: orNull(coded("each", EACH)),
    measure: coded("measure", oneOfWords(LIMIT_MEASURES)),
    /** Text, since pico of cost pass an INTEGER. */
    amount: coded("amount", AMOUNT),
    window: orNull(coded("window", oneOfWords(LIMIT_WINDOWS))),
    action: coded("action", oneOfWords(LIMIT_ACTIONS)),
    unpriced: coded("unpriced", oneOfWords(UNPRICED_RULES)),
    enabled: boolean("enabled"),
    createdAtUs: integer("created_at_us"),
    /** Requests of a window that may end without usage before it refuses; null: any number. */
    unknownMax: orNull(integer("unknown_max")),
    /** True: tags that callers send do not count, fixed ones alone do. */
    fixed: boolean("fixed"),
  },
  {
    indexes: [
      { name: "limits_by_principal", on: ["principalId"] },
      { name: "limits_by_key", on: ["keyId"] },
      { name: "limits_by_relay_token", on: ["relayTokenId"] },
    ],
    checks: [
      {
        name: "limits_one_subject",
        sql: `${["principal_id", "key_id", "relay_token_id", "tag"]
          .map((column) => `CASE WHEN ${column} IS NULL THEN 0 ELSE 1 END`)
          .join(" + ")} <= 1`,
      },
      { name: "limits_window_but_for_concurrent", sql: `("window" IS NULL) = (measure = 'concurrent')` },
    ],
  },
);

/** Notices that have not reached their webhook yet, in the order in which they are sent. */
export const notices = table(
  "notices",
  {
    sequence: numbered("sequence"),
    /** The notice as JSON. */
    body: text("body"),
  },
  { key: ["sequence"] },
);

/** Causes that a notice was already sent for: until then it is not sent again. */
export const noticeMarks = table(
  "notice_marks",
  { name: text("name"), untilUs: integer("until_us") },
  { key: ["name"], indexes: [{ name: "notice_marks_by_end", on: ["untilUs"] }] },
);

/**
 * Responses that callers may ask for by their ids. Nothing refers to other tables: a response whose model or provider is gone
 * is not found, and one whose principal is gone is settled first.
 */
export const keptResponses = table(
  "kept_responses",
  {
    idHash: text("id_hash"),
    principalId: text("principal_id"),
    modelId: text("model_id"),
    providerId: text("provider_id"),
    eventId: integer("event_id"),
    lane: integer("event_lane"),
    isSettled: boolean("is_settled"),
    expiresAtUs: integer("expires_at_us"),
  },
  {
    key: ["idHash", "principalId"],
    indexes: [
      { name: "kept_responses_by_expiry", on: ["isSettled", "expiresAtUs"] },
      { name: "kept_responses_unsettled", on: ["principalId"], where: "NOT is_settled" },
    ],
  },
);

/** The catalog's version: each change of what processes remember adds one and gives it a new token. */
export const catalogState = table("catalog_state", {
  id: integer("id"),
  version: integer("version"),
  /** A version that is followed by another token than it was tells of a database that was restored. */
  token: text("token"),
});

/**
 * Kinds of the catalog's parts that processes remember. `catalog` is providers, models and the newest feed, `price` all prices,
 * `secret` the state of the secret key. Nothing remembers sessions.
 */
export type ChangeKind = "catalog" | "price" | "principal" | "key" | "relay_token" | "limit" | "secret";

/** The changes of each version. A process that is behind what is kept reads everything again. */
export const changeLog = table(
  "change_log",
  {
    version: integer("version"),
    ordinal: integer("ordinal"),
    token: text("token"),
    kind: text<ChangeKind>("kind"),
    /** Null: everything of the kind. */
    rowId: orNull(text("row_id")),
  },
  { key: ["version", "ordinal"] },
);

export type ProviderValues = ValuesOf<typeof providers>;
export type ModelValues = ValuesOf<typeof models>;
export type PrincipalRow = RowOf<typeof principals>;
export type SecretRow = RowOf<SecretTable>;
export type LimitRow = RowOf<typeof limits>;
