import { sql } from "drizzle-orm";
import { PRINCIPAL_KINDS, ROLES } from "#identity/principal.ts";
import { TERM_SETTERS } from "#identity/secret-terms.ts";
import { check, index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** The tables of catalog.db that say who may use the server (`schema.ts`). */

export const principals = sqliteTable(
  "principals",
  {
    id: text("id").primaryKey(),
    name: text("name").notNull().unique(),
    kind: text("kind", { enum: PRINCIPAL_KINDS }).notNull(),
    role: text("role", { enum: ROLES }).notNull(),
    enabled: integer("enabled", { mode: "boolean" }).notNull(),
    createdAtUs: integer("created_at_us").notNull(),
    /** JSON array of the `name:value` pairs on all of its usage, which no caller can change; null where there are none. */
    tags: text("tags"),
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
      /** As a principal's, which they go before. */
      tags: text("tags"),
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
