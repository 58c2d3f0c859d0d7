import { sql } from "drizzle-orm";
import { boolean, check, index, pgTable } from "drizzle-orm/pg-core";
import type { LimitAction, LimitMeasure, LimitWindow, UnpricedRule } from "#limits/limit.ts";
import { integer, text } from "./columns.ts";
import { apiKeys, principals, relayTokens } from "./identity-schema.ts";

/**
 * Limits on use (`docs/spec/limits.md`). What was used of one is in the ledger, never here. A limit of a principal, a key or a
 * relay token goes with it.
 */
export const limits = pgTable(
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
    measure: text("measure").$type<LimitMeasure>().notNull(),
    /** Decimal digits: pico for cost, which pass a bigint; whole numbers for the others. */
    amount: text("amount").notNull(),
    window: text("window").$type<LimitWindow>(),
    action: text("action").$type<LimitAction>().notNull(),
    unpriced: text("unpriced").$type<UnpricedRule>().notNull(),
    enabled: boolean("enabled").notNull(),
    createdAtUs: integer("created_at_us").notNull(),
    /** How many requests of a window may end without usage before it refuses; null: any number. */
    unknownMax: integer("unknown_max"),
    /** True: tags that callers send do not count, fixed ones alone do. Null: any tag counts. */
    fixed: boolean("fixed"),
  },
  (table) => [
    index("limits_by_principal").on(table.principalId),
    index("limits_by_key").on(table.keyId),
    index("limits_by_relay_token").on(table.relayTokenId),
    check("limits_name_given", sql`${table.name} <> ''`),
    check(
      "limits_one_subject",
      sql`num_nonnulls(${table.principalId}, ${table.keyId}, ${table.relayTokenId}, ${table.tag}) <= 1`,
    ),
    check("limits_former_models_array", sql`json_typeof(${table.formerModels}::json) = 'array'`),
    check(
      "limits_window_but_for_concurrent",
      sql`(${table.window} IS NULL) = (${table.measure} = 'concurrent')`,
    ),
  ],
);
