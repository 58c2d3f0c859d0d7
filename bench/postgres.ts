/** Brings what was filled into PostgreSQL, as an operator would. */
import { SQL } from "bun";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Filled } from "./fill.ts";

const PASSWORD = "a password of the benchmark";

/** A folder to serve from, and the settings to serve with. What the schema held before is dropped. */
export async function copyToPostgres(
  { dataDir, events }: Filled,
  { url, binary, scratch }: { readonly url: string; readonly binary: string; readonly scratch: string },
): Promise<{ readonly dataDir: string; readonly settings: Readonly<Record<string, string>> }> {
  const schema = `lockport_bench_${events}`;
  await using sql = new SQL(url, { max: 1 });
  await sql.unsafe(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  const settings = {
    PROXY_DATABASE_URL: url,
    PROXY_DATABASE_SCHEMA: schema,
    PROXY_SECRET_KEY: readFileSync(join(dataDir, "secret.key"), "utf8").trim(),
    PROXY_ADMIN_PASSWORD: PASSWORD,
  };
  const moved = Bun.spawnSync([binary, "migrate", "--from", dataDir], {
    env: { PATH: process.env["PATH"] ?? "", ...settings },
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (moved.exitCode !== 0) throw new Error(`migrate ended with ${moved.exitCode}`);
  const folder = join(scratch, schema);
  mkdirSync(folder);
  return { dataDir: folder, settings };
}
