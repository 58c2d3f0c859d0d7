import catalog0000 from "#drizzle/sqlite/0000_catalog.sql" with { type: "text" };
import catalog0001 from "#drizzle/sqlite/0001_keys_that_end.sql" with { type: "text" };
import catalog0002 from "#drizzle/sqlite/0002_limits.sql" with { type: "text" };
import catalog0003 from "#drizzle/sqlite/0003_notices.sql" with { type: "text" };
import catalog0004 from "#drizzle/sqlite/0004_fixed_tags_and_unknown_usage.sql" with { type: "text" };
import catalog0005 from "#drizzle/sqlite/0005_kept_responses.sql" with { type: "text" };
import catalog0006 from "#drizzle/sqlite/0006_auth_style.sql" with { type: "text" };
import type { Migration } from "#storage/migration.ts";

/** The schema of catalog.db, step by step, as drizzle-kit wrote it. A released step is never edited. */
export const CATALOG_MIGRATIONS: readonly Migration[] = [
  { name: "0000_catalog", sql: catalog0000 },
  { name: "0001_keys_that_end", sql: catalog0001 },
  { name: "0002_limits", sql: catalog0002 },
  { name: "0003_notices", sql: catalog0003 },
  { name: "0004_fixed_tags_and_unknown_usage", sql: catalog0004 },
  { name: "0005_kept_responses", sql: catalog0005 },
  { name: "0006_auth_style", sql: catalog0006 },
];
