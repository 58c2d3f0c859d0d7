import { resolve } from "node:path";
import { sharedPostgres, type TestSchema } from "./postgres.ts";

/** What the suites of http, identity and the command line run on: SQLite, or PostgreSQL with LOCKPORT_TEST_ENGINE=postgres. */
export const isOnPostgres = process.env["LOCKPORT_TEST_ENGINE"] === "postgres";

/** Every replica has the same. */
const SECRET_KEY = Buffer.alloc(32, 0x5e).toString("base64");
const schemas = new Map<string, TestSchema>();

// While the file is read: Bun kills what was spawned after that as soon as one test takes too long, and all others with it.
if (isOnPostgres) await sharedPostgres();

/**
 * The variables by which an installation of this data folder is on the engine of this run: none on SQLite, where the folder
 * holds it; on PostgreSQL a schema that belongs to the folder's name, on the one server of this test process.
 */
export async function engineEnvironment(dataDir: string): Promise<Record<string, string>> {
  if (!isOnPostgres) return {};
  const server = await sharedPostgres();
  const path = resolve(dataDir);
  const place = schemas.get(path) ?? server.schema();
  schemas.set(path, place);
  return {
    PROXY_DATABASE_URL: place.url,
    PROXY_DATABASE_SCHEMA: place.schema,
    PROXY_SECRET_KEY: SECRET_KEY,
    PROXY_ADMIN_PASSWORD: "a password for tests",
  };
}
