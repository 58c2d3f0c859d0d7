import { sql } from "drizzle-orm";
import { check, index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/**
 * Responses that callers may ask for by their ids. Nothing refers to other tables: a response whose model or provider is gone
 * is not found, and one whose principal is gone is settled first.
 */
export const keptResponses = sqliteTable(
  "kept_responses",
  {
    idHash: text("id_hash").notNull(),
    principalId: text("principal_id").notNull(),
    modelId: text("model_id").notNull(),
    providerId: text("provider_id").notNull(),
    eventId: integer("event_id").notNull(),
    lane: integer("event_lane").notNull(),
    isSettled: integer("is_settled", { mode: "boolean" }).notNull(),
    expiresAtUs: integer("expires_at_us").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.idHash, table.principalId] }),
    index("kept_responses_by_expiry").on(table.isSettled, table.expiresAtUs),
    index("kept_responses_unsettled")
      .on(table.principalId)
      .where(sql`${table.isSettled} = 0`),
    check("kept_responses_settled_boolean", sql`${table.isSettled} IN (0, 1)`),
  ],
);
