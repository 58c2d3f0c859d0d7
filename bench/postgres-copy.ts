/** Copies of filled folders in PostgreSQL. */
import { SQL } from "bun";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Filled } from "./fill.ts";

const PASSWORD = "a password of the benchmark";

/** What `serve` needs to serve a copy. */
export interface PostgresCopy {
  readonly dataDir: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly schema: string;
}

/**
 * Brings what was filled into PostgreSQL, as an operator would. A schema that an earlier run left is used again when it holds
 * this very folder, and dropped otherwise.
 */
export async function copyToPostgres(
  { dataDir, events, untilUs }: Filled,
  { url, binary, scratch }: { readonly url: string; readonly binary: string; readonly scratch: string },
): Promise<PostgresCopy> {
  const schema = `lockport_bench_${events}`;
  const mark = `events until ${untilUs}`;
  const settings = {
    PROXY_DATABASE_URL: url,
    PROXY_DATABASE_SCHEMA: schema,
    PROXY_SECRET_KEY: readFileSync(join(dataDir, "secret.key"), "utf8").trim(),
    PROXY_ADMIN_PASSWORD: PASSWORD,
  };
  const folder = join(scratch, schema);
  mkdirSync(folder);
  await using sql = new SQL(url, { max: 1 });
  const found: readonly { mark: string | null }[] = await sql`
    SELECT obj_description(oid, 'pg_namespace') AS mark FROM pg_namespace WHERE nspname = ${schema}`;
  if (found[0]?.mark === mark) return { dataDir: folder, settings, schema };
  await sql.unsafe(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  const moved = Bun.spawnSync([binary, "migrate", "--from", dataDir], {
    env: { PATH: process.env["PATH"] ?? "", ...settings },
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (moved.exitCode !== 0) throw new Error(`migrate ended with ${moved.exitCode}`);
  await sql.unsafe(`VACUUM ANALYZE`);
  await sql.unsafe(`COMMENT ON SCHEMA ${schema} IS '${mark}'`);
  return { dataDir: folder, settings, schema };
}
