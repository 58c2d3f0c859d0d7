import { sql } from "drizzle-orm";
import { boolean, check, doublePrecision, foreignKey, index, pgTable, primaryKey } from "drizzle-orm/pg-core";
import type { AuditAction, AuditTargetKind } from "#audit/event.ts";
import type { Origin } from "#catalog/model.ts";
import type { AuthStyle } from "#catalog/auth-style.ts";
import type { Unit } from "#kernel/units.ts";
import { bytes, integer, text } from "./columns.ts";

/**
 * The catalog in PostgreSQL: the tables, columns, keys and checks of `sqlite/catalog/schema.ts`, held together by
 * `tests/storage/postgres/schema.test.ts`.
 */

export const providers = pgTable(
  "providers",
  {
    id: text("id").primaryKey(),
    name: text("name").notNull().unique(),
    wireFormat: text("wire_format").$type<"openai">().notNull(),
    baseUrl: text("base_url").notNull(),
    /** JSON object: endpoint → URL. */
    endpoints: text("endpoints").notNull(),
    sealedCredential: bytes("sealed_credential"),
    verifyTls: boolean("verify_tls").notNull(),
    caPem: text("ca_pem"),
    timeoutConnectSeconds: doublePrecision("timeout_connect_seconds").notNull(),
    timeoutReadSeconds: doublePrecision("timeout_read_seconds").notNull(),
    maxConcurrency: integer("max_concurrency"),
    enabled: boolean("enabled").notNull(),
    createdAtUs: integer("created_at_us").notNull(),
    authStyle: text("auth_style").$type<AuthStyle>().notNull().default("bearer"),
  },
  (table) => [
    check("providers_name_given", sql`${table.name} <> ''`),
    check("providers_wire_format_known", sql`${table.wireFormat} IN ('openai')`),
    check("providers_endpoints_object", sql`json_typeof(${table.endpoints}::json) = 'object'`),
    check(
      "providers_timeouts_positive",
      sql`${table.timeoutConnectSeconds} > 0 AND ${table.timeoutReadSeconds} > 0`,
    ),
    check(
      "providers_max_concurrency_positive",
      sql`${table.maxConcurrency} IS NULL OR ${table.maxConcurrency} > 0`,
    ),
  ],
);

/** A row routes to a provider's model itself, or is a name for another row; never both (specification, section 2.4). */
export const models = pgTable(
  "models",
  {
    id: text("id").primaryKey(),
    alias: text("alias").notNull().unique(),
    providerId: text("provider_id").references(() => providers.id),
    upstreamName: text("upstream_name"),
    /** JSON array of capabilities; null for a name, which inherits its target's. */
    capabilities: text("capabilities"),
    targetId: text("target_id"),
    origin: text("origin").$type<Origin>().notNull(),
    hidden: boolean("hidden").notNull(),
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
    // A CHECK that is null passes, which a missing capability list must not.
    check(
      "models_one_route",
      sql`CASE WHEN ${table.targetId} IS NULL
        THEN ${table.providerId} IS NOT NULL AND ${table.upstreamName} IS NOT NULL AND json_typeof(${table.capabilities}::json) IS NOT DISTINCT FROM 'array'
        ELSE ${table.providerId} IS NULL AND ${table.upstreamName} IS NULL AND ${table.capabilities} IS NULL AND ${table.targetId} <> ${table.id}
      END`,
    ),
    check("models_origin_known", sql`${table.origin} IN ('declared', 'discovered')`),
  ],
);

/** Keyed by a name, which is an alias or an upstream model name and need not exist: a feed may price what is bound later. */
export const prices = pgTable(
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
export const pricingFeed = pgTable(
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
export const auditEvents = pgTable("audit_events", {
  /** Order of commit, since each row is written under the catalog's lock. */
  id: integer("id").primaryKey().generatedByDefaultAsIdentity(),
  atUs: integer("at_us").notNull(),
  actorPrincipalId: text("actor_principal_id").notNull(),
  action: text("action").$type<AuditAction>().notNull(),
  targetKind: text("target_kind").$type<AuditTargetKind>().notNull(),
  targetRef: text("target_ref").notNull(),
});
