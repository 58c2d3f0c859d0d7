import { afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CAPABILITIES } from "#catalog/capability.ts";
import { toRow } from "#catalog/endpoint.ts";
import { BOUNDARY, CONTENT, ENDPOINTS, RESPONSE_ID, toWhole, type Endpoint } from "../faults/endpoints.ts";
import { openCaller } from "../forward/caller.ts";
import { BOUNDARY as HOSTILE_BOUNDARY, HOSTILE_FORMS } from "../forward/hostile-forms.ts";
import { isIn, readFiles } from "../invariants/planted.ts";
import {
  callApi,
  makeInstallation,
  provide,
  requestLog,
  type Installation,
} from "../support/installation.ts";
import { executable } from "../support/executable.ts";
import { type RunningProcess } from "../support/process.ts";
import { startUpstream, type ScriptedUpstream, type UpstreamCall } from "../support/upstream.ts";

const SETUP_MS_MAX = 120_000;
const TEST_MS_MAX = 90_000;

/** Secrets that must not be found, by name; in small letters, so that nothing that folds case hides it. */
const planted = new Map<string, string>();
function plant(
  what: string,
  value = `zq${Buffer.from(crypto.getRandomValues(new Uint8Array(9))).toString("hex")}qz`,
) {
  planted.set(what, value);
  return value;
}

let lockport: string;
let upstream: ScriptedUpstream;
let installation: Installation;
let server: RunningProcess;
const outputs: (() => string)[] = [];
/** Refusals of ours, with their heads. */
const refusals: string[] = [];
/** Answers of ours that are no refusals. */
const listings: string[] = [];

beforeAll(async () => {
  lockport = await executable();
}, SETUP_MS_MAX);
beforeEach(async () => {
  planted.clear();
  for (const kept of [outputs, refusals, listings]) kept.length = 0;
  upstream = await startUpstream({ script: answer });
  installation = await makeInstallation(lockport);
});
afterEach(async () => {
  await installation.remove();
  await upstream.stop();
});

describe("with PROXY_LOG=debug, after every kind of request, failure and bad input", () => {
  test(
    "no content and no secret is in any file, on stdout or stderr, in the metrics, or in an error",
    async () => {
      await start();
      await setUp();
      await useIt();
      await useEveryRow();
      await misuseIt();
      await misuseEveryRow();
      await administer();
      // A killed process leaves write-ahead logs and a journal that nothing has cleared up.
      server.signal("SIGKILL");
      await server.exited;
      const left = readDataDir();
      expect(
        [...left.keys()].filter((name) => name.endsWith("-wal") || name.endsWith(".journal")),
      ).not.toEqual([]);
      search(left);

      await start();
      await useIt();
      await useEveryRow();
      await misuseIt();
      await misuseEveryRow();
      search(readDataDir());
      expect(await server.stop()).toBe(0);
      search(readDataDir());

      expect(refusals.length).toBeGreaterThan(40);
      // An unknown model is named to its caller, and in no log and no file.
      searchTexts("an error", refusals, ["unknown model"]);
      searchTexts("an answer", listings, ["base URL"]);
      searchTexts(
        "stdout or stderr",
        outputs.map((output) => output()),
        [],
      );
    },
    TEST_MS_MAX,
  );
});

async function start(): Promise<void> {
  server = await installation.start({ env: { PROXY_LOG: "debug" } });
  const started = server;
  outputs.push(() => started.output());
}

/** A kept answer: of ours in the place where it belongs, and never looked at when it is the upstream's. */
async function keep(pending: Promise<Response>): Promise<Response> {
  const response = await pending;
  const copy = response.clone();
  const text = await copy.text().catch(() => "");
  if (
    response.headers.get("x-proxy-provider") !== null &&
    response.headers.get("x-proxy-error-source") !== "proxy"
  )
    return response;
  const head = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
  if (response.status >= 400) {
    expect(response.headers.get("x-proxy-error-source")).toBe("proxy");
    expect(JSON.parse(text)).toMatchObject({ error: { type: "proxy_error" }, proxy: { source: "proxy" } });
    refusals.push(`${head}\n${text}`);
  } else {
    listings.push(`${head}\n${text}`);
  }
  return response;
}

