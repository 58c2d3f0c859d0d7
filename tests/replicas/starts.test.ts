import { afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { executable } from "../support/executable.ts";
import { makeFolder } from "../support/folder.ts";
import { postgresMissing, sharedPostgres, type TestSchema, type TestServer } from "../support/postgres.ts";
import { errorsOf, runProcess, startProcess, type RunningProcess } from "../support/process.ts";
import { SHARED_SETTINGS } from "./site.ts";

setDefaultTimeout(120_000);

const STARTS = 4;
const CONFIGURATION_EXIT_CODE = 78;

let database: TestServer;
let schema: TestSchema;
let folder: ReturnType<typeof makeFolder>;
let running: RunningProcess[];

describe.skipIf(postgresMissing !== null)("replicas that start at once", () => {
  beforeAll(async () => {
    database = await sharedPostgres();
  });
  beforeEach(() => {
    schema = database.schema();
    folder = makeFolder();
    running = [];
  });
  afterEach(async () => {
    for (const each of running) each.signal("SIGKILL");
    await Promise.all(running.map(({ exited }) => exited));
    await schema[Symbol.asyncDispose]();
    folder.remove();
  });

  test("on an empty database apply each migration once, and all serve", async () => {
    await Promise.all(Array.from({ length: STARTS }, (_, index) => start(`data-${index}`)));
    const applied = await database.sql<{ name: string; times: number }>(
      `SELECT name, count(*)::int AS times FROM ${schema.schema}.migration GROUP BY name ORDER BY name`,
    );
    expect(applied).not.toEqual([]);
    expect(applied.filter(({ times }) => times !== 1)).toEqual([]);
    const lanes = await database.sql<{ lane: number }>(`SELECT lane FROM ${schema.schema}.spool`);
    expect(new Set(lanes.map(({ lane }) => lane)).size).toBe(STARTS);
    for (const { url } of running) expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  test("on a schema of a newer version are refused with exit code 78, and change nothing", async () => {
    await start("data-0").then((process) => process.stop());
    await database.sql(
      `INSERT INTO ${schema.schema}.migration (name, sha256, applied_at) SELECT '9999_later', sha256, applied_at FROM ${schema.schema}.migration LIMIT 1`,
    );
    const refused = await serve("data-1");
    expect(refused.code).toBe(CONFIGURATION_EXIT_CODE);
    expect(errorsOf(refused.messages)).toEqual([expect.stringContaining("newer")]);
    expect(refused.messages).not.toContain("postgres://");
  });

  test("by a role without rights on the schema's definition serve a schema that is current", async () => {
    await start("data-0").then((process) => process.stop());
    const role = `server_of_${schema.schema}`;
    await database.sql(
      `CREATE ROLE ${role} LOGIN PASSWORD 'secret-of-server'; GRANT USAGE ON SCHEMA ${schema.schema} TO ${role};
       GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema.schema} TO ${role};
       GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA ${schema.schema} TO ${role}`,
    );
    const url = database.urlOf(role, "secret-of-server");
    const server = await start("data-1", { PROXY_DATABASE_URL: url });
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect(server.output()).not.toContain("secret-of-server");
  });
});

function toEnv(name: string): Record<string, string> {
  return {
    ...SHARED_SETTINGS,
    PROXY_DATABASE_URL: schema.url,
    PROXY_DATABASE_SCHEMA: schema.schema,
    PROXY_DATA_DIR: join(folder.path, name),
  };
}

async function start(name: string, env: Record<string, string> = {}): Promise<RunningProcess> {
  const started = await startProcess([await executable()], { env: { ...toEnv(name), ...env } });
  running.push(started);
  return started;
}

async function serve(name: string) {
  return runProcess([await executable(), "serve", "--port", "0"], { env: toEnv(name) });
}
