import { sql } from "drizzle-orm";
import { AUDIT_ACTIONS, AUDIT_TARGET_KINDS } from "#audit/event.ts";
import { ORIGINS } from "#catalog/model.ts";
import { AUTH_STYLES } from "#catalog/auth-style.ts";
import type { Unit } from "#kernel/units.ts";
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
    authStyle: text("auth_style", { enum: AUTH_STYLES }).notNull().default("bearer"),
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
