import { sql } from "drizzle-orm";
import { AUDIT_ACTIONS, AUDIT_TARGET_KINDS } from "#audit/event.ts";
import { ORIGINS } from "#catalog/model.ts";
import { PRINCIPAL_KINDS, ROLES } from "#identity/principal.ts";
import { TERM_SETTERS } from "#identity/secret-terms.ts";
import type { Unit } from "#kernel/units.ts";
import { LIMIT_ACTIONS, LIMIT_MEASURES, LIMIT_WINDOWS, UNPRICED_RULES } from "#limits/limit.ts";
import {
  blob,
  check,
  foreignKey,
  index,
  integer,
  primaryKey,
  real,
  sqliteTable,
  text,
} from "drizzle-orm/sqlite-core";

/**
 * catalog.db. Instants are whole microseconds since the epoch, prices 10⁻¹² of the currency unit per unit.
 * An `enum` is a type only. The CHECKs repeat those that are closed; audit actions and capabilities will grow, and a CHECK
 * cannot be widened without rebuilding its table.
 */

/** Facts about the database itself, such as the check value of the secret that it was made with. */
export const meta = sqliteTable("meta", {
  key: text("key").primaryKey(),
  value: text("value").notNull(),
});

export const providers = sqliteTable(
  "providers",
  {
    id: text("id").primaryKey(),
    name: text("name").notNull().unique(),
    wireFormat: text("wire_format", { enum: ["openai"] }).notNull(),
    baseUrl: text("base_url").notNull(),
    /** JSON object: endpoint → URL. */
    endpoints: text("endpoints").notNull(),
    sealedCredential: blob("sealed_credential", { mode: "buffer" }),
    verifyTls: integer("verify_tls", { mode: "boolean" }).notNull(),
    caPem: text("ca_pem"),
    timeoutConnectSeconds: real("timeout_connect_seconds").notNull(),
    timeoutReadSeconds: real("timeout_read_seconds").notNull(),
    maxConcurrency: integer("max_concurrency"),
    enabled: integer("enabled", { mode: "boolean" }).notNull(),
    createdAtUs: integer("created_at_us").notNull(),
  },
  (table) => [
    check("providers_name_given", sql`${table.name} <> ''`),
    check("providers_wire_format_known", sql`${table.wireFormat} IN ('openai')`),
    check("providers_endpoints_object", sql`json_type(${table.endpoints}) = 'object'`),
    check("providers_verify_tls_boolean", sql`${table.verifyTls} IN (0, 1)`),
    check(
      "providers_timeouts_positive",
      sql`${table.timeoutConnectSeconds} > 0 AND ${table.timeoutReadSeconds} > 0`,
    ),
    check(
      "providers_max_concurrency_positive",
      sql`${table.maxConcurrency} IS NULL OR ${table.maxConcurrency} > 0`,
    ),
    check("providers_enabled_boolean", sql`${table.enabled} IN (0, 1)`),
  ],
);

/** A row routes to a provider's model itself, or is a name for another row; never both (specification, section 2.4). */
export const models = sqliteTable(
  "models",
  {
    id: text("id").primaryKey(),
    alias: text("alias").notNull().unique(),
    providerId: text("provider_id").references(() => providers.id),
    upstreamName: text("upstream_name"),
    /** JSON array of capabilities; null for a name, which inherits its target's. */
    capabilities: text("capabilities"),
    targetId: text("target_id"),
    origin: text("origin", { enum: ORIGINS }).notNull(),
    hidden: integer("hidden", { mode: "boolean" }).notNull(),
    createdAtUs: integer("created_at_us").notNull(),
  },
  (table) => [
    foreignKey({
      columns: [table.targetId],
      foreignColumns: [table.id],
      name: "models_target_id_models_id_fk",
    }),
    index("models_by_provider").on(table.providerId),
    index("models_by_target").on(table.targetId),
    check("models_alias_given", sql`${table.alias} <> ''`),
    check(
      "models_one_route",
      sql`CASE WHEN ${table.targetId} IS NULL
        THEN ${table.providerId} IS NOT NULL AND ${table.upstreamName} IS NOT NULL AND json_type(${table.capabilities}) IS 'array'
        ELSE ${table.providerId} IS NULL AND ${table.upstreamName} IS NULL AND ${table.capabilities} IS NULL AND ${table.targetId} <> ${table.id}
      END`,
    ),
    check("models_origin_known", sql`${table.origin} IN ('declared', 'discovered')`),
    check("models_hidden_boolean", sql`${table.hidden} IN (0, 1)`),
  ],
);

