import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { startApp, type TestApp } from "../support/app.ts";
import { type ScriptedResponse, startUpstream, type ScriptedUpstream } from "../support/upstream.ts";
import { until } from "../support/waiting.ts";

const CREDENTIAL = "sk-ant-providers-own";
const SENT = {
  "anthropic-version": "2031-01-01",
  "anthropic-beta": "never-seen-2031-01-01,context-9m-2031-02-02",
  "content-type": "application/json",
};
const toBody = (model: string, rest = "") =>
  `{"max_tokens": 64, "model":"${model}",${rest}"messages":[{"role":"user","content":"x"}],"unknown":{"a":1e400}}`;
const readStream = (name: string) => Bun.file(`${import.meta.dir}/../fixtures/messages/${name}.sse`).text();

let upstream: ScriptedUpstream;
let reply: ScriptedResponse;
let app: TestApp;
beforeEach(async () => {
  reply = { body: "{}" };
  upstream = await startUpstream({ script: (call) => call.reply(reply) });
  app = await startApp({ maxBodyBytes: 1000 });
  await make("providers", {
    name: "claude",
    base_url: upstream.baseUrl,
    api_key: CREDENTIAL,
    auth_style: "x-api-key",
  });
  const price = { input_tokens: 3, output_tokens: 15, cached_input_tokens: 0.3, cache_write_tokens: 3.75 };
  await make("models", {
    alias: "sonnet",
    provider: "claude",
    upstream_name: "claude-sonnet-x",
    capabilities: ["messages"],
    pricing: price,
  });
});
afterEach(async () => {
  await app.stop();
  await upstream.stop();
});

async function make(kind: string, body: object): Promise<void> {
  expect((await app.api("POST", `/admin/v1/${kind}`, body)).status).toBe(201);
}

/** The newest first. */
async function listEvents(count: number): Promise<any[]> {
  let requests: any[] = [];
  await until(
    async () => {
      ({ requests } = (await (await app.api("GET", "/stats/requests")).json()) as any);
      return requests.length >= count;
    },
    () => `${requests.length} of ${count} events`,
  );
  return requests;
}

const bearer = () => ({ authorization: `Bearer ${app.adminKey}` });
const apiKey = () => ({ "x-api-key": app.adminKey });
const ask = (path: string, body: string, headers: Record<string, string> = bearer()) =>
  app.api("POST", path, body, { ...SENT, ...headers });

