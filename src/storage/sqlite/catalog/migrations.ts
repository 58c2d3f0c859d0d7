import catalog0000 from "#drizzle/sqlite/0000_catalog.sql" with { type: "text" };
import type { Migration } from "#storage/sql/migration.ts";

/** The schema of catalog.db, step by step, as drizzle-kit wrote it. A released step is never edited. */
export const CATALOG_MIGRATIONS: readonly Migration[] = [{ name: "0000_catalog", sql: catalog0000 }];
