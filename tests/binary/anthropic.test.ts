import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import Anthropic, { APIError, NotFoundError, RateLimitError } from "@anthropic-ai/sdk";
import { LLMock } from "@copilotkit/aimock";
import { openCaller } from "../forward/caller.ts";
import { callApi, makeInstallation, requestLog, type Installation } from "../support/installation.ts";
import { executable } from "../support/executable.ts";
import { type RunningProcess } from "../support/process.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";

const SETUP_MS_MAX = 120_000;
const TEST_MS_MAX = 30_000;
const CREDENTIAL = "sk-ant-own-credential";
const MODEL = "claude-mock-1";

// Pinned, so that two answers to one request are the same bytes.
const FIXED = { id: "msg_fixed" };
const USAGE = { input_tokens: 11, output_tokens: 7 };
const COST = (11 * 3 + 7 * 15) / 1e6;

let mock: LLMock;
let lockport: string;
let installation: Installation;
/** The relay before the mock. */
let server: RunningProcess;
/** A scripted upstream, since the mock serves no counting, and a relay before it. */
let upstream: ScriptedUpstream;
let scripted: {
  readonly server: RunningProcess;
  readonly installation: Installation;
  readonly token: string;
};
let token: string;

beforeAll(async () => {
  // It refuses any other credential.
  mock = new LLMock({ port: 0, host: "127.0.0.1", auth: { apiKeys: [CREDENTIAL] } });
  mock.onMessage("greet", {
    ...FIXED,
    content: 'Grüße — 你好 \u2028 "quoted" 🎈 and some words',
    usage: USAGE,
  });
  mock.onMessage("weather", {
    ...FIXED,
    usage: USAGE,
    toolCalls: [{ id: "toolu_1", name: "weather", arguments: '{"city":"Zürich","days":3}' }],
  });
  mock.onMessage("too fast", {
    status: 429,
    error: { message: "Slow down.", type: "rate_limit_error", code: "rate_limit_exceeded" },
  });
  await mock.start();
  lockport = await executable();
  installation = await makeInstallation(lockport);
  server = await installation.start({ env: { PROXY_MESSAGES_BASE_URL: mock.url } });
  token = await makeToken(server, installation);
  upstream = await startUpstream();
  const own = await makeInstallation(lockport);
  const env = { PROXY_MESSAGES_BASE_URL: `http://127.0.0.1:${upstream.port}/` };
  const running = await own.start({ env });
  scripted = { server: running, installation: own, token: await makeToken(running, own) };
  await callApi(server.url, installation.adminKey, "POST", "/admin/v1/pricing", {
    version: "test",
    entries: [
      { model: MODEL, unit: "input_tokens", price_per_million: 3 },
      { model: MODEL, unit: "output_tokens", price_per_million: 15 },
    ],
  });
}, SETUP_MS_MAX);

afterAll(async () => {
  await installation?.remove();
  await scripted?.installation.remove();
  await mock?.stop();
  await upstream?.stop();
});

async function makeToken(running: RunningProcess, { adminKey }: Installation): Promise<string> {
  const response = await callApi(running.url, adminKey, "POST", "/my/relay-tokens", { label: "tests" });
  expect(response.status).toBe(201);
  const { token: plaintext } = JSON.parse(await response.text());
  expect(plaintext).toStartWith("lpt_");
  return plaintext;
}

interface Side {
  readonly client: Anthropic;
  readonly wire: { readonly status: number; readonly bytes: Promise<Uint8Array> }[];
}

/** The SDK as it is; its `fetch` keeps a copy of the bytes while they pass. */
function openSide(baseURL: string, defaultHeaders: Record<string, string> = {}): Side {
  const wire: { status: number; bytes: Promise<Uint8Array> }[] = [];
  const recording = async (input: string | URL | Request, init?: RequestInit) => {
    const response = await fetch(input, init);
    const [kept, passed] = response.body?.tee() ?? [null, null];
    wire.push({ status: response.status, bytes: new Response(kept).bytes() });
    return new Response(passed, { status: response.status, headers: response.headers });
  };
  const client = new Anthropic({
    baseURL,
    apiKey: CREDENTIAL,
    maxRetries: 0,
    fetch: recording,
    defaultHeaders,
  });
  return { client, wire };
}

