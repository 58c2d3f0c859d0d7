import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import http from "node:http";
import net from "node:net";
import { join } from "node:path";
import { encodeJournalLine } from "#usage/journal-line.ts";
import { executable } from "../support/executable.ts";
import { startApp } from "../support/app.ts";
import { makeFolder } from "../support/folder.ts";
import { runProcess } from "../support/process.ts";
import { makeSchemaLater } from "../support/later-schema.ts";
import { startUpstream, type ScriptedUpstream, type UpstreamOptions } from "../support/upstream.ts";
import { runLocal, type CliInput } from "./terminal.ts";

interface Check {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail";
  readonly finding: string;
  readonly advice: string | null;
}

const LOCKPORT = await executable();
const MODELS = '{"data":[{"id":"one"},{"id":"two"}]}';
const ENV = { PROXY_PORT: "0" };

let folder: ReturnType<typeof makeFolder>;
let dataDir: string;
let upstreams: ScriptedUpstream[];

beforeEach(() => {
  folder = makeFolder();
  dataDir = join(folder.path, "data");
  upstreams = [];
});
afterEach(async () => {
  for (const upstream of upstreams) await upstream.stop();
  folder.remove();
});

const run = (line: string, input?: CliInput) => runLocal(dataDir, line.split(" "), input);

async function diagnose(env: Record<string, string> = {}) {
  const { code, data } = await run("doctor --json", { env: { ...ENV, ...env } });
  const found: {
    ok: boolean;
    checks: Check[];
    settings: { name: string; source: string; value: string | null }[];
  } = JSON.parse(data);
  expect(found.ok).toBe(code === 0);
  expect(found.checks.filter(({ status }) => status === "fail").length > 0).toBe(code === 1);
  // Each finding that is not ok has a sentence of what to do.
  for (const { status, advice } of found.checks) expect((advice ?? "") !== "").toBe(status !== "ok");
  return { code, ...found, find: (name: string) => found.checks.find((check) => check.name === name) };
}

function portOf(server: net.Server): string {
  const address = server.address();
  return address !== null && typeof address === "object" ? String(address.port) : "";
}

async function addProvider(name: string, baseUrl: string): Promise<void> {
  if (!existsSync(dataDir)) await run("admin bootstrap");
  const keyFile = join(folder.path, "credential");
  writeFileSync(keyFile, "upstream credential 1");
  const { code, messages } = await run(
    `provider add ${name} --base-url ${baseUrl} --api-key-file ${keyFile}`,
  );
  expect(`${code} ${messages.includes("(")}`).toBe("0 false");
}

async function provider(name: string, options: UpstreamOptions): Promise<ScriptedUpstream> {
  const upstream = await startUpstream(options);
  upstreams.push(upstream);
  await addProvider(name, upstream.baseUrl);
  return upstream;
}