const admin = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  keep(callApi(server.url, installation.adminKey, method, path, body, headers));

async function setUp(): Promise<void> {
  plant("admin key", installation.adminKey);
  plant("admin password", readFileSync(join(installation.dataDir, "admin-password"), "utf8").trim());
  plant("secret key", readFileSync(join(installation.dataDir, "secret.key"), "utf8").trim());
  const baseUrl = upstream.baseUrl.replace("/v1", `/${plant("base URL")}/v1`);
  const common = { baseUrl, apiKey: plant("credential"), models: { m: "um", soon: "um" } };
  await provide(server.url, installation.adminKey, { name: "up", ...common, capabilities: CAPABILITIES });
  await provide(server.url, installation.adminKey, {
    name: "hasty",
    ...common,
    apiKey: plant("credential of the hasty one"),
    models: { hasty: "um" },
    more: { timeout_read: 0.2 },
  });
  await provide(server.url, installation.adminKey, {
    name: "refusing",
    baseUrl: `http://127.0.0.1:9/${planted.get("base URL")}/v1`,
    apiKey: plant("credential of the refusing one"),
    models: { refusing: "um" },
  });
}

/** The behavior of the upstream, by the `user` of the request. */
async function answer(call: UpstreamCall): Promise<unknown> {
  const name = call.request.headers.get("x-row");
  const row = ENDPOINTS.find((endpoint) => endpoint.name === name);
  if (row !== undefined) return answerRow(call, row);
  const { user } = JSON.parse(call.request.body.toString());
  const said = planted.get("completion") ?? plant("completion");
  const complaint = planted.get("upstream's complaint") ?? plant("upstream's complaint");
  const word = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: said } }] })}\n\n`;
  const last = 'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}\n\ndata: [DONE]\n\n';
  switch (user) {
    case "stream":
      return (await call.beginStream(), await call.sendChunk(word + word + last), call.endStream());
    case "breaks off":
      return (await call.beginStream(), await call.sendChunk(word), call.reset());
    case "error event":
      await call.beginStream();
      await call.sendChunk(`${word}data: {"error":{"type":"overloaded_error","message":"${complaint}"}}\n\n`);
      return call.endStream();
    case "stays":
      return (await call.beginStream(), await call.sendChunk(word));
    case "silent":
      return undefined;
    case "half a body":
      return call.send(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n{"a":"${said}`,
      );
    case "garbage":
      return (await call.send(`${said} is no HTTP\r\n\r\n`), call.finish());
    case "bad json":
      return call.reply({ body: `{"choices": ${said}` });
    case "redirect":
      return call.reply({ status: 307, headers: [`location: http://127.0.0.1:9/${complaint}`] });
    case "only an error":
      return call.reply({ body: `{"error":{"type":"server_error","message":"${complaint}"}}` });
    case "sentence":
      return call.reply({ status: 500, body: `{"error":"Something about ${complaint} went wrong."}` });
    case "detail":
      return call.reply({ status: 422, body: `{"detail":[{"msg":"${complaint}","input":"${said}"}]}` });
    case "html":
      return call.reply({ status: 503, headers: ["content-type: text/html"], body: `<h1>${complaint}</h1>` });
    case "error":
      return call.reply({
        status: 429,
        headers: ["content-type: application/json", `set-cookie: a=${complaint}`, `x-detail: ${complaint}`],
        body: `{"error":{"type":"rate_limit_error","param":"${complaint}","message":"${complaint}: ${said}"}}`,
      });
    default:
      return call.reply({
        headers: ["content-type: application/json", `x-proxy-note: ${complaint}`],
        body: JSON.stringify({
          choices: [
            { index: 0, message: { role: "assistant", content: said, tool_calls: [{ arguments: said }] } },
          ],
          usage: { prompt_tokens: 5, completion_tokens: 2, note: said },
        }),
      });
  }
}