let cases = 0;
/** The same use of the SDK, straight to the mock and through the relay. */
async function runBothWays<Result>(use: (client: Anthropic) => Promise<Result>) {
  cases += 1;
  const tag = `case:${cases}`;
  const direct = openSide(mock.url);
  const relayed = openSide(`${server.url}/transparent/messages/${token}`, { "x-proxy-tags": tag });
  const results = { direct: await use(direct.client), relayed: await use(relayed.client) };
  expect(results.relayed).toEqual(results.direct);
  expect(relayed.wire).toHaveLength(direct.wire.length);
  for (const [index, expected] of direct.wire.entries()) {
    const got = relayed.wire[index]!;
    expect(got.status).toBe(expected.status);
    expect(Buffer.from(await got.bytes).toString()).toBe(Buffer.from(await expected.bytes).toString());
  }
  return { result: results.relayed, events: await requestLog(server.url, installation.adminKey, tag) };
}

const say = (content: string) => ({
  model: MODEL,
  max_tokens: 64,
  messages: [{ role: "user" as const, content }],
});

async function collect<Item>(stream: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

describe("the official SDK through the relay gets the bytes that it gets without it", () => {
  test(
    "a message, and one event with its tokens and cost",
    async () => {
      const { result, events } = await runBothWays((client) => client.messages.create(say("greet me")));
      expect(result.usage).toMatchObject(USAGE);
      expect(events).toMatchObject([
        {
          model: MODEL,
          upstream_name: MODEL,
          provider: "transparent:messages",
          endpoint: "/v1/messages",
          outcome: "ok",
          status_code: 200,
          streamed: false,
          units: USAGE,
          cost: COST,
        },
      ]);
    },
    TEST_MS_MAX,
  );

  test(
    "a streamed message, and one event with its tokens and cost",
    async () => {
      const { result, events } = await runBothWays(async (client) =>
        collect(await client.messages.create({ ...say("greet me"), stream: true })),
      );
      expect(result.map(({ type }) => type)).toContain("message_stop");
      expect(events).toMatchObject([
        {
          outcome: "ok",
          streamed: true,
          units: USAGE,
          cost: COST,
        },
      ]);
    },
    TEST_MS_MAX,
  );

  test(
    "a streamed tool call, by the SDK's own accumulation",
    async () => {
      const { result } = await runBothWays((client) =>
        client.messages.stream({ ...say("weather please") }).finalMessage(),
      );
      expect(result.content.find(({ type }) => type === "tool_use")).toMatchObject({
        name: "weather",
        input: { city: "Zürich", days: 3 },
      });
    },
    TEST_MS_MAX,
  );

  test(
    "errors, by their own words",
    async () => {
      const { result, events } = await runBothWays((client) =>
        client.messages.create(say("too fast")).catch((error: unknown) => toError(error)),
      );
      expect(result).toMatchObject({ name: RateLimitError.name, status: 429, type: "rate_limit_error" });
      expect(events).toMatchObject([
        { outcome: "upstream_error", error_kind: "rate_limit_error", status_code: 429, cost: null },
      ]);
    },
    TEST_MS_MAX,
  );

  test(
    "an endpoint that the upstream does not have, by the upstream's own 404",
    async () => {
      const { result, events } = await runBothWays((client) =>
        client.messages.countTokens({ model: MODEL, messages: say("greet me").messages }).catch(toError),
      );
      expect(result).toMatchObject({ name: NotFoundError.name, status: 404 });
      expect(events).toMatchObject([
        { endpoint: "/v1/messages/count_tokens", outcome: "upstream_error", cost: null },
      ]);
    },
    TEST_MS_MAX,
  );

  function toError(error: unknown) {
    if (!(error instanceof APIError)) throw error;
    return { name: error.constructor.name, status: error.status, type: error.type, message: error.message };
  }
});

describe("the official SDK with a Lockport key and the origin as its base URL", () => {
  const ALIAS = "claude-here";
  const ask = (content: string) => ({ ...say(content), model: ALIAS });
  /** With a key of this server and nothing of Anthropic's. */
  const openClient = (options: ConstructorParameters<typeof Anthropic>[0] = {}) =>
    new Anthropic({ baseURL: server.url, apiKey: installation.adminKey, maxRetries: 0, ...options });
  const shown = async (asking: Promise<unknown>) => {
    const error = await asking.then(
      () => null,
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof APIError)) throw error;
    return { name: error.constructor.name, status: error.status, message: error.message };
  };

  beforeAll(async () => {
    const make = async (kind: string, body: object) => {
      const made = await callApi(server.url, installation.adminKey, "POST", `/admin/v1/${kind}`, body);
      expect(made.status).toBe(201);
    };
    await make("providers", {
      name: "claude",
      base_url: `${mock.url}/v1`,
      api_key: CREDENTIAL,
      auth_style: "x-api-key",
    });
    await make("models", {
      alias: ALIAS,
      provider: "claude",
      upstream_name: MODEL,
      capabilities: ["messages"],
    });
  }, TEST_MS_MAX);

  test.each([
    ["as a bearer", () => ({})],
    ["as x-api-key", () => ({ apiKey: null, defaultHeaders: { "x-api-key": installation.adminKey } })],
  ] as const)(
    "sent %s gets a message, a stream and a tool call, each with one priced event under the alias",
    async (way, toOptions) => {
      const tag = way.replaceAll(" ", "-");
      const headers = { "x-proxy-tags": `way:${tag}` };
      const client = openClient(toOptions());
      const message = await client.messages.create(ask("greet me"), { headers });
      expect(message.usage).toMatchObject(USAGE);
      const streamed = await client.messages.stream(ask("greet me"), { headers }).finalMessage();
      const streamedContent: unknown = streamed.content;
      expect(streamedContent).toEqual(message.content);
      const called = await client.messages.stream(ask("weather please"), { headers }).finalMessage();
      expect(called.content.find(({ type }) => type === "tool_use")).toMatchObject({
        name: "weather",
        input: { city: "Zürich", days: 3 },
      });
      const events = await requestLog(server.url, installation.adminKey, `way:${tag}`);
      expect(events).toHaveLength(3);
      for (const event of events) {
        expect(event).toMatchObject({
          model: ALIAS,
          upstream_name: MODEL,
          provider: "claude",
          endpoint: "messages",
          outcome: "ok",
          units: USAGE,
          cost: COST,
        });
      }
    },
    TEST_MS_MAX,
  );

  test(
    "lists its models on one page, under their aliases",
    async () => {
      const page = await openClient().models.list({ limit: 1 });
      expect(page.hasNextPage()).toBe(false);
      expect(page.data.map(({ id, type, display_name }) => [id, type, display_name])).toEqual([
        [ALIAS, "model", ALIAS],
      ]);
      expect(Number.isNaN(Date.parse(page.data[0]?.created_at ?? ""))).toBe(false);
    },
    TEST_MS_MAX,
  );

  test(
    "shows the message of each refusal, and the provider's own words for its errors",
    async () => {
      expect(await shown(openClient().messages.create(ask("too fast")))).toEqual({
        name: RateLimitError.name,
        status: 429,
        message: expect.stringContaining("Slow down."),
      });
      const unknown = await shown(openClient().messages.create({ ...ask("x"), model: "claude-her" }));
      expect(unknown).toMatchObject({ name: NotFoundError.name, status: 404 });
      expect(unknown.message).toContain("claude-here");
      const stranger = openClient({ apiKey: "sk-ant-of-a-laptop" });
      const refused = await shown(stranger.messages.create(ask("greet me")));
      expect(refused).toMatchObject({ name: "AuthenticationError", status: 401 });
      expect(refused.message).toContain("lp_");
      expect(refused.message).not.toContain("sk-ant-of-a-laptop");
    },
    TEST_MS_MAX,
  );
});

