import { sql } from "drizzle-orm";
import { boolean, check, index, pgTable, primaryKey } from "drizzle-orm/pg-core";
import type { PrincipalKind, Role } from "#identity/principal.ts";
import type { TermSetter } from "#identity/secret-terms.ts";
import { integer, text } from "./columns.ts";

/** The tables that say who may use the server (`schema.ts`). */

export const principals = pgTable(
  "principals",
  {
    id: text("id").primaryKey(),
    name: text("name").notNull().unique(),
    kind: text("kind").$type<PrincipalKind>().notNull(),
    role: text("role").$type<Role>().notNull(),
    enabled: boolean("enabled").notNull(),
    createdAtUs: integer("created_at_us").notNull(),
    /** JSON array of the `name:value` pairs on all of its usage, which no caller can change; null where there are none. */
    tags: text("tags"),
  },
  (table) => [
    check("principals_name_given", sql`${table.name} <> ''`),
    check("principals_kind_known", sql`${table.kind} IN ('user', 'service')`),
    check("principals_role_known", sql`${table.role} IN ('member', 'admin')`),
  ],
);

export const apiKeys = secretTable("api_keys");

/** Like the keys, but they open nothing except the relay path (specification, section 5). */
export const relayTokens = secretTable("relay_tokens");

function secretTable(name: string) {
  return pgTable(
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
      expiresAtUs: integer("expires_at_us"),
      /** JSON array of aliases. */
      models: text("models"),
      /** Who has paused it: its owner, or an admin. */
      pausedBy: text("paused_by").$type<TermSetter>(),
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

/** An account at an identity provider; a principal that never signed in by one has no row. */
export const oidcSubjects = pgTable(
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

export const sessions = pgTable(
  "sessions",
  {
    /** Keyed hash of the cookie's token. */
    tokenHash: text("token_hash").primaryKey(),
    principalId: text("principal_id")
      .notNull()
      .references(() => principals.id, { onDelete: "cascade" }),
    /** The session is as old as its first cookie; the column is called as in SQLite. */
    cookieIssuedAtUs: integer("created_at_us").notNull(),
    expiresAtUs: integer("expires_at_us").notNull(),
  },
  (table) => [
    index("sessions_by_principal").on(table.principalId),
    index("sessions_by_expiry").on(table.expiresAtUs),
  ],
);

/** Each is good for one sign-in; one that was used is gone. */
export const loginLinks = pgTable(
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