/** A row of the table of endpoints is answered with planted content, too. */
async function answerRow(call: UpstreamCall, { parts }: Endpoint): Promise<unknown> {
  const complaint = planted.get("upstream's complaint") ?? plant("upstream's complaint");
  const headers = [`content-type: ${parts.type}`, `x-proxy-note: ${complaint}`];
  switch (call.request.headers.get("x-way")) {
    case "breaks off":
      await call.beginStream(headers);
      await call.sendChunk(parts.open + parts.content);
      return call.reset();
    case "ends badly":
      await call.beginStream(headers);
      await call.sendChunk(
        `${parts.open}${parts.content}\n\ndata: {"type":"error","message":"${complaint}"}\n\n`,
      );
      return call.endStream();
    case "refuses":
      return call.reply({
        status: 422,
        body: `{"error":{"type":"invalid","param":"${complaint}","message":"${CONTENT}"}}`,
      });
    default:
      return call.reply({ headers, body: toWhole(parts) });
  }
}

const WAYS = ["answers", "breaks off", "ends badly", "refuses"] as const;
const ROWS = ENDPOINTS.filter(({ row, isById }) => row !== "relay" && isById !== true);

function askRow(endpoint: Endpoint, way: string) {
  const said = (what: string) => planted.get(what) ?? plant(what);
  const headers = {
    "x-row": endpoint.name,
    "x-way": way,
    "x-proxy-tags": "app:secrecy,of:rows",
    "x-note": prompt(),
  };
  const key = installation.adminKey;
  const asked = { key, relayToken: "", content: prompt(), fileName: said("file name"), headers };
  const { path, body, headers: sent } = endpoint.ask("m", asked);
  return keep(callApi(server.url, key, "POST", path, body, { ...sent }));
}

/** Every row of the table of endpoints that takes a body, whole and streamed, however its upstream answers. */
async function useEveryRow(): Promise<void> {
  plant("answer of a row", CONTENT);
  plant("id of a response", RESPONSE_ID);
  for (const endpoint of ROWS) {
    for (const way of WAYS) await askRow(endpoint, way).catch(() => undefined);
  }
  const log = await requestLog(server.url, installation.adminKey, "of:rows");
  expect(log.length).toBeGreaterThanOrEqual(ROWS.length * WAYS.length);
  expect(new Set(log.map(({ endpoint }) => endpoint))).toEqual(new Set(ROWS.map(({ row }) => row)));
}

/** Bodies that no row takes, and forms that parsers read in two ways. */
async function misuseEveryRow(): Promise<void> {
  const bad = planted.get("bad body") ?? plant("bad body");
  for (const { row } of ROWS) {
    if (row === "relay") continue;
    const { path, body } = toRow(row);
    const toPart = (name: string, text: string) =>
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"; filename="${bad}"\r\n\r\n${text}\r\n`;
    const texts = [`{"model":"m","input":"${bad}`, `["${bad}"]`, bad, toPart("model", bad), toPart(bad, "m")];
    for (const text of texts) {
      for (const type of ["application/json", `multipart/form-data; boundary=${BOUNDARY}`]) {
        const refused = await admin("POST", `/v1${path}?note=x`, text, { "content-type": type });
        expect({ row, text, status: refused.status }).toEqual({ row, text, status: 400 });
      }
    }
    if (body !== "form") continue;
    for (const { contentType, body: form } of HOSTILE_FORMS) {
      const type = contentType ?? `multipart/form-data; boundary=${HOSTILE_BOUNDARY}`;
      const text = form.replaceAll(/dear|bytes|a\.mp3/g, bad);
      const refused = await admin("POST", `/v1${path}`, text, { "content-type": type });
      expect(refused.status).toBe(400);
    }
  }
}

