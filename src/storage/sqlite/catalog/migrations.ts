import sql0000 from "#drizzle/sqlite/0000_catalog.sql" with { type: "text" };
import sql0001 from "#drizzle/sqlite/0001_added_key_scope.sql" with { type: "text" };
import sql0002 from "#drizzle/sqlite/0002_added_price_variants.sql" with { type: "text" };
import sql0003 from "#drizzle/sqlite/0003_added_price_history.sql" with { type: "text" };
import sql0004 from "#drizzle/sqlite/0004_added_price_schedule.sql" with { type: "text" };
import sql0005 from "#drizzle/sqlite/0005_superseded_prices.sql" with { type: "text" };
import sql0006 from "#drizzle/sqlite/0006_audit_change.sql" with { type: "text" };
import sql0007 from "#drizzle/sqlite/0007_credential_set_at.sql" with { type: "text" };
import sql0008 from "#drizzle/sqlite/0008_former_credential.sql" with { type: "text" };
import sql0009 from "#drizzle/sqlite/0009_added_price_inheritance.sql" with { type: "text" };
import type { Migration } from "#storage/sql/migration.ts";

/** The files of drizzle/sqlite in order. `drizzle/generate.ts` writes this list. */
export const MIGRATIONS: readonly Migration[] = [
  { name: "0000_catalog", sql: sql0000 },
  { name: "0001_added_key_scope", sql: sql0001 },
  { name: "0002_added_price_variants", sql: sql0002 },
  { name: "0003_added_price_history", sql: sql0003 },
  { name: "0004_added_price_schedule", sql: sql0004 },
  { name: "0005_superseded_prices", sql: sql0005 },
  { name: "0006_audit_change", sql: sql0006 },
  { name: "0007_credential_set_at", sql: sql0007 },
  { name: "0008_former_credential", sql: sql0008 },
  { name: "0009_added_price_inheritance", sql: sql0009 },
];