describe("lockport doctor on a folder", () => {
  test("that is not there yet says so, ends with 0 and makes nothing", async () => {
    const { code, find } = await diagnose();
    expect(code).toBe(0);
    expect(find("data folder")).toMatchObject({ status: "warn" });
    expect(existsSync(dataDir)).toBe(false);
  });

  test("that cannot be there says so, and what to set", async () => {
    const file = join(folder.path, "file");
    writeFileSync(file, "");
    const places = [file, join(file, "inside"), ...(process.platform === "linux" ? ["/proc/x"] : [])];
    for (const place of places) {
      const { code, find } = await diagnose({ PROXY_DATA_DIR: place });
      expect(code).toBe(1);
      expect(find("data folder")?.status).toBe("fail");
      expect(find("data folder")?.finding).toMatch(/is no folder|cannot be made/);
      expect(find("data folder")?.advice).toContain("PROXY_DATA_DIR");
    }
    expect(readdirSync(folder.path)).toEqual(["file"]);
  });

  test("in good order finds nothing wrong and changes no file", async () => {
    await run("admin bootstrap");
    const before = readdirSync(dataDir).map((name) => [
      name,
      readFileSync(join(dataDir, name)).toString("base64"),
    ]);
    const { code, checks, find } = await diagnose();
    expect(code).toBe(0);
    expect(checks.filter(({ status }) => status !== "ok").map(({ name }) => name)).toEqual(["providers"]);
    expect(find("catalog.db")?.finding).toContain("sound");
    expect(
      readdirSync(dataDir)
        .filter((name) => !/-(wal|shm)$/.test(name))
        .map((name) => [name, readFileSync(join(dataDir, name)).toString("base64")]),
    ).toEqual(before);
  });

  test("whose files are removed under the running server tells which are back and which are not", async () => {
    const app = await startApp({ dataDir });
    const env = { PROXY_PORT: new URL(app.url).port };
    expect((await diagnose(env)).find("open files")).toMatchObject({ status: "ok" });
    const metric = async (name: string) => {
      const text = await (await fetch(`${app.url}/metrics`)).text();
      return Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1]);
    };
    rmSync(join(dataDir, "usage.db"));
    while ((await metric("proxy_files_lost_total")) < 1 || (await metric("proxy_files_missing")) > 0)
      await Bun.sleep(20);
    const back = await diagnose(env);
    expect(back.find("open files")).toMatchObject({ status: "warn" });
    expect(back.find("open files")?.finding).toContain("1 file, put back since");
    expect(back.find("usage.db")).toMatchObject({ status: "ok" });
    // The catalog is saved, and yet the server has another file open.
    renameSync(join(dataDir, "catalog.db"), join(dataDir, "elsewhere"));
    while ((await metric("proxy_files_missing")) < 1) await Bun.sleep(20);
    const lost = await diagnose(env);
    expect(lost.code).toBe(1);
    expect(lost.find("open files")).toMatchObject({ status: "fail" });
    renameSync(join(dataDir, "elsewhere"), join(dataDir, "catalog.db"));
    await app.stop();
  }, 30_000);

  test("open to others warns of the folder and fails for the key file", async () => {
    await run("admin bootstrap");
    chmodSync(dataDir, 0o755);
    chmodSync(join(dataDir, "secret.key"), 0o644);
    const { code, find } = await diagnose();
    expect(code).toBe(1);
    expect(find("data folder")).toMatchObject({ status: "warn", advice: `chmod 700 ${dataDir}` });
    expect(find("secret key")).toMatchObject({
      status: "fail",
      advice: `chmod 600 ${join(dataDir, "secret.key")}`,
    });
  });

  test("without its key, with another's, or with a damaged database fails with what to do, and mends nothing", async () => {
    await run("admin bootstrap");
    const key = readFileSync(join(dataDir, "secret.key"));
    rmSync(join(dataDir, "secret.key"));
    const missing = await diagnose();
    expect(missing.code).toBe(1);
    expect(missing.find("secret key")?.finding).toContain("missing beside existing data");
    expect(existsSync(join(dataDir, "secret.key"))).toBe(false);
    const other = await diagnose({ PROXY_SECRET_KEY: Buffer.alloc(32, 3).toString("base64") });
    expect(other.find("catalog.db")).toMatchObject({ status: "fail" });
    expect(other.find("catalog.db")?.finding).toContain("not the one");

    writeFileSync(join(dataDir, "secret.key"), key, { mode: 0o600 });
    writeFileSync(join(dataDir, "usage.db"), "no database at all ".repeat(100));
    const catalog = readFileSync(join(dataDir, "catalog.db"));
    writeFileSync(join(dataDir, "catalog.db"), Buffer.from(catalog).fill(0xff, 8192, 40_000));
    const damaged = await diagnose();
    expect(damaged.code).toBe(1);
    expect(damaged.find("catalog.db")?.advice).toContain("lockport restore");
    expect(damaged.find("usage.db")).toMatchObject({ status: "fail" });
  });

  test("whose journal is a file says that, and the server's start too", async () => {
    await run("admin bootstrap");
    const journal = join(dataDir, "journal");
    writeFileSync(journal, "", { mode: 0o644 });
    const { code, find } = await diagnose();
    expect(code).toBe(1);
    expect(find("usage journal")).toMatchObject({
      finding: `${journal} is a file, and no folder`,
      advice: "Move it away: the next start of the server makes the folder.",
    });
    const failure = await startApp({ dataDir }).catch((cause: unknown) => cause);
    expect(String(failure)).toContain(`The journal ${journal} is a file, and no folder`);
  });

  test("with an empty database, as a first start leaves it that was cut off, is in order", async () => {
    await run("admin bootstrap");
    writeFileSync(join(dataDir, "usage.db"), "", { mode: 0o600 });
    const { code, find } = await diagnose();
    expect(code).toBe(0);
    expect(find("usage.db")).toMatchObject({
      status: "ok",
      finding: "not made yet: the first start makes it",
    });
    expect(find("prices")?.status).toBe("ok");
  });

  test("with an older catalog asks the providers all the same, and says of what it cannot look at that it did not", async () => {
    await provider("p", { script: (call) => call.reply({ body: MODELS }) });
    using _ = makeSchemaLater();
    const older = await diagnose();
    expect(older.code).toBe(0);
    expect(older.find("catalog.db")).toMatchObject({ status: "warn" });
    expect(older.find("provider p")?.finding).toContain("lists 2 models");
    for (const name of ["clock", "prices"]) expect(older.find(name)?.status).toBe("ok");

    rmSync(join(dataDir, "secret.key"));
    const closed = await diagnose();
    expect(closed.code).toBe(1);
    for (const name of ["providers", "clock", "prices"])
      expect(closed.find(name)?.finding).toStartWith("not looked at");
  });

  test("whose lock is damaged says to remove it, as the commands do that it stops, and that mends it", async () => {
    await run("admin bootstrap");
    const backup = join(folder.path, "backup");
    await run(`backup ${backup} --with-secret-key`);
    const lock = join(dataDir, "serving.lock");
    expect((await diagnose()).find("serving lock")).toMatchObject({ status: "ok" });
    writeFileSync(lock, "no lock at all ".repeat(100), { mode: 0o600 });
    const { code, find } = await diagnose();
    expect(code).toBe(1);
    expect(find("serving lock")).toMatchObject({ status: "fail" });
    expect(find("serving lock")?.advice).toEndWith(`remove the file: rm ${lock}`);
    for (const line of ["serve --port 0", `restore ${backup} --force`]) {
      const { code: refused, messages } = await run(line);
      expect({ line, refused }).toEqual({ line, refused: 78 });
      expect(messages).toContain(`The lock file ${lock} is damaged`);
      expect(messages).toContain("remove the file");
      expect(messages).not.toContain("restore it");
    }
    rmSync(lock);
    expect((await diagnose()).code).toBe(0);
    expect((await run(`restore ${backup} --force`)).code).toBe(0);
  });

  test("whose journal has a torn line, or more than usage.db has, warns while no server runs", async () => {
    const app = await startApp({ dataDir });
    await app.stop();
    const [segment = ""] = readdirSync(join(dataDir, "journal")).sort().reverse();
    appendFileSync(join(dataDir, "journal", segment), "0000 torn\n");
    const torn = await diagnose();
    expect(torn.code).toBe(0);
    expect(torn.find("usage journal")).toMatchObject({
      status: "warn",
      finding: "1 line is torn or damaged",
    });

    rmSync(join(dataDir, "journal", segment));
    writeFileSync(join(dataDir, "journal", "000000000099.journal"), encodeJournalLine({ kind: "run" }));
    const waiting = await diagnose();
    expect(waiting.code).toBe(0);
    expect(waiting.find("usage journal")?.finding).toMatch(/^\d+ bytes are not in usage.db yet$/);
  });

  test("warns of models that are used without a price, and of the clock when an event is from the future", async () => {
    const upstream = await provider("p", {
      script: (call) => call.reply({ body: '{"usage":{"prompt_tokens":5}}' }),
    });
    await run("model add m --provider p --upstream-name um");
    const app = await startApp({ dataDir });
    expect((await app.api("POST", "/v1/chat/completions", { model: "m", messages: [] })).status).toBe(200);
    await app.stop();
    // The command has asked it for its models.
    expect(upstream.requests.map(({ method }) => method)).toEqual(["GET", "POST"]);
    const before = await diagnose();
    expect(before.find("clock")).toMatchObject({ status: "ok" });
    // Used, and no price.
    expect(before.find("prices")).toMatchObject({ status: "warn" });
    expect(before.find("prices")?.finding).toEndWith("without a price: m");

    const usage = new Database(join(dataDir, "usage.db"));
    usage.run("UPDATE event SET id = id + 3600000000");
    usage.close();
    const { code, find } = await diagnose();
    expect(code).toBe(0);
    expect(find("clock")).toMatchObject({ status: "warn" });
    expect(find("clock")?.finding).toContain("in the future");
  });
});

