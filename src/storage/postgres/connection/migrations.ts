import sql0000 from "#drizzle/postgres/0000_installation.sql" with { type: "text" };
import sql0001 from "#drizzle/postgres/0001_added_key_scope.sql" with { type: "text" };
import sql0002 from "#drizzle/postgres/0002_region_and_reported_cost.sql" with { type: "text" };
import sql0003 from "#drizzle/postgres/0003_added_price_variants.sql" with { type: "text" };
import sql0004 from "#drizzle/postgres/0004_repricing.sql" with { type: "text" };
import sql0005 from "#drizzle/postgres/0005_added_price_history.sql" with { type: "text" };
import sql0006 from "#drizzle/postgres/0006_added_price_schedule.sql" with { type: "text" };
import sql0007 from "#drizzle/postgres/0007_superseded_prices.sql" with { type: "text" };
import sql0008 from "#drizzle/postgres/0008_audit_change.sql" with { type: "text" };
import sql0009 from "#drizzle/postgres/0009_credential_set_at.sql" with { type: "text" };
import sql0010 from "#drizzle/postgres/0010_former_credential.sql" with { type: "text" };
import sql0011 from "#drizzle/postgres/0011_added_price_inheritance.sql" with { type: "text" };
import type { Migration } from "#storage/sql/migration.ts";

/** The files of drizzle/postgres in order. `drizzle/generate.ts` writes this list. */
export const MIGRATIONS: readonly Migration[] = [
  { name: "0000_installation", sql: sql0000 },
  { name: "0001_added_key_scope", sql: sql0001 },
  { name: "0002_region_and_reported_cost", sql: sql0002 },
  { name: "0003_added_price_variants", sql: sql0003 },
  { name: "0004_repricing", sql: sql0004 },
  { name: "0005_added_price_history", sql: sql0005 },
  { name: "0006_added_price_schedule", sql: sql0006 },
  { name: "0007_superseded_prices", sql: sql0007 },
  { name: "0008_audit_change", sql: sql0008 },
  { name: "0009_credential_set_at", sql: sql0009 },
  { name: "0010_former_credential", sql: sql0010 },
  { name: "0011_added_price_inheritance", sql: sql0011 },
];
