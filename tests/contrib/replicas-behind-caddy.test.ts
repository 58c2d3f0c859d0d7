import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { executable } from "../support/executable.ts";
import { parseExposition } from "../support/exposition.ts";
import { makeFolder } from "../support/folder.ts";
import { findFreePort } from "../support/free-port.ts";
import { postgresMissing, sharedPostgres, type TestServer } from "../support/postgres.ts";
import { runProcess, startProcess, type RunningProcess } from "../support/process.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";

const root = join(import.meta.dir, "../..");
const TEST_MS_MAX = 120_000;
const START_MS_MAX = 30_000;
const POLL_MS = 25;
const REQUESTS = 20;
const SCHEMA = "behind_caddy";
const NAMES = ["lockport-a", "lockport-b"] as const;
/** The shape of a relay token; nobody's. */
const TOKEN = `lpt_${"t0ken".repeat(8)}abc`;

const caddy = Bun.which("caddy");

/** Runs what contrib/compose/compose.yaml has without Docker: its settings, its Caddyfile, PostgreSQL by its socket. */
describe.skipIf(caddy === null || postgresMissing !== null)(
  "two replicas behind Caddy, as compose has them",
  () => {
    let folder: ReturnType<typeof makeFolder>;
    let server: TestServer;
    let upstream: ScriptedUpstream;
    let lockport: string;
    let env: Record<string, string>;
    let front: { readonly url: string; stop(): Promise<void> };
    const replicas = new Map<string, RunningProcess>();

    beforeAll(async () => {
      folder = makeFolder();
      server = await sharedPostgres();
      lockport = await executable();
      upstream = await startUpstream({
        script: (call) =>
          call.reply({
            body: JSON.stringify({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } }),
          }),
      });
      env = readSettings();
      for (const name of NAMES) await start(name);
      front = await startCaddy();
    }, TEST_MS_MAX);
    afterAll(async () => {
      await front?.stop();
      for (const replica of replicas.values()) await replica.stop();
      await upstream?.stop();
      folder?.remove();
    });

    test(
      "share the work; one that is killed costs a request or two; a deleted key is refused by both; each request counts once",
      async () => {
        const run = async (...args: string[]) => {
          const { code, data, messages } = await runProcess([lockport, ...args], { env });
          expect({ args, code, messages: code === 0 ? "" : messages }).toEqual({
            args,
            code: 0,
            messages: "",
          });
          return data;
        };
        await run("admin", "bootstrap");
        await run("provider", "add", "up", "--base-url", upstream.baseUrl, "--no-api-key");
        await run("model", "add", "m", "--provider", "up", "--upstream-name", "m");
        const made = JSON.parse(await run("key", "create", "--principal", "admin", "--json"));

        expect(await ask(made.key, REQUESTS)).toEqual(Array(REQUESTS).fill(200));
        for (const [name, { url }] of replicas) {
          expect({ name, requests: (await countRequests(url)) > 0 }).toEqual({ name, requests: true });
        }

        const [killed] = NAMES;
        replicas.get(killed)?.signal("SIGKILL");
        await replicas.get(killed)?.exited;
        const beside = await ask(made.key, REQUESTS);
        // Nothing that was sent to it is tried again: one request on a connection that was open, one on a new one.
        expect(beside.filter((status) => status !== 200).length).toBeLessThanOrEqual(2);
        await start(killed);

        await run("key", "delete", made.id, "--yes");
        expect(await ask(made.key, REQUESTS)).toEqual(Array(REQUESTS).fill(401));

        await committed();
        const [{ total } = { total: 0 }] = await server.sql<{ total: number }>(
          `SELECT sum(requests)::integer AS total FROM ${SCHEMA}.open_cell`,
        );
        // The command that adds a model has asked for the provider's.
        expect(total).toBe(upstream.requests.filter(({ method }) => method === "POST").length);
        const answered = REQUESTS + beside.filter((status) => status === 200).length;
        expect(total).toBeGreaterThanOrEqual(answered);
      },
      TEST_MS_MAX,
    );

    test("the access log has neither a relay token, nor a query, nor a key", async () => {
      for (const path of [`/transparent/messages/${TOKEN}/v1/messages`, "/auth/callback?code=planted-code"]) {
        await (
          await fetch(`${front.url}${path}`, { headers: { authorization: "Bearer planted-key" } })
        ).text();
      }
      const log = join(folder.path, "lockport.log");
      const endMs = performance.now() + START_MS_MAX;
      while (!readFileSync(log, "utf8").includes("/auth/callback") && performance.now() < endMs) {
        await Bun.sleep(POLL_MS);
      }
      const text = readFileSync(log, "utf8");
      expect(text).toContain("/transparent/messages/***");
      expect(text).toContain("/auth/callback");
      expect(text).not.toContain(TOKEN);
      expect(text).not.toContain("planted-");
    });

    /** The environment of a replica in compose.yaml, with values of this machine. */
    function readSettings(): Record<string, string> {
      const text = readFileSync(join(root, "contrib/compose/compose.yaml"), "utf8");
      const { environment } = Object(Bun.YAML.parse(text)).services[NAMES[0]];
      const given: Record<string, string> = {
        POSTGRES_PASSWORD: "any",
        PROXY_SECRET_KEY: Buffer.alloc(32, 5).toString("base64"),
        PROXY_ADMIN_PASSWORD: "a password of a test",
      };
      const settings = Object.entries<string>(environment).map(([name, value]): [string, string] => [
        name,
        value.replaceAll(/\$\{(\w+):[?-]([^}]*)\}/g, (_, variable, other) => given[variable] ?? other),
      ]);
      const { PROXY_DATABASE_URL = "", ...rest } = Object.fromEntries(settings);
      const url = PROXY_DATABASE_URL.replace(
        "@localhost/lockport",
        `@localhost:${server.port}/postgres`,
      ).replace("/var/run/postgresql", server.socketFolder);
      expect(url).toContain(server.socketFolder);
      return { ...rest, PROXY_DATABASE_URL: url, PROXY_DATABASE_SCHEMA: SCHEMA };
    }

    async function start(name: string): Promise<void> {
      const dataDir = join(folder.path, name);
      mkdirSync(dataDir, { recursive: true });
      const port = replicas.has(name) ? Number(new URL(replicas.get(name)?.url ?? "").port) : 0;
      replicas.set(name, await startProcess([lockport], { env: { ...env, PROXY_DATA_DIR: dataDir }, port }));
    }

    /** The example as it is, but for the addresses and where it writes. */
    async function startCaddy() {
      const port = findFreePort();
      let text = readFileSync(join(root, "contrib/compose/Caddyfile"), "utf8")
        .replace(/^:80 \{/m, `http://127.0.0.1:${port} {`)
        .replaceAll("/var/log/caddy/", "");
      for (const [name, { url }] of replicas) text = text.replace(`${name}:4000`, new URL(url).host);
      expect(text).not.toContain(":4000");
      writeFileSync(join(folder.path, "Caddyfile"), `{\n\tadmin off\n\tauto_https off\n}\n${text}`);
      const child = Bun.spawn({
        cmd: [caddy ?? "", "run", "--adapter", "caddyfile", "--config", "Caddyfile"],
        cwd: folder.path,
        env: { ...process.env, HOME: folder.path, XDG_DATA_HOME: folder.path, XDG_CONFIG_HOME: folder.path },
        stdout: "ignore",
        stderr: "pipe",
      });
      const url = `http://127.0.0.1:${port}`;
      const endMs = performance.now() + START_MS_MAX;
      for (;;) {
        const isUp = await fetch(`${url}/healthz`).then(
          ({ ok }) => ok,
          () => false,
        );
        if (isUp) break;
        if (child.exitCode !== null) throw new Error(await new Response(child.stderr).text());
        if (performance.now() > endMs) throw new Error("Caddy did not start");
        await Bun.sleep(POLL_MS);
      }
      return {
        url,
        async stop() {
          child.kill("SIGTERM");
          await child.exited;
        },
      };
    }

    async function ask(key: string, count: number): Promise<readonly number[]> {
      const statuses: number[] = [];
      for (let asked = 0; asked < count; asked += 1) {
        const response = await fetch(`${front.url}/v1/chat/completions`, {
          method: "POST",
          headers: { authorization: `Bearer ${key}` },
          body: JSON.stringify({ model: "m", messages: [] }),
        });
        await response.text();
        statuses.push(response.status);
      }
      return statuses;
    }

    async function scrape(url: string) {
      return parseExposition(await (await fetch(`${url}/metrics`)).text());
    }

    async function countRequests(url: string): Promise<number> {
      const samples = (await scrape(url)).get("proxy_requests_total")?.samples ?? [];
      return samples.reduce((sum, { value }) => sum + value, 0);
    }

    async function committed(): Promise<void> {
      const endMs = performance.now() + START_MS_MAX;
      for (const { url } of replicas.values()) {
        for (;;) {
          const [sample] = (await scrape(url)).get("proxy_spool_bytes")?.samples ?? [];
          if (sample?.value === 0) break;
          if (performance.now() > endMs) throw new Error("usage was not committed in time");
          await Bun.sleep(POLL_MS);
        }
      }
    }
  },
);