const prompt = () => planted.get("prompt") ?? plant("prompt");
const toBody = (user: string, more: object = {}) => ({
  model: "m",
  user,
  messages: [
    {
      role: "user",
      content: [
        { type: "text", text: prompt() },
        { type: "image_url", image_url: { url: prompt() } },
      ],
    },
  ],
  tools: [{ type: "function", function: { name: prompt() } }],
  metadata: { note: prompt() },
  ...more,
});
const ask = (user: string, more: object = {}, path = "/v1/chat/completions") =>
  admin("POST", path, toBody(user, more), { "x-proxy-tags": "app:secrecy", "x-note": prompt() });

/** Honest requests, whose upstreams are not all as honest, and callers who leave. */
async function useIt(): Promise<void> {
  for (const user of [
    "unary",
    "bad json",
    "redirect",
    "only an error",
    "sentence",
    "detail",
    "html",
    "error",
    "garbage",
  ]) {
    await ask(user);
    await ask(user, { stream: true });
  }
  await ask("unary", { prompt: prompt() }, "/v1/completions?note=x");
  await ask("unary", { input: [prompt(), prompt()] }, "/embeddings");
  for (const user of ["stream", "error event", "breaks off"])
    await ask(user, { stream: true }).catch(() => undefined);
  for (const more of [{}, { stream: true }]) await ask("half a body", { ...more, model: "hasty" });
  await ask("silent", { model: "hasty" });
  await ask("stays", { model: "hasty", stream: true }).catch(() => undefined);
  await ask("unary", { model: "refusing" });
  for (const [user, stream] of [
    ["silent", false],
    ["silent", true],
    ["half a body", false],
    ["stays", true],
  ] as const)
    await leave(user, stream);
  const log = await requestLog(server.url, installation.adminKey, "app:secrecy");
  expect(new Set(log.map(({ outcome }) => outcome))).toEqual(
    new Set(["ok", "upstream_error", "unreachable", "cancelled"]),
  );
}

/** A caller that hangs up once its request is upstream, and with the first bytes of a stream in hand. */
async function leave(user: string, stream: boolean): Promise<void> {
  const before = upstream.requests.length;
  const caller = await openCaller({
    port: Number(new URL(server.url).port),
    path: "/v1/chat/completions",
    body: toBody(user, { stream }),
    headers: [`authorization: Bearer ${installation.adminKey}`, "x-proxy-tags: app:secrecy, way:left"],
  });
  if (user === "stays") await caller.waitFor(planted.get("completion") ?? "");
  while (upstream.requests.length === before) await turn();
  const logged = (await requestLog(server.url, installation.adminKey, "way:left")).length;
  caller.hangUp();
  while ((await requestLog(server.url, installation.adminKey, "way:left")).length === logged) await turn();
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 5));