describe("a messages client with a Lockport key, before a provider that takes x-api-key", () => {
  const MESSAGE = {
    type: "message",
    content: [{ type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Zürich" } }],
    stop_reason: "tool_use",
    usage: { input_tokens: 11, output_tokens: 7, cache_read_input_tokens: 8, cache_creation_input_tokens: 5 },
  };
  const WITH_CACHES = { input_tokens: 11, output_tokens: 7, cached_input_tokens: 8 };
  const COST = (11 * 3 + 7 * 15 + 8 * 0.3 + 5 * 3.75) / 1e6;
  const STREAM_COST = (11 * 3 + 2 * 15 + 8 * 0.3 + 5 * 3.75) / 1e6;
  const EVENTS = ["content-type: text/event-stream; charset=utf-8"];
  const OVERLOADED = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}';

  const CASES: readonly {
    readonly what: string;
    readonly path?: string;
    readonly rest?: string;
    readonly answer: () => Promise<ScriptedResponse> | ScriptedResponse;
    readonly event: object;
  }[] = [
    {
      what: "a message with a tool call",
      answer: () => ({ body: JSON.stringify(MESSAGE) }),
      event: { endpoint: "messages", outcome: "ok", streamed: false, units: WITH_CACHES, cost: COST },
    },
    {
      what: "a stream",
      rest: '"stream": true,"stream_options":{"a":1},',
      answer: async () => ({ headers: EVENTS, body: await readStream("plain") }),
      event: { endpoint: "messages", outcome: "ok", streamed: true, cost: STREAM_COST },
    },
    {
      what: "a streamed tool call",
      rest: '"stream":true,',
      answer: async () => ({ headers: EVENTS, body: await readStream("tool-use-with-partial-json") }),
      event: { endpoint: "messages", outcome: "ok", streamed: true, cost: STREAM_COST },
    },
    {
      what: "a count of tokens",
      path: "/messages/count_tokens",
      answer: () => ({ body: '{"input_tokens":2095}' }),
      event: { endpoint: "messages/count_tokens", outcome: "ok", units: {}, cost: null },
    },
    {
      what: "an error of the provider",
      answer: () => ({ status: 529, body: OVERLOADED }),
      event: { outcome: "upstream_error", error_kind: "overloaded_error", status_code: 529, cost: null },
    },
    {
      what: "an error within a stream",
      rest: '"stream":true,',
      answer: async () => ({ headers: EVENTS, body: await readStream("error-after-start") }),
      event: { outcome: "upstream_error", error_kind: "overloaded_error", streamed: true },
    },
  ];

  test.each(CASES)(
    "gets $what byte for byte, by either header and path, and leaves one event",
    async ({ path = "/messages", rest, answer, event }) => {
      reply = await answer();
      const { status = 200, body } = reply;
      const askings = [
        [`/v1${path}`, bearer()],
        [path, apiKey()],
        [`/v1${path}?beta=true`, { ...apiKey(), "x-proxy-tags": "app:editor" }],
      ] as const;
      for (const [asked, headers] of askings) {
        const response = await ask(asked, toBody("sonnet", rest), headers);
        expect([response.status, await response.text()]).toEqual([status, String(body)]);
        const { target, head, headers: sent, body: got } = upstream.lastRequest();
        expect(target).toBe(`/v1${path}${asked.includes("?") ? "?beta=true" : ""}`);
        expect(got.toString()).toBe(toBody("claude-sonnet-x", rest));
        for (const [name, value] of Object.entries(SENT)) expect(sent.get(name)).toBe(value);
        expect([sent.get("x-api-key"), sent.has("authorization")]).toEqual([CREDENTIAL, false]);
        expect(head).not.toContain("lp_");
      }
      const events = await listEvents(askings.length);
      expect(events).toHaveLength(askings.length);
      for (const each of events)
        expect(each).toMatchObject({ model: "sonnet", upstream_name: "claude-sonnet-x", ...event });
      expect(events.map(({ tags }) => tags)).toEqual([["app:editor"], [], []]);
    },
  );

  test("is known by its bearer where it sends another credential beside it, and never by x-api-key then", async () => {
    const mixed = { "x-api-key": CREDENTIAL, ...bearer() };
    expect((await ask("/v1/messages", toBody("sonnet"), mixed)).status).toBe(200);
    const foreign = { ...apiKey(), authorization: "Bearer sk-ant-oat-of-the-laptop" };
    expect((await ask("/v1/messages", toBody("sonnet"), foreign)).status).toBe(401);
    expect(upstream.requests).toHaveLength(1);
  });
});

describe("a refusal of a messages path has type: error as its first member, which Anthropic's clients look for", () => {
  interface Refusal {
    readonly what: string;
    readonly path?: string;
    readonly body?: string;
    readonly headers?: Record<string, string>;
    readonly before?: () => Promise<unknown>;
    readonly status: number;
    readonly code: string;
  }
  const REFUSALS: readonly Refusal[] = [
    { what: "no key", headers: {}, status: 401, code: "missing_api_key" },
    { what: "a wrong key", headers: { "x-api-key": "sk-ant-x" }, status: 401, code: "invalid_api_key" },
    { what: "no JSON", body: "{", status: 400, code: "invalid_json" },
    { what: "no model", body: "{}", status: 400, code: "model_required" },
    { what: "an odd stream", body: toBody("sonnet", '"stream":1,'), status: 400, code: "invalid_request" },
    { what: "an unknown model", body: toBody("opus"), status: 404, code: "model_not_found" },
    {
      what: "a model without the capability",
      body: toBody("talk"),
      before: () =>
        make("models", { alias: "talk", provider: "claude", upstream_name: "t", capabilities: ["chat"] }),
      status: 400,
      code: "endpoint_not_supported",
    },
    {
      what: "a body over the limit",
      body: toBody("sonnet", `"pad":"${"x".repeat(1000)}",`),
      status: 413,
      code: "request_too_large",
    },
    {
      what: "a limit that is used up",
      before: async () => {
        await make("limits", { name: "one", subject: {}, measure: "requests", amount: 1, window: "day" });
        expect((await ask("/v1/messages", toBody("sonnet"))).status).toBe(200);
      },
      status: 429,
      code: "limit_exceeded",
    },
    {
      what: "a provider that does not answer",
      before: () => upstream.stop(),
      status: 502,
      code: "provider_unreachable",
    },
    { what: "a path below that is not served", path: "/batches", status: 404, code: "unknown_endpoint" },
    {
      what: "a path whose capability no model has any more",
      before: () => app.api("DELETE", "/admin/v1/models/sonnet"),
      status: 404,
      code: "unknown_endpoint",
    },
  ];

  test.each(REFUSALS)("$what: $status $code", async ({ path, body, headers, before, status, code }) => {
    await before?.();
    const sentBefore = upstream.requests.length;
    const paths = path === undefined ? ["/messages", "/messages/count_tokens"] : [`/messages${path}`];
    // A limit of the day holds metered requests alone.
    for (const each of code === "limit_exceeded" ? ["/messages"] : paths) {
      const response = await ask(`/v1${each}`, body ?? toBody("sonnet"), headers);
      const text = await response.text();
      expect({ status: response.status, text }).toEqual({
        status,
        text: expect.stringContaining(`"code":"${code}"`),
      });
      expect(text).toStartWith('{"type":"error","error":{"message":"');
      expect(text).toContain(`(request ${response.headers.get("x-proxy-request-id")})`);
    }
    expect(upstream.requests).toHaveLength(sentBefore);
  });
});