/** Keyed by a name, which is an alias or an upstream model name and need not exist: a feed may price what is bound later. */
export const prices = sqliteTable(
  "prices",
  {
    name: text("name").notNull(),
    unit: text("unit").$type<Unit>().notNull(),
    /** Null is the mark "this unit has no price". */
    pricePico: integer("price_pico"),
    feedVersion: text("feed_version"),
  },
  (table) => [
    primaryKey({ columns: [table.name, table.unit] }),
    check("prices_not_negative", sql`${table.pricePico} IS NULL OR ${table.pricePico} >= 0`),
  ],
);

/** One row, once a feed was loaded: the newest load, whose prices may have been written over since. */
export const pricingFeed = sqliteTable(
  "pricing_feed",
  {
    id: integer("id").primaryKey(),
    version: text("version").notNull(),
    loadedAtUs: integer("loaded_at_us").notNull(),
  },
  (table) => [
    check("pricing_feed_one_row", sql`${table.id} = 1`),
    check("pricing_feed_version_given", sql`${table.version} <> ''`),
  ],
);

export const principals = sqliteTable(
  "principals",
  {
    id: text("id").primaryKey(),
    name: text("name").notNull().unique(),
    kind: text("kind", { enum: PRINCIPAL_KINDS }).notNull(),
    role: text("role", { enum: ROLES }).notNull(),
    enabled: integer("enabled", { mode: "boolean" }).notNull(),
    createdAtUs: integer("created_at_us").notNull(),
  },
  (table) => [
    check("principals_name_given", sql`${table.name} <> ''`),
    check("principals_kind_known", sql`${table.kind} IN ('user', 'service')`),
    check("principals_role_known", sql`${table.role} IN ('member', 'admin')`),
    check("principals_enabled_boolean", sql`${table.enabled} IN (0, 1)`),
  ],
);

export const apiKeys = secretTable("api_keys");

/** Like the keys, but they open nothing except the relay path (specification, section 5). */
export const relayTokens = secretTable("relay_tokens");

function secretTable(name: string) {
  return sqliteTable(
    name,
    {
      id: text("id").primaryKey(),
      principalId: text("principal_id")
        .notNull()
        .references(() => principals.id, { onDelete: "cascade" }),
      /** Keyed HMAC-SHA256 of the plaintext, which is stored nowhere. */
      hash: text("hash").notNull().unique(),
      suffix: text("suffix").notNull(),
      label: text("label").notNull(),
      createdAtUs: integer("created_at_us").notNull(),
      // Terms, null where none is set: nullable columns without a CHECK are added to a table without rebuilding it.
      expiresAtUs: integer("expires_at_us"),
      /** JSON array of aliases. */
      models: text("models"),
      /** Whose pause it is. */
      pausedBy: text("paused_by", { enum: TERM_SETTERS }),
      /** What an admin has set: the terms that its owner sets stay within. */
      adminExpiresAtUs: integer("admin_expires_at_us"),
      adminModels: text("admin_models"),
      /** Hash of the plaintext before the last rotation, and until when that is good. */
      formerHash: text("former_hash").unique(),
      formerUntilUs: integer("former_until_us"),
    },
    (table) => [
      index(`${name}_by_principal`).on(table.principalId, table.createdAtUs, table.id),
      index(`${name}_by_creation`).on(table.createdAtUs, table.id),
      index(`${name}_by_expiry`)
        .on(table.expiresAtUs)
        .where(sql`${table.expiresAtUs} IS NOT NULL`),
    ],
  );
}

/**
 * Limits on use (`docs/spec/limits.md`). What was used of one is in the ledger, never here. A limit of a principal, a key or a
 * relay token goes with it.
 */
