import catalog0000 from "#drizzle/postgres/0000_catalog.sql" with { type: "text" };
import ledger0001 from "#drizzle/postgres/0001_ledger.sql" with { type: "text" };
import presence0002 from "#drizzle/postgres/0002_presence.sql" with { type: "text" };
import catalog0003 from "#drizzle/postgres/0003_fixed_tags_and_unknown_usage.sql" with { type: "text" };
import ledger0004 from "#drizzle/postgres/0004_unknown_late_ends.sql" with { type: "text" };
import ledger0005 from "#drizzle/postgres/0005_tier_and_failure.sql" with { type: "text" };
import catalog0006 from "#drizzle/postgres/0006_kept_responses.sql" with { type: "text" };
import ledger0007 from "#drizzle/postgres/0007_pending_events.sql" with { type: "text" };
import catalog0008 from "#drizzle/postgres/0008_auth_style.sql" with { type: "text" };
import ledger0009 from "#drizzle/postgres/0009_units.sql" with { type: "text" };
import type { Migration } from "#storage/migration.ts";

/** The files of drizzle/postgres in order. A new file is imported as text above and named here. */
export const MIGRATIONS: readonly Migration[] = [
  { name: "0000_catalog", sql: catalog0000 },
  { name: "0001_ledger", sql: ledger0001 },
  { name: "0002_presence", sql: presence0002 },
  { name: "0003_fixed_tags_and_unknown_usage", sql: catalog0003 },
  { name: "0004_unknown_late_ends", sql: ledger0004 },
  { name: "0005_tier_and_failure", sql: ledger0005 },
  { name: "0006_kept_responses", sql: catalog0006 },
  { name: "0007_pending_events", sql: ledger0007 },
  { name: "0008_auth_style", sql: catalog0008 },
  { name: "0009_units", sql: ledger0009 },
];