describe("lockport doctor on the port", () => {
  test("tells a free one, one that is taken, and a running server's own", async () => {
    await run("admin bootstrap");
    const holder = net.createServer();
    await new Promise<void>((resolve) => holder.listen(0, "127.0.0.1", resolve));
    const port = portOf(holder);
    expect((await diagnose({ PROXY_PORT: port })).find("port")).toMatchObject({ status: "fail" });
    await new Promise((resolve) => holder.close(resolve));
    expect((await diagnose({ PROXY_PORT: port })).find("port")).toMatchObject({ status: "ok" });

    const app = await startApp({ dataDir });
    try {
      const own = await diagnose({ PROXY_PORT: new URL(app.url).port });
      expect(own.find("port")?.finding).toContain("the server answers");
      expect(own.find("usage journal")).toMatchObject({ status: "ok" });
      const elsewhere = await diagnose({ PROXY_PORT: port });
      expect(elsewhere.find("port")).toMatchObject({ status: "warn" });
    } finally {
      await app.stop();
    }
  });
});

describe("what nobody can listen on", () => {
  test("is told by doctor in the words of the server's start, and only a port that is in use is said to be taken", async () => {
    await run("admin bootstrap");
    const holder = net.createServer();
    await new Promise<void>((resolve) => holder.listen(0, "127.0.0.1", resolve));
    for (const [host, reason] of [
      ["127.0.0.1", /^127\.0\.0\.1:\d+ is taken by another process$/],
      ["192.0.2.1", /^192\.0\.2\.1 is not an address of this machine$/],
      ["no.such.invalid", /^The host no\.such\.invalid does not resolve to an address$/],
    ] as const) {
      const env = { PROXY_HOST: host, PROXY_PORT: portOf(holder) };
      const check = (await diagnose(env)).find("port");
      expect(check?.status).toBe("fail");
      expect(check?.finding).toMatch(reason);
      const { code, messages } = await runProcess([LOCKPORT, "serve"], {
        env: { ...env, PROXY_DATA_DIR: dataDir },
      });
      expect(code).toBe(78);
      expect(messages).toContain(`${check?.finding}. ${check?.advice}`);
    }
    await new Promise((resolve) => holder.close(resolve));
  }, 30_000);
});

