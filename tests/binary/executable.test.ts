import manifest from "../../package.json" with { type: "json" };
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { sha256Hex } from "#kernel/crypto.ts";
import { makeFolder } from "../support/folder.ts";
import { executable } from "../support/executable.ts";
import { errorsOf, runProcess, startProcess } from "../support/process.ts";
import { scale } from "../support/scale.ts";
import { startHeldUpstream } from "./held-upstream.ts";

const BUILD_MS_MAX = 120_000;
const TEST_MS_MAX = 60_000;
const root = join(import.meta.dir, "../..");

let lockport: string;
let folder: ReturnType<typeof makeFolder>;
let dataDir: string;
let env: Record<string, string>;

beforeAll(async () => {
  lockport = await executable();
}, BUILD_MS_MAX);

beforeEach(() => {
  folder = makeFolder();
  dataDir = join(folder.path, "data");
  env = { PROXY_DATA_DIR: dataDir };
});
afterEach(() => folder.remove(), BUILD_MS_MAX);

const run = (...args: string[]) => runProcess([lockport, ...args], { env });
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** An installation with a provider at this URL, the alias `m` and a key, made by local commands. */
async function setUp(baseUrl: string): Promise<string> {
  const { data: key } = await run("admin", "bootstrap");
  expect((await run("provider", "add", "up", "--base-url", baseUrl)).code).toBe(0);
  expect((await run("model", "add", "m", "--provider", "up", "--upstream-name", "um")).code).toBe(0);
  return key.trim();
}

function complete(url: string, key: string, body: object = {}): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { ...bearer(key), "content-type": "application/json" },
    body: JSON.stringify({ model: "m", messages: [], ...body }),
  });
}

function completeByNode(url: string, key: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { ...bearer(key), "content-type": "application/json" };
    const ask = request(`${url}/v1/chat/completions`, { method: "POST", headers, agent: false }, (answer) => {
      answer.resume().once("end", () => resolve(answer.statusCode));
    });
    ask.once("error", reject).end(JSON.stringify({ model: "m", messages: [] }));
  });
}

async function loggedRequests(url: string, key: string): Promise<{ outcome: string; streamed: boolean }[]> {
  const response = await fetch(`${url}/admin/v1/requests?limit=500`, { headers: bearer(key) });
  return JSON.parse(await response.text()).requests;
}

describe("the executable on its own", () => {
  test(
    "moved alone into an empty folder it serves, and reads neither the .env nor the bunfig.toml that lie there",
    async () => {
      const alone = join(folder.path, "alone");
      mkdirSync(alone);
      cpSync(lockport, join(alone, "lockport"));
      writeFileSync(
        join(alone, ".env"),
        "PROXY_HOST=0.0.0.0\nPROXY_NO_SUCH_SETTING=1\nPROXY_ADMIN_PASSWORD=hostile password\n",
      );
      writeFileSync(join(alone, "bunfig.toml"), 'preload = ["./hostile.ts"]\n');
      writeFileSync(join(alone, "hostile.ts"), 'require("node:fs").writeFileSync("hostile-was-here", "");\n');
      const server = await startProcess([join(alone, "lockport")], { env, cwd: alone });
      expect(server.url).toStartWith("http://127.0.0.1:");
      expect(await (await fetch(`${server.url}/healthz`)).json()).toEqual({ status: "ok" });
      const hostile = {
        method: "POST",
        body: JSON.stringify({ password: "hostile password" }),
        headers: { "content-type": "application/json" },
      };
      expect((await fetch(`${server.url}/auth/password`, hostile)).status).toBe(401);
      expect(await server.stop()).toBe(0);
      expect(readdirSync(alone).sort()).toEqual([".env", "bunfig.toml", "hostile.ts", "lockport"]);
    },
    TEST_MS_MAX,
  );

  test("reports its version and that of the interface", async () => {
    const data = `lockport ${manifest.version} (interface 1.0.0)\n`;
    expect(await run("--version")).toEqual({ code: 0, data, messages: "" });
  });

  // A build costs as much as a folder of tests.
  test.skipIf(scale === 1)(
    "built again in another folder is the same to the byte",
    async () => {
      const copy = join(folder.path, "elsewhere", "sources");
      for (const path of [
        "src",
        "drizzle",
        "ui",
        "contrib/build",
        "build.ts",
        "bun.lock",
        "package.json",
        "tsconfig.json",
        "bunfig.toml",
      ]) {
        cpSync(join(root, path), join(copy, path), { recursive: true });
      }
      // A link would not do: the paths that are hashed are those of the files themselves.
      cpSync(join(root, "node_modules"), join(copy, "node_modules"), {
        recursive: true,
        verbatimSymlinks: true,
      });
      const { code, messages } = await runProcess([process.execPath, join(copy, "build.ts")], { cwd: copy });
      expect(`${code} ${messages}`).toBe("0 ");
      const [here, there] = [lockport, join(copy, "dist/lockport")].map((path) =>
        sha256Hex(readFileSync(path)),
      );
      expect(there).toBe(here ?? "");
    },
    BUILD_MS_MAX,
  );
});