export const limits = sqliteTable(
  "limits",
  {
    id: text("id").primaryKey(),
    name: text("name").notNull().unique(),
    principalId: text("principal_id").references(() => principals.id, { onDelete: "cascade" }),
    keyId: text("key_id").references(() => apiKeys.id, { onDelete: "cascade" }),
    relayTokenId: text("relay_token_id").references(() => relayTokens.id, { onDelete: "cascade" }),
    tag: text("tag"),
    model: text("model"),
    /** JSON array of names that the model had before. */
    formerModels: text("former_models").notNull(),
    /** `principal`, `key` or `tag:<key>`. */
    each: text("each"),
    measure: text("measure", { enum: LIMIT_MEASURES }).notNull(),
    /** Decimal digits: pico for cost, which pass an INTEGER; whole numbers for the others. */
    amount: text("amount").notNull(),
    window: text("window", { enum: LIMIT_WINDOWS }),
    action: text("action", { enum: LIMIT_ACTIONS }).notNull(),
    unpriced: text("unpriced", { enum: UNPRICED_RULES }).notNull(),
    enabled: integer("enabled", { mode: "boolean" }).notNull(),
    createdAtUs: integer("created_at_us").notNull(),
  },
  (table) => [
    index("limits_by_principal").on(table.principalId),
    index("limits_by_key").on(table.keyId),
    index("limits_by_relay_token").on(table.relayTokenId),
    check("limits_name_given", sql`${table.name} <> ''`),
    check(
      "limits_one_subject",
      sql`(${table.principalId} IS NOT NULL) + (${table.keyId} IS NOT NULL) + (${table.relayTokenId} IS NOT NULL) + (${table.tag} IS NOT NULL) <= 1`,
    ),
    check("limits_former_models_array", sql`json_type(${table.formerModels}) = 'array'`),
    check(
      "limits_window_but_for_concurrent",
      sql`(${table.window} IS NULL) = (${table.measure} = 'concurrent')`,
    ),
    check("limits_enabled_boolean", sql`${table.enabled} IN (0, 1)`),
  ],
);

/** Notices that have not reached their webhook yet, in the order in which they are sent. */
export const notices = sqliteTable("notices", {
  sequence: integer("sequence").primaryKey({ autoIncrement: true }),
  /** The notice as JSON. */
  body: text("body").notNull(),
});

/** What a notice was already sent for: until then it is not sent again. */
export const noticeMarks = sqliteTable(
  "notice_marks",
  {
    name: text("name").primaryKey(),
    untilUs: integer("until_us").notNull(),
  },
  (table) => [index("notice_marks_by_end").on(table.untilUs)],
);

/** An account at an identity provider; a principal that never signed in by one has no row. */
export const oidcSubjects = sqliteTable(
  "oidc_subject",
  {
    issuer: text("issuer").notNull(),
    subject: text("subject").notNull(),
    principalId: text("principal_id")
      .notNull()
      .references(() => principals.id, { onDelete: "cascade" }),
  },
  (table) => [
    primaryKey({ columns: [table.issuer, table.subject] }),
    index("oidc_subject_by_principal").on(table.principalId),
    check("oidc_subject_given", sql`${table.issuer} <> '' AND ${table.subject} <> ''`),
  ],
);

export const sessions = sqliteTable(
  "sessions",
  {
    /** Keyed hash of the cookie's token. */
    tokenHash: text("token_hash").primaryKey(),
    principalId: text("principal_id")
      .notNull()
      .references(() => principals.id, { onDelete: "cascade" }),
    /** The session is as old as its first cookie; the column keeps the name that it had when there was no second one. */
    cookieIssuedAtUs: integer("created_at_us").notNull(),
    expiresAtUs: integer("expires_at_us").notNull(),
  },
  (table) => [
    index("sessions_by_principal").on(table.principalId),
    index("sessions_by_expiry").on(table.expiresAtUs),
  ],
);

/** Each is good for one sign-in; one that was used is gone. */
export const loginLinks = sqliteTable(
  "login_links",
  {
    /** Keyed hash of the link's token. */
    tokenHash: text("token_hash").primaryKey(),
    principalId: text("principal_id")
      .notNull()
      .references(() => principals.id, { onDelete: "cascade" }),
    createdAtUs: integer("created_at_us").notNull(),
    expiresAtUs: integer("expires_at_us").notNull(),
  },
  (table) => [
    index("login_links_by_principal").on(table.principalId),
    index("login_links_by_expiry").on(table.expiresAtUs),
  ],
);

/** Identifiers only, never payloads. Its actor is no foreign key: the trail outlives the principal. */
export const auditEvents = sqliteTable("audit_events", {
  /** Order of commit, which a clock that was set back does not change. */
  id: integer("id").primaryKey({ autoIncrement: true }),
  atUs: integer("at_us").notNull(),
  actorPrincipalId: text("actor_principal_id").notNull(),
  action: text("action", { enum: AUDIT_ACTIONS }).notNull(),
  targetKind: text("target_kind", { enum: AUDIT_TARGET_KINDS }).notNull(),
  targetRef: text("target_ref").notNull(),
});