describe("lockport doctor on providers", () => {
  test("asks each as discovery does, with its own credential, and says how long it took", async () => {
    const upstream = await provider("good", { script: (call) => call.reply({ body: MODELS }) });
    const { code, find } = await diagnose();
    expect(code).toBe(0);
    expect(find("provider good")?.finding).toMatch(/^answers in \d+ ms, lists 2 models$/);
    expect(upstream.lastRequest()).toMatchObject({ method: "GET", target: "/v1/models" });
    expect(upstream.lastRequest().headers.get("authorization")).toBe("Bearer upstream credential 1");
  });

  test("asks one that takes x-api-key so, with a version of Anthropic's API, for all of its pages", async () => {
    const upstream = await provider("claude", {
      script: (call) =>
        call.reply({
          body: call.request.target.includes("after_id")
            ? '{"data":[{"id":"a"}],"has_more":false}'
            : '{"data":[{"id":"b"}],"has_more":true,"last_id":"b"}',
        }),
    });
    await run("provider set claude --auth-style x-api-key");
    expect((await diagnose()).find("provider claude")?.finding).toMatch(/lists 2 models$/);
    expect(upstream.requests.map(({ target }) => target)).toEqual(["/v1/models", "/v1/models?after_id=b"]);
    for (const { headers } of upstream.requests) {
      expect(headers.get("x-api-key")).toBe("upstream credential 1");
      expect([headers.has("authorization"), headers.has("anthropic-version")]).toEqual([false, true]);
    }
  });

  test("tells a page, a refused credential, an error, an answer that is no list, silence and a closed port apart", async () => {
    const html = {
      headers: ["content-type: text/html; charset=utf-8"],
      body: "<!doctype html><title>hi</title>",
    };
    await provider("page", { script: (call) => call.reply(html) });
    await provider("locked", { script: (call) => call.reply({ status: 401, body: "{}" }) });
    await provider("broken", { script: (call) => call.reply({ status: 503, body: "{}" }) });
    await provider("absent", { script: (call) => call.reply({ status: 404, body: "{}" }) });
    await provider("object", { script: (call) => call.reply({ body: '{"models":[]}' }) });
    await provider("reset", { script: (call) => call.reset() });
    const closed = await startUpstream();
    await addProvider("closed", closed.baseUrl);
    await closed.stop();
    await addProvider("nowhere", "http://nothing.invalid/v1");
    await addProvider("off", "http://127.0.0.1:9/v1");
    await run("provider disable off");
    const { code, checks } = await diagnose();
    expect(code).toBe(1);
    const found = Object.fromEntries(
      checks
        .filter(({ name }) => name.startsWith("provider "))
        .map(({ name, status, finding }) => [name.slice("provider ".length), `${status}: ${finding}`]),
    );
    expect(found).toEqual({
      page: "fail: /models answered with a web page (HTML) and not with JSON",
      locked: "fail: /models answered with status 401: it refuses the credential",
      broken: "fail: /models answered with status 503",
      absent: "warn: /models answered with status 404",
      object: "warn: The provider's models endpoint answered without a data array.",
      reset: "fail: /models gets no answer (ECONNRESET)",
      closed: "fail: no connection can be made (ECONNREFUSED)",
      nowhere: expect.stringMatching(/^fail: its name does not resolve \(\w+\)$/),
      off: "ok: disabled, so it was not asked",
    });
    expect(JSON.stringify(checks)).not.toContain("upstream credential");
  }, 20_000);

  test("names a certificate that nobody vouches for, and takes it with its authority", async () => {
    const tls = {
      key: readFileSync(join(import.meta.dir, "../fixtures/tls/upstream.key.pem"), "utf8"),
      cert: readFileSync(join(import.meta.dir, "../fixtures/tls/upstream.cert.pem"), "utf8"),
    };
    const upstream = await provider("tls", { tls, script: (call) => call.reply({ body: MODELS }) });
    const refused = await diagnose();
    expect(refused.find("provider tls")?.finding).toMatch(/^TLS fails \([A-Z_]+\)$/);
    expect(refused.find("provider tls")?.advice).toContain("--ca-file");
    expect(upstream.requests).toHaveLength(0);
    await run("provider set tls --no-verify-tls");
    expect((await diagnose()).find("provider tls")).toMatchObject({ status: "ok" });
  });

  test("tells a port that speaks http from a certificate that is wrong, and asks for no authority", async () => {
    const plain = http.createServer((_request, response) => response.end());
    await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve));
    const silent = net.createServer((socket) => void socket.once("data", () => socket.resetAndDestroy()));
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    await addProvider("plain", `https://127.0.0.1:${portOf(plain)}/v1`);
    await addProvider("silent", `https://127.0.0.1:${portOf(silent)}/v1`);
    const { find } = await diagnose();
    plain.close();
    silent.close();
    expect(find("provider plain")?.finding).toMatch(/^it speaks http there, and not https \([A-Z_]+\)$/);
    expect(find("provider silent")?.finding).toBe("it breaks off when TLS begins (ECONNRESET)");
    for (const name of ["plain", "silent"]) {
      expect(find(`provider ${name}`)?.advice).toContain("http://");
      expect(find(`provider ${name}`)?.advice).not.toContain("--ca-file");
    }
  });

  test("compares the clock with a provider's, and a minute apart is a warning", async () => {
    let date = new Date(Date.now() - 3_600_000);
    await provider("p", {
      script: (call) => call.reply({ headers: [`date: ${date.toUTCString()}`], body: MODELS }),
    });
    expect((await diagnose()).find("clock")).toMatchObject({ status: "warn" });
    date = new Date();
    expect((await diagnose()).find("clock")).toMatchObject({ status: "ok" });
  });
});