describe("first start", () => {
  test(
    "prints the address, where the admin password lies and the next step, and no secret",
    async () => {
      const server = await startProcess([lockport], { env });
      const password = readFileSync(join(dataDir, "admin-password"), "utf8").trim();
      const secret = readFileSync(join(dataDir, "secret.key"), "utf8").trim();
      expect(server.output()).toContain(`Lockport listens on ${server.url}\n`);
      expect(server.output()).toContain(join(dataDir, "admin-password"));
      expect(server.output()).toContain("lockport admin bootstrap");
      const signIn = {
        method: "POST",
        body: JSON.stringify({ password }),
        headers: { "content-type": "application/json" },
      };
      expect((await fetch(`${server.url}/auth/password`, signIn)).status).toBe(200);
      expect(await server.stop()).toBe(0);
      expect(server.output()).not.toContain(password);
      expect(server.output()).not.toContain(secret);
      expect((statSync(dataDir).mode & 0o777).toString(8)).toBe("700");
      const open = readdirSync(dataDir).filter((name) => (statSync(join(dataDir, name)).mode & 0o077) !== 0);
      expect(open).toEqual([]);
    },
    TEST_MS_MAX,
  );
});

describe("a start that cannot be", () => {
  test("a malformed setting, an unknown one and an unusable data folder end with one line and the code that fits", async () => {
    const cases: readonly [Record<string, string>, number, RegExp][] = [
      [{ PROXY_PORT: "http" }, 78, /^PROXY_PORT must be/],
      [{ PROXY_DATADIR: "/srv" }, 78, /^PROXY_DATADIR is not a setting \(did you mean PROXY_DATA_DIR\?\)/],
      [{ PROXY_ADMIN_PASSWORD: "short" }, 78, /^PROXY_ADMIN_PASSWORD must be/],
      [{ PROXY_HOST: "192.0.2.1" }, 78, /^192\.0\.2\.1 is not an address of this machine/],
      // Nobody may make a folder in there, root included.
      [{ PROXY_DATA_DIR: "/sys/lockport" }, 77, /^The folder \/sys\/lockport cannot be written to/],
    ];
    for (const [given, code, line] of cases) {
      const done = await runProcess([lockport, "serve"], { env: { ...env, PROXY_PORT: "0", ...given } });
      expect(`${done.code} ${done.data}`).toBe(`${code} `);
      expect(errorsOf(done.messages)).toEqual([expect.stringMatching(line)]);
    }
  });

  test(
    "a taken port, a data folder that is being served, and a lost key file end with one line and code 78, and leave the data as it is",
    async () => {
      const server = await startProcess([lockport], { env });
      const port = new URL(server.url).port;
      const other = { PROXY_DATA_DIR: join(folder.path, "other"), PROXY_PORT: port };
      const taken = await runProcess([lockport, "serve"], { env: other });
      expect(taken.code).toBe(78);
      expect(errorsOf(taken.messages)).toEqual([
        expect.stringContaining(`127.0.0.1:${port} is taken by another process`),
      ]);
      const twice = await runProcess([lockport, "serve", "--port", "0"], { env });
      expect(twice.code).toBe(78);
      expect(errorsOf(twice.messages)).toHaveLength(1);
      expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
      expect(await server.stop()).toBe(0);

      rmSync(join(dataDir, "secret.key"));
      const lost = await runProcess([lockport, "serve", "--port", "0"], { env });
      expect(lost.code).toBe(78);
      expect(errorsOf(lost.messages)).toEqual([expect.stringContaining("is missing beside existing data")]);
      expect(existsSync(join(dataDir, "secret.key"))).toBe(false);
    },
    TEST_MS_MAX,
  );
});