/** Bodies, heads and paths that are refused. */
async function misuseIt(): Promise<void> {
  const bad = planted.get("bad body") ?? plant("bad body");
  const badModel = planted.get("unknown model") ?? plant("unknown model");
  const chat = "/v1/chat/completions";
  for (const body of [
    `{"model":"m","messages":"${bad}`,
    `"${bad}"`,
    `["${bad}"]`,
    `{"messages":"${bad}"}`,
    `{"model":["${bad}"]}`,
    `{"model":"${badModel}","messages":[]}`,
    `\u{feff}{"model":"m","a":"${bad}"}`,
    bad,
  ]) {
    expect((await admin("POST", chat, body)).status).toBeOneOf([400, 404]);
    expect((await admin("POST", "/auth/password", body)).status).toBeOneOf([400, 401]);
    expect((await admin("POST", "/admin/v1/providers", body)).status).toBe(400);
    expect((await admin("POST", "/admin/v1/models", body)).status).toBeOneOf([400, 404]);
    expect((await admin("PATCH", "/admin/v1/providers/up", body)).status).toBeOneOf([400, 404]);
  }
  expect((await admin("POST", `${chat}?key=${bad}`, { model: badModel, messages: bad })).status).toBe(404);
  expect((await admin("GET", `/v1/${bad}`)).status).toBe(404);
  expect((await admin("GET", `/admin/v1/providers/${bad}`)).status).toBe(404);
  expect((await admin("DELETE", `/admin/v1/keys/${bad}`)).status).toBe(404);
  expect((await admin("GET", `/admin/v1/requests?since=${bad}`)).status).toBe(400);
  expect((await admin("GET", `/admin/v1/requests?outcome=${bad}`)).status).toBe(400);
  expect((await admin("GET", `/v1/models?endpoint=${bad}`)).status).toBe(400);
  const key = planted.get("unknown key") ?? plant("unknown key", `lp_${plant("unknown key's rest")}`);
  const knock = (headers: Record<string, string>) =>
    keep(fetch(server.url + chat, { method: "POST", body: JSON.stringify(toBody("unary")), headers }));
  expect((await knock({ authorization: `Bearer ${key}` })).status).toBe(401);
  expect((await knock({ "x-api-key": key })).status).toBe(401);
  expect((await knock({ authorization: `Basic ${key}` })).status).toBe(401);
  expect((await knock({ cookie: `proxy_session=${key}` })).status).toBe(401);
  expect((await knock({})).status).toBe(401);
  // One that was put into another setting stays here: search() looks through the files, this through what went upstream.
  const { adminKey } = installation;
  const inBasic = `Basic ${btoa(`ada:${adminKey}`)}`;
  const settings = {
    "api-key": adminKey,
    "user-agent": adminKey,
    "x-any": inBasic,
    baggage: `a=${adminKey}`,
  };
  expect((await admin("POST", chat, toBody("unary"), settings)).status).toBe(200);
  expect(isIn(Buffer.from(upstream.lastRequest().head), adminKey)).toBe(false);
}