describe("the gateway contract of Claude Code", () => {
  const base = () => `${scripted.server.url}/transparent/messages/${scripted.token}`;
  const events = async () => requestLog(scripted.server.url, scripted.installation.adminKey);
  const newest = async () => (await events())[0];

  test("token counting answers the upstream's count, is metadata in the log and costs nothing", async () => {
    const client = new Anthropic({ baseURL: base(), apiKey: CREDENTIAL, maxRetries: 0 });
    const counting = client.messages.countTokens({ model: MODEL, messages: say("count").messages });
    const call = await upstream.nextCall();
    expect(call.request.target).toBe("/v1/messages/count_tokens");
    await call.reply({ body: '{"input_tokens":2095}' });
    expect(await counting).toMatchObject({ input_tokens: 2095 });
    expect(await newest()).toMatchObject({
      endpoint: "/v1/messages/count_tokens",
      model: MODEL,
      outcome: "ok",
      units: {},
      cost: null,
    });
  });

  test("a beta query, beta headers that nobody has seen, versions and credentials go upstream as they came", async () => {
    const sent = {
      "anthropic-version": "2031-01-01",
      "anthropic-beta": "never-seen-2031-01-01,context-9m-2031-02-02",
      authorization: "Bearer sk-ant-oat-own",
      "x-app": "cli",
      "user-agent": "claude-cli/9.9.9 (external, cli)",
      "x-stainless-retry-count": "0",
      "content-type": "application/json",
    };
    const body = `{"model":"${MODEL}","stream":true,"messages":[],"unknown_field":{"a":1e400}}`;
    const response = fetch(`${base()}/v1/messages?beta=true`, { method: "POST", headers: sent, body });
    const call = await upstream.nextCall();
    expect(call.request.target).toBe("/v1/messages?beta=true");
    expect(call.request.body.toString()).toBe(body);
    for (const [name, value] of Object.entries(sent)) expect(call.request.headers.get(name)).toBe(value);
    expect(call.request.head).not.toContain(scripted.token);
    await call.reply({ body: "{}" });
    expect((await response).status).toBe(200);
  });

  test("an event reaches the client before the upstream makes the next one", async () => {
    const url = new URL(base());
    const body = { model: MODEL, stream: true, messages: [] };
    const caller = await openCaller({ port: Number(url.port), path: `${url.pathname}/v1/messages`, body });
    const call = await upstream.nextCall();
    await call.beginStream();
    for (const type of ["message_start", "ping", "content_block_delta", "message_delta", "message_stop"]) {
      await call.sendChunk(`event: ${type}\ndata: {"type":"${type}"}\n\n`);
      await caller.waitFor(`"${type}"`);
    }
    await call.endStream();
    await caller.waitFor("\r\n0\r\n");
    expect(await newest()).toMatchObject({ outcome: "ok", streamed: true });
    caller.hangUp();
  });

  test("errors keep their status, wording, request id and retry-after", async () => {
    const body =
      '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 200001 tokens > 200000 maximum"}}';
    const response = fetch(`${base()}/v1/messages`, { method: "POST", body: "{}" });
    const call = await upstream.nextCall();
    await call.reply({
      status: 400,
      headers: [
        "content-type: application/json",
        "request-id: req_9",
        "retry-after: 7",
        "anthropic-ratelimit-requests-remaining: 0",
      ],
      body,
    });
    const { status, headers } = await response;
    expect(status).toBe(400);
    expect(await (await response).text()).toBe(body);
    expect(headers.get("request-id")).toBe("req_9");
    expect(headers.get("retry-after")).toBe("7");
    expect(headers.get("anthropic-ratelimit-requests-remaining")).toBe("0");
    expect(headers.get("x-proxy-error-source")).toBe("upstream");
    expect(await newest()).toMatchObject({ outcome: "upstream_error", error_kind: "invalid_request_error" });
  });

  test("models are listed by the upstream; a probe by HEAD is relayed and leaves no event", async () => {
    const listing = fetch(`${base()}/v1/models?limit=1000`);
    const list = await upstream.nextCall();
    expect(list.request.target).toBe("/v1/models?limit=1000");
    await list.reply({ body: '{"data":[{"id":"claude-any","type":"model"}]}' });
    expect(await (await listing).json()).toEqual({ data: [{ id: "claude-any", type: "model" }] });
    const count = (await events()).length;
    const probing = fetch(`${base()}/v1/messages`, { method: "HEAD" });
    const probe = await upstream.nextCall();
    expect(probe.request.method).toBe("HEAD");
    await probe.send("HTTP/1.1 405 No\r\ncontent-length: 12\r\n\r\n");
    expect((await probing).status).toBe(405);
    expect(await events()).toHaveLength(count);
    // A probe of the base URL alone is answered here.
    expect((await fetch(base(), { method: "HEAD" })).status).toBe(404);
  });
});