describe("while it serves", () => {
  test(
    "a local command takes effect at the next request: a new key works, a deleted one does not",
    async () => {
      const server = await startProcess([lockport], { env });
      const { data } = await run("admin", "bootstrap", "--json");
      const { id, key } = JSON.parse(data);
      const ask = () => fetch(`${server.url}/admin/v1/providers`, { headers: bearer(key) });
      expect(await (await ask()).json()).toMatchObject({ providers: [], total: 0 });
      await run("provider", "add", "up", "--base-url", "http://127.0.0.1:9/v1");
      expect(await (await ask()).json()).toMatchObject({ providers: [{ name: "up" }] });
      await run("key", "delete", id, "--yes");
      expect((await ask()).status).toBe(401);
      expect(await server.stop()).toBe(0);
    },
    TEST_MS_MAX,
  );

  test(
    "more than 256 requests are upstream at the same time, none queued behind the others",
    async () => {
      const upstream = startHeldUpstream();
      const key = await setUp(upstream.baseUrl);
      const server = await startProcess([lockport], { env });
      // Not by fetch: this process has the same cap that the server has lifted.
      const answers = Array.from({ length: 300 }, () => completeByNode(server.url, key));
      await upstream.arrived(300);
      upstream.release();
      expect((await Promise.all(answers)).filter((status) => status !== 200)).toEqual([]);
      expect(await loggedRequests(server.url, key)).toHaveLength(300);
      expect(await server.stop()).toBe(0);
      upstream.stop();
    },
    TEST_MS_MAX,
  );

  test(
    "it goes on when whoever read its output has gone",
    async () => {
      const server = await startProcess([lockport], { env });
      await server.closeStdout();
      expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
      expect(await server.stop()).toBe(0);
    },
    TEST_MS_MAX,
  );
});

describe("SIGTERM", () => {
  test(
    "takes no new request, lets an open stream end, records it and exits 0",
    async () => {
      const upstream = startHeldUpstream();
      const key = await setUp(upstream.baseUrl);
      const server = await startProcess([lockport], { env });
      const answer = await complete(server.url, key, { stream: true });
      await upstream.arrived(1);
      server.signal("SIGTERM");
      await until(async () => (await fetch(`${server.url}/healthz`).catch(() => null)) === null);
      upstream.release();
      expect(await answer.text()).toEndWith("data: [DONE]\n\n");
      expect(await server.exited).toBe(0);

      const again = await startProcess([lockport], { env });
      expect(await loggedRequests(again.url, key)).toMatchObject([{ outcome: "ok", streamed: true }]);
      expect(await again.stop()).toBe(0);
      upstream.stop();
    },
    TEST_MS_MAX,
  );

  test(
    "sent twice ends the waiting: the open stream is cut off, recorded as unreachable, and the exit code is 0",
    async () => {
      const upstream = startHeldUpstream();
      const key = await setUp(upstream.baseUrl);
      const server = await startProcess([lockport], { env });
      const answer = await complete(server.url, key, { stream: true });
      server.signal("SIGTERM");
      await until(async () => (await fetch(`${server.url}/healthz`).catch(() => null)) === null);
      server.signal("SIGINT");
      expect(await server.exited).toBe(0);
      expect(answer.text()).rejects.toThrow();

      const again = await startProcess([lockport], { env });
      expect(await loggedRequests(again.url, key)).toMatchObject([{ outcome: "unreachable" }]);
      expect(await again.stop()).toBe(0);
      upstream.stop();
    },
    TEST_MS_MAX,
  );

  test(
    "cuts a stream off that outlasts PROXY_DRAIN_TIMEOUT, records it as unreachable, since its caller did not leave, and exits 0",
    async () => {
      const upstream = startHeldUpstream();
      const key = await setUp(upstream.baseUrl);
      const server = await startProcess([lockport], { env: { ...env, PROXY_DRAIN_TIMEOUT: "0s" } });
      const answer = await complete(server.url, key, { stream: true });
      expect(await server.stop()).toBe(0);
      expect(answer.text()).rejects.toThrow();

      const again = await startProcess([lockport], { env });
      expect(await loggedRequests(again.url, key)).toMatchObject([
        { outcome: "unreachable", error_kind: "interrupted", status_code: 502, streamed: true },
      ]);
      expect(await again.stop()).toBe(0);
      upstream.stop();
    },
    TEST_MS_MAX,
  );
});

/** Asks again until it is so: for what another process does in its own time. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 5));
}
