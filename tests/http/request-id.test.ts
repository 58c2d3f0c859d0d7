import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createSystemClock } from "#kernel/clock.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { provide } from "../support/installation.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";

const HEADER = "x-proxy-request-id";
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8000-[0-9a-f]{12}$/;
const FOREIGN = "x-proxy-request-id: of-the-upstream";
const COMMIT_MS_MAX = 10_000;
const BODY = JSON.stringify({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } });

let upstream: ScriptedUpstream;
let app: TestApp;
let relayToken: string;

beforeAll(async () => {
  upstream = await startUpstream({
    async script(call) {
      const { body } = call.request;
      if (body.includes('"fails"')) await call.reply({ status: 429, headers: [FOREIGN], body: "{}" });
      else if (body.includes('"silent"')) call.reset();
      else if (body.includes('"stream":true')) {
        await call.beginStream([FOREIGN]);
        await call.sendChunk(`data: ${BODY}\n\ndata: [DONE]\n\n`);
        await call.endStream();
      } else await call.reply({ headers: [FOREIGN], body: BODY });
    },
  });
  app = await startApp({ messagesBaseUrl: upstream.baseUrl.replace(/\/v1$/, "") });
  await provide(app.url, app.adminKey, {
    name: "up",
    baseUrl: upstream.baseUrl,
    models: { m: "real", fails: "fails", silent: "silent" },
  });
  relayToken = JSON.parse(await (await app.api("POST", "/my/relay-tokens", {})).text()).token;
});
afterAll(async () => {
  await app?.stop();
  await upstream?.stop();
});

/** Ids of the request log, the newest first. */
async function readIds(): Promise<readonly string[]> {
  const log = JSON.parse(await (await app.api("GET", "/admin/v1/requests?limit=500")).text());
  return log.requests.map(({ id }: { id: string }) => id);
}

async function idOf(asked: Promise<Response>): Promise<string | null> {
  const response = await asked;
  await response.text().catch(() => "");
  return response.headers.get(HEADER);
}

const chat = (more: object, path = "/v1/chat/completions") =>
  app.api("POST", path, { model: "m", messages: [], ...more });
const relayed = (method: string, path: string, body?: unknown) =>
  app.api(method, `/transparent/messages/${relayToken}${path}`, body, {});

describe("an answer whose request has a usage event", () => {
  test.each([
    ["of one piece", () => chat({})],
    ["under a root alias", () => chat({}, "/chat/completions")],
    ["that is streamed", () => chat({ stream: true })],
    ["with the upstream's error", () => chat({ model: "fails" })],
    ["in place of an upstream that gave none (502)", () => chat({ model: "silent" })],
    ["of the relay", () => relayed("POST", "/v1/messages", { model: "claude" })],
    ["of the relay that is streamed", () => relayed("POST", "/v1/messages", { model: "c", stream: true })],
    ["of the relay to a GET", () => relayed("GET", "/v1/models")],
  ])("%s names it by its id, and not by the upstream's", async (_, ask) => {
    const id = await idOf(ask());
    expect(id).toMatch(UUID);
    // A report waits half a second for what was recorded, which a loaded machine may not commit by then.
    let ids = await readIds();
    const endMs = performance.now() + COMMIT_MS_MAX;
    while (!ids.includes(id ?? "") && performance.now() < endMs) ids = await readIds();
    expect(ids[0]).toBe(id ?? "");
  });

  test("that arrives in the same microsecond as others names its own event, and none of theirs", async () => {
    const clock = createSystemClock();
    const now = clock.nowUs();
    const still = await startApp({}, { clock: { nowUs: () => now, monotonicMs: () => clock.monotonicMs() } });
    await provide(still.url, still.adminKey, { name: "up", baseUrl: upstream.baseUrl, models: { m: "m" } });
    const asked = Array.from({ length: 20 }, (_, number) =>
      idOf(
        still.api(
          "POST",
          "/v1/chat/completions",
          { model: "m" },
          {
            authorization: `Bearer ${still.adminKey}`,
            "user-agent": `caller/${number}`,
          },
        ),
      ),
    );
    const ids = await Promise.all(asked);
    const log = JSON.parse(await (await still.api("GET", "/admin/v1/requests?limit=500")).text());
    const clientsById = new Map(log.requests.map(({ id, client }: any) => [id, client]));
    expect(ids.map((id) => clientsById.get(id))).toEqual(ids.map((_id, number) => `caller/${number}`));
    await still.stop();
  });
});

