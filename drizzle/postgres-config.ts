import { defineConfig } from "drizzle-kit";

/**
 * `bunx drizzle-kit generate --config drizzle/postgres-config.ts --name <what-changes>` writes the next migration of the
 * catalog. Read it before it is kept, and take out `"public".`, which drizzle-kit writes before referenced tables: the
 * tables are in the schema of the connection's `search_path`.
 */
export default defineConfig({
  dialect: "postgresql",
  schema: "./drizzle/postgres-tables.ts",
  out: "./drizzle/postgres",
});