test("Ctrl-C ends doctor at once, also while a provider does not answer", async () => {
  const reached = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  await provider("silent", {
    script: async (call) => {
      reached.resolve();
      await held.promise;
      await call.reply({ body: MODELS });
    },
  });
  const child = Bun.spawn({
    cmd: [LOCKPORT, "doctor", "--data-dir", dataDir],
    env: { PATH: process.env["PATH"] ?? "", ...ENV },
    stdout: "pipe",
    stderr: "pipe",
  });
  await reached.promise;
  child.kill("SIGINT");
  await child.exited;
  expect(child.signalCode).toBe("SIGINT");
  expect(await new Response(child.stdout).text()).toBe("");
  held.resolve();
}, 30_000);

describe("lockport doctor on notices", () => {
  test("tells whether the webhook takes connections, sends it nothing, and names no more of its URL than the host", async () => {
    const webhook = await startUpstream();
    upstreams.push(webhook);
    const url = `http://127.0.0.1:${webhook.port}/services/SECRET-PATH`;
    const notices = { PROXY_NOTICE_URL: url, PROXY_NOTICE_SECRET: "s3cret-of-notices" };
    expect((await diagnose()).find("notices")).toBeUndefined();
    const { find, ...reached } = await diagnose(notices);
    expect(find("notices")).toMatchObject({ status: "ok" });
    expect(find("notices")!.finding).toStartWith(`127.0.0.1:${webhook.port} takes connections`);
    await webhook.stop();
    const gone = await diagnose(notices);
    expect(gone.code).toBe(0);
    expect(gone.find("notices")).toMatchObject({
      status: "warn",
      finding: `no connection to 127.0.0.1:${webhook.port} can be made (ECONNREFUSED)`,
    });
    expect(webhook.requests).toEqual([]);
    for (const secret of ["SECRET-PATH", "s3cret-of-notices"])
      expect(JSON.stringify([reached, gone])).not.toContain(secret);
  });
});