describe("an answer whose request has no usage event", () => {
  const bad = { authorization: "Bearer lp_wrong" };
  test.each([
    [401, "POST", "/v1/chat/completions", () => app.api("POST", "/v1/chat/completions", {}, {})],
    [404, "POST", "/v1/chat/completions", () => chat({ model: "absent" })],
    [413, "POST", "/v1/embeddings", () => app.api("POST", "/v1/embeddings", "x".repeat(65 * 1024 * 1024))],
    [404, "GET", "/v1/responses", () => app.api("GET", "/v1/responses")],
    [200, "GET", "/v1/models", () => app.api("GET", "/v1/models", undefined, {})],
    [200, "GET", "/models", () => app.api("GET", "/models", undefined, {})],
    [
      401,
      "GET",
      "/v1/models?include_hidden=1",
      () => app.api("GET", "/v1/models?include_hidden=1", undefined, bad),
    ],
    [
      404,
      "GET",
      "/transparent/messages/x/v1",
      () => app.api("GET", "/transparent/messages/x/v1", undefined, {}),
    ],
    [200, "OPTIONS", "the relay", () => relayed("OPTIONS", "/v1/messages")],
    [401, "GET", "/admin/v1/models", () => app.api("GET", "/admin/v1/models", undefined, bad)],
    [400, "POST", "/admin/v1/models", () => app.api("POST", "/admin/v1/models", { unknown: 1 })],
    [404, "DELETE", "/my/keys/none", () => app.api("DELETE", "/my/keys/none")],
    [404, "GET", "/auth/login", () => app.api("GET", "/auth/login")],
    [403, "GET", "/healthz", () => app.api("GET", "/stats/series", undefined, { host: "rebound.example" })],
    [404, "GET", "/assets/gone.js", () => app.api("GET", "/assets/gone.js")],
  ])("%d to %s %s carries an id that no event has", async (status, _method, _path, ask) => {
    const response = await ask();
    expect(response.status).toBe(status);
    const id = response.headers.get(HEADER);
    expect(id).toMatch(UUID);
    expect(await readIds()).not.toContain(id ?? "");
    const text = await response.text();
    if (status >= 400 && text.startsWith("{"))
      expect(JSON.parse(text).proxy).toEqual({ source: "proxy", request_id: id });
    else expect(text).not.toContain(id ?? "");
  });

  const noSession = { cookie: "proxy_session=none" };
  // [what, its path, whose clients read it]
  test.each([
    ["of chat", "POST", "/v1/chat/completions", {}, "completions"],
    ["of a path under /v1 that is not served", "GET", "/v1/responses", undefined, "completions"],
    ["of the list of models", "GET", "/v1/models?endpoint=x", undefined, "completions"],
    ["of the relay", "POST", "/transparent/messages/x/v1/messages", {}, "messages"],
    [
      "of the messages API where the relay's part of the base URL is missing",
      "POST",
      "/v1/messages",
      {},
      "messages",
    ],
    ["of the messages API at the root", "POST", "/messages", {}, "messages"],
    ["of the messages API below its path", "POST", "/v1/messages/count_tokens", {}, "messages"],
    ["of the interface", "GET", "/my/keys", undefined, "interface"],
    ["of a sign-in", "GET", "/auth/login", undefined, "interface"],
  ])("a refusal %s says its id where its clients look", async (_, method, path, body, dialect) => {
    const response = await app.api(method, path, body, noSession);
    const id = response.headers.get(HEADER);
    const { type, error, proxy } = JSON.parse(await response.text());
    expect(proxy).toEqual({ source: "proxy", request_id: id });
    // A client of the messages API shows a message of nothing else.
    expect(type).toBe(dialect === "messages" ? "error" : undefined);
    if (dialect === "interface") expect(error.message).not.toContain(id ?? "");
    else expect(error.message).toEndWith(`. (request ${id})`);
    expect(error.type).toBe("proxy_error");
  });

  test("a refusal in place of an upstream's answer says the id of its event", async () => {
    for (const [ask, type] of [
      [() => chat({ model: "silent" }), undefined],
      [() => relayed("POST", "/v1/messages", { model: "silent", text: '"silent"' }), "error"],
    ] as const) {
      const response = await ask();
      const envelope = JSON.parse(await response.text());
      const id = response.headers.get(HEADER);
      expect([response.status, envelope.type]).toEqual([502, type]);
      expect(envelope.error.message).toEndWith(` (request ${id})`);
      expect(envelope.proxy).toEqual({ source: "proxy", request_id: id });
    }
  });

  test("outside of the data plane, and that is no error, carries none", async () => {
    for (const path of ["/healthz", "/metrics", "/my/keys", "/auth/me", "/admin/v1/models"]) {
      const response = await app.api("GET", path);
      expect([response.status, response.headers.get(HEADER)]).toEqual([200, null]);
      await response.text();
    }
  });
});