describe("the relay's token", () => {
  test("fails on the very next request of an open connection once it is deleted, and is kept nowhere", async () => {
    const { server: running, installation: own } = scripted;
    const short = await makeToken(running, own);
    const url = `${running.url}/transparent/messages/${short}/v1/models`;
    const headers = { authorization: "Bearer sk-ant-oat-own", "anthropic-beta": "never-seen-2031-01-01" };
    const first = fetch(url, { headers });
    const call = await upstream.nextCall();
    for (const [name, value] of Object.entries(headers)) expect(call.request.headers.get(name)).toBe(value);
    await call.reply({ body: "{}" });
    expect((await first).status).toBe(200);
    const { relay_tokens: tokens } = JSON.parse(
      await (await callApi(running.url, own.adminKey, "GET", "/my/relay-tokens")).text(),
    );
    const { id } = tokens.find((view: { token_suffix: string }) => short.endsWith(view.token_suffix));
    expect((await callApi(running.url, own.adminKey, "DELETE", `/my/relay-tokens/${id}`)).status).toBe(200);
    const refused = await fetch(url);
    expect(refused.status).toBe(404);
    const text = await refused.text();
    expect(text).toContain("unknown_relay_token");
    expect(text).not.toContain(short);

    const metrics = await (await fetch(`${running.url}/metrics`)).text();
    expect(metrics).toContain('provider="transparent:messages"');
    const files = new Bun.Glob("**/*").scan({ cwd: own.dataDir, dot: true });
    for await (const file of files) {
      const bytes = Buffer.from(await Bun.file(`${own.dataDir}/${file}`).bytes());
      for (const secret of [short, scripted.token, "sk-ant-oat-own", "never-seen-2031"])
        expect({ file, holds: bytes.includes(secret) }).toEqual({ file, holds: false });
    }
    for (const secret of [short, scripted.token, "sk-ant-oat-own"]) {
      expect(metrics).not.toContain(secret);
      expect(running.output()).not.toContain(secret);
    }
  });

  test(
    "with the relay off it is transparent_relay_disabled",
    async () => {
      const own = await makeInstallation(lockport);
      const plain = await own.start();
      const response = await fetch(`${plain.url}/transparent/messages/${token}/v1/models`);
      expect(response.status).toBe(404);
      expect(await response.text()).toContain("transparent_relay_disabled");
      await own.remove();
    },
    TEST_MS_MAX,
  );
});