/** Sign-in, keys, credentials and settings: done, and refused. */
async function administer(): Promise<void> {
  const signIn = (password: string, headers = {}) => admin("POST", "/auth/password", { password }, headers);
  expect((await signIn(plant("wrong password"))).status).toBe(401);
  const foreign = { origin: `http://${plant("foreign origin")}.test` };
  expect((await signIn(planted.get("admin password") ?? "", foreign)).status).toBe(403);
  const password = planted.get("admin password") ?? "";
  const signedIn = await callApi(server.url, "", "POST", "/auth/password", JSON.stringify({ password }));
  const cookie = /proxy_session=([^;]+)/.exec(signedIn.headers.get("set-cookie") ?? "")?.[1] ?? "";
  expect(cookie.length).toBeGreaterThan(40);
  plant("session cookie", cookie);
  for (const [index, part] of cookie.split(".").entries()) {
    if (part.length >= 16) plant(`part ${index} of the session cookie`, part);
  }
  const bySession = { cookie: `proxy_session=${cookie}`, "content-type": "application/json" };
  expect((await keep(fetch(`${server.url}/admin/v1/keys`, { headers: bySession }))).status).toBe(200);
  expect(
    (
      await keep(
        fetch(`${server.url}/my/keys`, { method: "POST", body: "{}", headers: { ...bySession, ...foreign } }),
      )
    ).status,
  ).toBe(403);

  // Each of these two is revealed once, and that answer is not kept.
  for (const path of ["/my/keys", "/admin/v1/keys"]) {
    const made = await callApi(server.url, installation.adminKey, "POST", path, {
      principal: "admin",
      label: "a key",
    });
    const { id, key } = JSON.parse(await made.text());
    plant(`key of ${path}`, key);
    expect((await keep(callApi(server.url, key, "GET", "/my/keys"))).status).toBe(200);
    expect((await admin("DELETE", `/admin/v1/keys/${id}`)).status).toBe(200);
    expect((await keep(callApi(server.url, key, "GET", "/my/keys"))).status).toBe(401);
  }

  const create = (more: object) =>
    admin("POST", "/admin/v1/providers", { name: "other", base_url: "http://127.0.0.1:9/v1", ...more });
  expect((await create({ name: "up", api_key: plant("credential of a double") })).status).toBe(409);
  expect((await create({ api_key: `a\n${plant("credential in two lines")}` })).status).toBe(400);
  expect((await create({ base_url: `http://u:${plant("password in a URL")}@127.0.0.1/v1` })).status).toBe(
    400,
  );
  expect((await create({ base_url: `http://127.0.0.1/v1?k=${plant("query of a URL")}` })).status).toBe(400);
  expect((await create({ base_url: plant("no URL") })).status).toBe(400);
  expect((await create({ ca_pem: plant("no PEM") })).status).toBe(400);
  expect((await create({ timeout_read: plant("no number") })).status).toBe(400);
  expect((await create({ no_such_field: plant("value of an unknown field") })).status).toBe(400);
  expect((await create({ endpoints: { chat: `file:///${plant("override")}` } })).status).toBe(400);
  const model = (more: object) => admin("POST", "/admin/v1/models", { alias: "x", ...more });
  expect((await model({ provider: plant("unknown provider"), upstream_name: "um" })).status).toBe(404);
  expect((await model({ target: plant("unknown target") })).status).toBe(400);
  expect(
    (await model({ provider: "up", upstream_name: "um", capabilities: [plant("no capability")] })).status,
  ).toBe(400);

  const patch = (body: object) => admin("PATCH", "/admin/v1/providers/up", body);
  expect((await patch({ api_key: plant("second credential") })).status).toBe(200);
  await ask("unary");
  expect(upstream.lastRequest().headers.get("authorization")).toBe(
    `Bearer ${planted.get("second credential")}`,
  );
  expect((await patch({ remove_credential: true })).status).toBe(200);

  for (const path of [
    "providers",
    "providers/up",
    "models",
    "keys",
    "principals",
    "events",
    "requests",
    "resolve?model=m",
  ])
    expect((await admin("GET", `/admin/v1/${path}`)).status).toBe(200);
  for (const path of ["/healthz", "/auth/me", "/v1/models", "/my/keys", "/"])
    expect((await admin("GET", path)).status).toBe(200);
  const metrics = await fetch(`${server.url}/metrics`);
  refusals.push(await metrics.text());
}

const readDataDir = () => readFiles(installation.dataDir);

/** Where a secret may be nevertheless. */
const PLACES: Record<string, RegExp> = {
  "admin password": /^admin-password$/,
  "secret key": /^secret\.key$/,
  "base URL": /^catalog\.db(-wal)?$/,
};

function search(files: ReadonlyMap<string, Buffer>): void {
  const found: string[] = [];
  for (const [name, bytes] of files) {
    for (const [what, value] of planted) {
      if (isIn(bytes, value) && PLACES[what]?.test(name) !== true) found.push(`${what} in ${name}`);
    }
  }
  expect(found).toEqual([]);
  // The search finds what is there.
  const journalled = [...files].filter(([name]) => /^(usage\.db|journal\/)/.test(name));
  expect(journalled.some(([, bytes]) => isIn(bytes, "app:secrecy"))).toBe(true);
  expect(isIn(files.get("admin-password") ?? Buffer.alloc(0), planted.get("admin password") ?? "")).toBe(
    true,
  );
}

function searchTexts(where: string, texts: readonly string[], allowed: readonly string[]): void {
  const found = new Set<string>();
  for (const text of texts) {
    const bytes = Buffer.from(text);
    for (const [what, value] of planted) {
      if (!allowed.includes(what) && isIn(bytes, value))
        found.add(`${what} in ${where}: ${text.slice(0, 400)}`);
    }
  }
  expect([...found]).toEqual([]);
}
