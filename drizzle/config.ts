import { defineConfig } from "drizzle-kit";

/** `bunx drizzle-kit generate --config drizzle/config.ts --name <what-changes>` writes the next migration; read it before it is kept. */
export default defineConfig({
  dialect: "sqlite",
  schema: "./drizzle/sqlite-tables.ts",
  out: "./drizzle/sqlite",
});
