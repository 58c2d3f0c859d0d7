import catalog0000 from "#drizzle/sqlite/0000_catalog.sql" with { type: "text" };
import pricingFeed0001 from "#drizzle/sqlite/0001_pricing_feed.sql" with { type: "text" };
import relayTokens0002 from "#drizzle/sqlite/0002_relay_tokens_and_subjects.sql" with { type: "text" };
import loginLinks0003 from "#drizzle/sqlite/0003_login_links.sql" with { type: "text" };
import type { Migration } from "#storage/sqlite/file/migrate.ts";

/** The schema of catalog.db, step by step, as drizzle-kit wrote it. A released step is never edited. */
export const CATALOG_MIGRATIONS: readonly Migration[] = [
  { name: "0000_catalog", sql: catalog0000 },
  { name: "0001_pricing_feed", sql: pricingFeed0001 },
  { name: "0002_relay_tokens_and_subjects", sql: relayTokens0002 },
  { name: "0003_login_links", sql: loginLinks0003 },
];
