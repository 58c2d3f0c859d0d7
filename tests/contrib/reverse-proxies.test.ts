import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startApp, type TestApp } from "../support/app.ts";
import { makeFolder } from "../support/folder.ts";
import { startUpstream, type ScriptedUpstream, type UpstreamCall } from "../support/upstream.ts";

const root = join(import.meta.dir, "../..");
const START_MS_MAX = 20_000;
const TEST_MS_MAX = 60_000;
const POLL_MS = 25;
/** The shape of a relay token; nobody's. */
const TOKEN = `lpt_${"t0ken".repeat(8)}abc`;

let folder: ReturnType<typeof makeFolder>;
let app: TestApp;
let upstream: ScriptedUpstream;
/** Requests for a stream, for a test to feed. */
const calls: UpstreamCall[] = [];
let onCall: () => void = () => undefined;

beforeEach(async () => {
  folder = makeFolder();
  calls.length = 0;
  onCall = () => undefined;
  upstream = await startUpstream({
    script: (call) => {
      calls.push(call);
      onCall();
      return call.beginStream();
    },
  });
  app = await startApp();
  await app.api("POST", "/admin/v1/providers", { name: "up", base_url: upstream.baseUrl });
  await app.api("POST", "/admin/v1/models", { alias: "m", provider: "up", upstream_name: "m" });
});
afterEach(async () => {
  await app.stop();
  await upstream.stop();
  folder.remove();
});

interface Front {
  readonly url: string;
  readonly readLog: () => string;
  stop(): Promise<void>;
}

/** A port that is free now. */
async function findPort(): Promise<number> {
  const probe = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  const { port } = probe;
  await probe.stop(true);
  return port ?? 0;
}

/** The example as it is, but for the certificate, the address, and where it writes: below its own folder. */
async function startNginx(executable: string): Promise<Front> {
  const port = await findPort();
  const example = readFileSync(join(root, "contrib/nginx/lockport.conf"), "utf8")
    .replace("server 127.0.0.1:4000;", `server ${new URL(app.url).host};`)
    .replace("listen 443 ssl;", `listen 127.0.0.1:${port};`)
    .replaceAll(/^\s*ssl_certificate.*$/gm, "")
    .replaceAll("/var/log/nginx/", "");
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (kind) => `${kind}_temp_path ${kind};`,
  );
  const config = `pid pid;\nevents {}\nhttp {\n${temporary.join("\n")}\n${example}\n}\n`;
  writeFileSync(join(folder.path, "nginx.conf"), config);
  const files = ["-p", folder.path, "-c", "nginx.conf", "-e", "start.log"];
  return await startFront([executable, ...files, "-g", "daemon off;"], port);
}

async function startCaddy(executable: string): Promise<Front> {
  const port = await findPort();
  const example = readFileSync(join(root, "contrib/caddy/Caddyfile"), "utf8")
    .replace("127.0.0.1:4000", new URL(app.url).host)
    .replace(/^lockport\.example\.com \{/m, `http://127.0.0.1:${port} {`)
    .replaceAll("/var/log/caddy/", "");
  writeFileSync(join(folder.path, "Caddyfile"), `{\n\tadmin off\n\tauto_https off\n}\n${example}`);
  return await startFront([executable, "run", "--adapter", "caddyfile", "--config", "Caddyfile"], port);
}

async function startFront(cmd: readonly string[], port: number): Promise<Front> {
  const child = Bun.spawn({
    cmd: [...cmd],
    cwd: folder.path,
    env: { ...process.env, HOME: folder.path, XDG_DATA_HOME: folder.path, XDG_CONFIG_HOME: folder.path },
    stdout: "ignore",
    stderr: "pipe",
  });
  const url = `http://127.0.0.1:${port}`;
  const startedMs = performance.now();
  for (;;) {
    if (
      await fetch(`${url}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      break;
    if (child.exitCode !== null) throw new Error(await new Response(child.stderr).text());
    if (performance.now() - startedMs > START_MS_MAX) throw new Error(`${cmd[0]} did not start`);
    await Bun.sleep(POLL_MS);
  }
  return {
    url,
    readLog: () => readFileSync(join(folder.path, "lockport.log"), "utf8"),
    async stop() {
      child.kill("SIGTERM");
      await child.exited;
    },
  };
}

async function takeCall(): Promise<UpstreamCall> {
  const call = calls.shift();
  if (call !== undefined) return call;
  await new Promise<void>((resolve) => (onCall = resolve));
  return takeCall();
}

const FRONTS = [
  { name: "nginx", start: startNginx },
  { name: "caddy", start: startCaddy },
] as const;
for (const { name, start } of FRONTS) {
  const executable = Bun.which(name);
  describe.skipIf(executable === null)(`behind ${name} as contrib shows it`, () => {
    let front: Front;
    beforeEach(async () => {
      front = await start(executable ?? "");
    }, TEST_MS_MAX);
    afterEach(() => front.stop());

    test("a chunk of a stream arrives while the stream is open, and nothing is held back", async () => {
      const asked = fetch(`${front.url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${app.adminKey}` },
        body: JSON.stringify({ model: "m", stream: true, messages: [] }),
      });
      const call = await takeCall();
      await call.sendChunk("data: {}\n\n");
      const response = await asked;
      const reader = response.body?.getReader();
      // The upstream has not ended: a proxy that buffers would let this wait for ever.
      expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("data: {}\n\n");
      await call.sendChunk("data: [DONE]\n\n");
      expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("data: [DONE]\n\n");
      await call.endStream();
      expect((await reader?.read())?.done).toBe(true);
    });

    test("a body above a megabyte passes, and the path arrives as it was sent", async () => {
      const large = await fetch(`${front.url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${app.adminKey}` },
        body: JSON.stringify({
          model: "nobody",
          messages: [{ role: "user", content: "x".repeat(3_000_000) }],
        }),
      });
      expect(Object(await large.json()).error.code).toBe("model_not_found");
      const escaped = await fetch(`${front.url}/admin/v1/models/a%2Fb`, {
        method: "DELETE",
        headers: { authorization: `Bearer ${app.adminKey}` },
      });
      expect(Object(await escaped.json()).error.code).toBe("model_not_found");
    });

    test("the access log has the request and neither the relay token, nor a query, nor a key", async () => {
      for (const path of [
        `/transparent/messages/${TOKEN}/v1/messages`,
        `//transparent//messages/${TOKEN}/v1/messages`,
        `/transparent/messages/${TOKEN}`,
        "/auth/callback?code=planted-code&state=planted-state",
      ]) {
        const response = await fetch(`${front.url}${path}`, {
          headers: { authorization: "Bearer planted-key", "x-api-key": "planted-key" },
        });
        await response.text();
      }
      const startedMs = performance.now();
      while (!front.readLog().includes("/auth/callback") && performance.now() - startedMs < START_MS_MAX) {
        await Bun.sleep(POLL_MS);
      }
      const log = front.readLog();
      expect(log).toContain("/transparent/messages/***");
      expect(log).toContain("/auth/callback");
      expect(log).not.toContain(TOKEN);
      expect(log).not.toContain("planted-");
    });
  });
}
