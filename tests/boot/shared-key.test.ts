import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { executable } from "../support/executable.ts";
import { makeFolder } from "../support/folder.ts";
import { callApi, provide } from "../support/installation.ts";
import { postgresMissing, startPostgres, type TestServer } from "../support/postgres.ts";
import { errorsOf, runProcess, startProcess } from "../support/process.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";
import { until } from "../support/waiting.ts";

const LOCKPORT = await executable();
const CREDENTIAL = "sk-of-the-provider-3301";
const TEST_MS_MAX = 60_000;

let folder: ReturnType<typeof makeFolder>;
let server: TestServer;
let upstream: ScriptedUpstream;

const CHAT = { model: "fast", messages: [] };

/** Its tables are locked one by one, in another order than by the server, so that PostgreSQL may end it as a deadlock. */
async function dropSchema(): Promise<void> {
  for (;;) {
    try {
      await server.sql("DROP SCHEMA lockport CASCADE");
      return;
    } catch (cause) {
      if (!(cause instanceof Error && "errno" in cause && cause.errno === "40P01")) throw cause;
    }
  }
}

/** The schema is dropped and restored under whatever serves from it. */
async function restore(dump: string): Promise<void> {
  await dropSchema();
  const restoring = Bun.spawn({
    cmd: [
      `${server.binFolder}/psql`,
      "--quiet",
      "--single-transaction",
      "--set",
      "ON_ERROR_STOP=1",
      "--dbname",
      server.url,
    ],
    stdin: Buffer.from(dump),
    stdout: "ignore",
    stderr: "inherit",
  });
  expect(await restoring.exited).toBe(0);
}

describe.skipIf(postgresMissing !== null)("lockport secrets rotate on PostgreSQL", () => {
  beforeAll(async () => {
    folder = makeFolder();
    server = await startPostgres();
    upstream = await startUpstream({ script: (call) => call.reply({ body: "{}" }) });
  });
  afterAll(async () => {
    await upstream.stop();
    await server[Symbol.asyncDispose]();
    folder.remove();
  });

  test(
    "is refused while a replica serves; then credentials and keys work with the next key alone, which lies in a private file; with a dump from before, replicas of the next key say that it is another one and are not ready",
    async () => {
      const dataDir = join(folder.path, "data");
      const env = (secretKey: string) => ({
        PROXY_DATA_DIR: dataDir,
        PROXY_DATABASE_URL: server.url,
        PROXY_SECRET_KEY: secretKey,
        PROXY_ADMIN_PASSWORD: "a password for tests",
      });
      const first = Buffer.alloc(32, 1).toString("base64");
      const bootstrap = await runProcess([LOCKPORT, "admin", "bootstrap"], { env: env(first) });
      const key = bootstrap.data.trim();
      const before = await startProcess([LOCKPORT], { env: env(first) });
      try {
        const models = { fast: "fast" };
        await provide(before.url, key, { name: "up", baseUrl: upstream.baseUrl, apiKey: CREDENTIAL, models });
        const refused = await runProcess([LOCKPORT, "secrets", "rotate"], { env: env(first) });
        expect(refused.code).toBe(1);
        expect(refused.messages).toContain("1 replica serves from this database: stop all of them first");
        expect(existsSync(join(dataDir, "secret.key.next"))).toBe(false);
        expect(await before.stop()).toBe(0);
      } finally {
        before.signal("SIGKILL");
      }

      const dumped = await runProcess([`${server.binFolder}/pg_dump`, "--schema=lockport", server.url]);
      expect(dumped.code).toBe(0);
      const rotated = await runProcess([LOCKPORT, "secrets", "rotate", "--json"], { env: env(first) });
      expect(rotated.code).toBe(0);
      const told: { file: string; credentials: number } = JSON.parse(rotated.data);
      expect(told).toMatchObject({ file: join(dataDir, "secret.key.next"), credentials: 1, keys_revoked: 0 });
      expect(statSync(told.file).mode & 0o777).toBe(0o600);
      const next = readFileSync(told.file, "utf8").trim();
      expect(rotated.data + rotated.messages).not.toContain(next);

      const stale = await runProcess([LOCKPORT, "principal", "list"], { env: env(first) });
      expect(stale.code).toBe(78);
      const after = await startProcess([LOCKPORT], { env: env(next) });
      try {
        const answer = await callApi(after.url, key, "POST", "/v1/chat/completions", CHAT);
        expect(answer.status).toBe(200);
        expect(upstream.lastRequest().headers.get("authorization")).toBe(`Bearer ${CREDENTIAL}`);
        await restore(dumped.data);
        const faults = () => errorsOf(after.messages()).filter((one) => one.includes("another secret key"));
        await until(
          () => faults().length > 0,
          () => "the log says what is wrong",
        );
        expect((await fetch(`${after.url}/healthz`)).status).toBe(503);
        const refused = await callApi(after.url, key, "POST", "/v1/chat/completions", CHAT);
        expect(refused.status).toBe(500);
        expect(await refused.text()).toContain(
          "The stored credential of the provider up is sealed by another secret key than this server has",
        );
        expect(faults()).toEqual([expect.stringContaining("put back to before a rotation")]);
        expect(await after.stop()).toBe(0);
      } finally {
        after.signal("SIGKILL");
      }
      const again = await startProcess([LOCKPORT], { env: env(first) });
      try {
        expect((await callApi(again.url, key, "POST", "/v1/chat/completions", CHAT)).status).toBe(200);
        expect((await fetch(`${again.url}/healthz`)).status).toBe(200);
      } finally {
        again.signal("SIGKILL");
      }
    },
    TEST_MS_MAX,
  );
});
