import installation0000 from "#drizzle/postgres/0000_installation.sql" with { type: "text" };
import type { Migration } from "#storage/sql/migration.ts";

/** The files of drizzle/postgres in order. A new file is imported as text above and named here. */
export const MIGRATIONS: readonly Migration[] = [{ name: "0000_installation", sql: installation0000 }];