describe("what lockport doctor says", () => {
  test("names each setting with its source, and no secret's value", async () => {
    await run("admin bootstrap");
    const secrets = {
      PROXY_ADMIN_PASSWORD: "a secret password",
      PROXY_API_KEY: "lp_secret",
      PROXY_OIDC_CLIENT_SECRET: "a client secret",
    };
    const env = { ...ENV, ...secrets, PROXY_DRAIN_TIMEOUT: "5s" };
    const { settings } = await diagnose(env);
    const find = (name: string) => settings.find((setting) => setting.name === name);
    expect(find("PROXY_DRAIN_TIMEOUT")).toMatchObject({ source: "environment", value: "5s" });
    expect(find("PROXY_HOST")).toMatchObject({ source: "default", value: "127.0.0.1" });
    expect(find("PROXY_SECRET_KEY")).toMatchObject({ source: "file", value: "secret.key" });
    // No server has made the password's file yet, and none is missed.
    const unset = await diagnose();
    expect(unset.settings.find(({ name }) => name === "PROXY_ADMIN_PASSWORD")).toMatchObject({
      source: "default",
      value: null,
    });
    expect(JSON.stringify(unset.checks)).not.toContain("admin-password");
    expect(find("PROXY_API_KEY")).toMatchObject({ source: "environment", value: null });
    const key = readFileSync(join(dataDir, "secret.key"), "utf8").trim();
    for (const line of ["doctor", "doctor --json"]) {
      const { data, messages } = await run(line, { env });
      for (const secret of [...Object.values(secrets), key]) expect(data + messages).not.toContain(secret);
    }
  });

  test("of a malformed setting is that alone, and it ends with 1", async () => {
    const { code, checks } = await diagnose({ PROXY_PORT: "many" });
    expect(code).toBe(1);
    expect(checks).toHaveLength(1);
    expect(checks[0]?.finding).toContain("PROXY_PORT must be");
    expect(checks[0]?.finding).not.toContain("many");
  });

  test("is coloured on a screen only, and not where NO_COLOR is set", async () => {
    mkdirSync(dataDir, { mode: 0o700 });
    expect((await run("doctor", { env: ENV, screens: true })).data).toContain("\u001b[");
    expect((await run("doctor", { env: { ...ENV, NO_COLOR: "1" }, screens: true })).data).not.toContain(
      "\u001b[",
    );
    expect((await run("doctor", { env: ENV })).data).not.toContain("\u001b");
  });
});
