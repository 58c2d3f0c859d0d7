import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { LLMock } from "@copilotkit/aimock";
import OpenAI, { APIError, InternalServerError, NotFoundError, RateLimitError } from "openai";
import { startModelServer, type ModelServer } from "../../contrib/demo/model-server.ts";
import { makeInstallation, provide, requestLog, type Installation } from "../support/installation.ts";
import { executable } from "../support/executable.ts";
import { type RunningProcess } from "../support/process.ts";

const SETUP_MS_MAX = 120_000;
const TEST_MS_MAX = 30_000;
const CREDENTIAL = "sk-upstream-credential";
/** The mock echoes the model that it was asked for, so both ways ask for the same one. */
const UPSTREAM_MODEL = "gpt-4o-mini";
const ALIAS = "team/chat";
const DEMO_MODEL = "demo-model-1";
const DEMO_EMBEDDING = "demo-embedding-1";
const PIXEL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const VECTOR = [0.125, -0.5, 1e-7, 3];

// Pinned, so that two answers to one request are the same bytes.
const FIXED = { id: "chatcmpl-fixed", created: 1_760_000_000, systemFingerprint: "fp_fixed" };
const TEXT_USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
const TOOL_USAGE = { prompt_tokens: 30, completion_tokens: 12, total_tokens: 42 };
const VISION_USAGE = {
  prompt_tokens: 100,
  completion_tokens: 9,
  total_tokens: 109,
};

let mock: LLMock;
let modelServer: ModelServer;
let installation: Installation;
let server: RunningProcess;

beforeAll(async () => {
  // It refuses any other credential.
  mock = new LLMock({ port: 0, host: "127.0.0.1", auth: { apiKeys: [CREDENTIAL] } });
  mock.onMessage("greet", {
    ...FIXED,
    content: 'Grüße — 你好 \u2028 "quoted" 🎈 and some more words',
    usage: TEXT_USAGE,
  });
  mock.onMessage("weather", {
    ...FIXED,
    usage: TOOL_USAGE,
    toolCalls: [
      { id: "call_1", name: "weather", arguments: '{"city":"Zürich","unit":"celsius","days":3}' },
      { id: "call_2", name: "weather", arguments: '{"city":"\\u0000 odd"}' },
    ],
  });
  mock.onMessage("picture", { ...FIXED, content: "A single pixel.", usage: VISION_USAGE });
  mock.onEmbedding("vector", { embedding: VECTOR });
  mock.onMessage("too fast", {
    status: 429,
    error: { message: "Slow down.", type: "rate_limit_error", code: "rate_limit_exceeded" },
  });
  mock.onMessage("broken", { status: 500, error: { message: "Oops.", type: "server_error" } });
  await mock.start();
  modelServer = await startModelServer({ port: 0, wordPauseMs: 1 });
  installation = await makeInstallation(await executable());
  server = await installation.start();
  await provide(server.url, installation.adminKey, {
    name: "mock",
    baseUrl: `${mock.url}/v1`,
    apiKey: CREDENTIAL,
    models: { [ALIAS]: UPSTREAM_MODEL },
    pricing: { input_tokens: 2, output_tokens: 10, cached_input_tokens: 1 },
  });
  await provide(server.url, installation.adminKey, {
    name: "demo",
    baseUrl: modelServer.baseUrl,
    models: { writer: DEMO_MODEL, embedder: DEMO_EMBEDDING },
  });
}, SETUP_MS_MAX);

afterAll(async () => {
  await installation?.remove();
  await modelServer?.stop();
  await mock?.stop();
});

/** A response as it was on the wire, before the SDK made sense of it. */
interface OnTheWire {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Promise<Uint8Array>;
}

interface Side {
  readonly client: OpenAI;
  readonly wire: OnTheWire[];
}

/** The SDK as it is; its `fetch` keeps a copy of the bytes while they pass. */
function openSide(baseURL: string, apiKey: string, defaultHeaders: Record<string, string> = {}): Side {
  const wire: OnTheWire[] = [];
  const recording = async (input: string | URL | Request, init?: RequestInit) => {
    const response = await fetch(input, init);
    const [kept, passed] = response.body?.tee() ?? [null, null];
    wire.push({ status: response.status, headers: response.headers, bytes: new Response(kept).bytes() });
    return new Response(passed, { status: response.status, headers: response.headers });
  };
  return { client: new OpenAI({ baseURL, apiKey, maxRetries: 0, fetch: recording, defaultHeaders }), wire };
}

let cases = 0;
const toFreshTag = () => `case:${(cases += 1)}`;

/** The same use of the SDK, straight to the upstream and through the executable. */
async function runBothWays<Result>(
  upstreamUrl: string,
  models: { readonly direct: string; readonly proxied: string },
  use: (client: OpenAI, model: string) => Promise<Result>,
) {
  const tag = toFreshTag();
  const direct = openSide(upstreamUrl, CREDENTIAL);
  const proxied = openSide(`${server.url}/v1`, installation.adminKey, { "x-proxy-tags": tag });
  const results = {
    direct: await use(direct.client, models.direct),
    proxied: await use(proxied.client, models.proxied),
  };
  expect(results.proxied).toEqual(results.direct);
  await expectSameBytes(direct.wire, proxied.wire);
  return { result: results.proxied, events: await requestLog(server.url, installation.adminKey, tag) };
}

async function expectSameBytes(direct: readonly OnTheWire[], proxied: readonly OnTheWire[]): Promise<void> {
  expect(proxied).toHaveLength(direct.length);
  for (const [index, expected] of direct.entries()) {
    const got = proxied[index]!;
    expect(got.status).toBe(expected.status);
    expect(got.headers.get("content-type")).toBe(expected.headers.get("content-type"));
    expect(toRelayedNames(got.headers)).toEqual(toRelayedNames(expected.headers));
    expect(Buffer.from(await got.bytes).toString()).toBe(Buffer.from(await expected.bytes).toString());
    expect(Buffer.compare(await got.bytes, await expected.bytes)).toBe(0);
  }
}

/** Header names that the upstream's answer and the relayed one have in common by rule. */
function toRelayedNames(headers: Headers): string[] {
  const ours = /^(access-control-.*|x-proxy-.*|x-content-type-options|content-security-policy)$/;
  const framing = /^(connection|keep-alive|transfer-encoding|content-length|date)$/;
  return [...headers.keys()].filter((name) => !ours.test(name) && !framing.test(name)).sort();
}

const viaMock = <Result>(use: (client: OpenAI, model: string) => Promise<Result>) =>
  runBothWays(`${mock.url}/v1`, { direct: UPSTREAM_MODEL, proxied: ALIAS }, use);

/** The last two requests that the mock saw: of the direct way and of the proxied one. */
function lastTwoAtMock() {
  const [direct, proxied] = mock.getRequests().slice(-2);
  if (direct === undefined || proxied === undefined) throw new Error("the mock saw too few requests");
  return { direct, proxied };
}

async function collect<Item>(stream: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

const tools = [
  {
    type: "function" as const,
    function: {
      name: "weather",
      description: "the weather",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    },
  },
];
const vision = [
  {
    role: "user" as const,
    content: [
      { type: "text" as const, text: "what is in this picture" },
      { type: "image_url" as const, image_url: { url: PIXEL, detail: "low" as const } },
    ],
  },
];
const say = (content: string) => [{ role: "user" as const, content }];
const INCLUDE_USAGE = { stream_options: { include_usage: true } };

describe("the official SDK through the executable gets the bytes that it gets without it", () => {
  test(
    "a unary chat completion, and one event with its tokens and cost",
    async () => {
      const { result, events } = await viaMock((client, model) =>
        client.chat.completions.create({ model, messages: say("greet me"), temperature: 0.25, seed: 7 }),
      );
      expect(result.choices[0]?.message.content).toStartWith("Grüße — 你好");
      expect(events).toMatchObject([
        {
          model: ALIAS,
          upstream_name: UPSTREAM_MODEL,
          provider: "mock",
          endpoint: "chat",
          outcome: "ok",
          status_code: 200,
          streamed: false,
          units: { input_tokens: 11, output_tokens: 7 },
          cost: (11 * 2 + 7 * 10) / 1e6,
        },
      ]);
    },
    TEST_MS_MAX,
  );

  test(
    "a streamed chat completion, and one event with its tokens",
    async () => {
      const { result, events } = await viaMock(async (client, model) =>
        collect(
          await client.chat.completions.create({
            model,
            messages: say("greet me"),
            stream: true,
            ...INCLUDE_USAGE,
          }),
        ),
      );
      expect(result.length).toBeGreaterThan(2);
      expect(result.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("")).toEndWith(
        "some more words",
      );
      expect(result.at(-1)?.usage).toMatchObject(TEXT_USAGE);
      expect(events).toMatchObject([
        { outcome: "ok", streamed: true, units: { input_tokens: 11, output_tokens: 7 } },
      ]);
    },
    TEST_MS_MAX,
  );

  test(
    "tool calls, unary",
    async () => {
      const { result, events } = await viaMock((client, model) =>
        client.chat.completions.create({
          model,
          messages: say("the weather, please"),
          tools,
          tool_choice: "auto",
        }),
      );
      expect(result.choices[0]?.finish_reason).toBe("tool_calls");
      expect(result.choices[0]?.message.tool_calls).toHaveLength(2);
      expect(events).toMatchObject([{ outcome: "ok", units: { input_tokens: 30, output_tokens: 12 } }]);
    },
    TEST_MS_MAX,
  );

  test(
    "tool calls, streamed and put together by the SDK",
    async () => {
      const { result, events } = await viaMock((client, model) =>
        client.chat.completions
          .stream({ model, messages: say("the weather, please"), tools, ...INCLUDE_USAGE })
          .finalChatCompletion(),
      );
      const [first] = result.choices[0]?.message.tool_calls ?? [];
      expect(first).toMatchObject({
        id: "call_1",
        function: { name: "weather", arguments: '{"city":"Zürich","unit":"celsius","days":3}' },
      });
      expect(events).toMatchObject([
        { outcome: "ok", streamed: true, units: { input_tokens: 30, output_tokens: 12 } },
      ]);
    },
    TEST_MS_MAX,
  );

  test(
    "vision parts",
    async () => {
      const { result, events } = await viaMock((client, model) =>
        client.chat.completions.create({ model, messages: vision }),
      );
      expect(result.choices[0]?.message.content).toBe("A single pixel.");
      expect(lastTwoAtMock().proxied.body).toMatchObject({ messages: vision });
      expect(events).toMatchObject([{ outcome: "ok", units: { input_tokens: 100, output_tokens: 9 } }]);
    },
    TEST_MS_MAX,
  );

  test.each([undefined, "float" as const])(
    "embeddings with encoding_format %p, one and many",
    async (format) => {
      const encoding = format === undefined ? {} : { encoding_format: format };
      const one = await viaMock((client, model) =>
        client.embeddings.create({ model, input: "vector of this", ...encoding }),
      );
      expect(one.events).toMatchObject([
        { endpoint: "embeddings", outcome: "ok", streamed: false, units: { input_tokens: 0 } },
      ]);
      if (format === "float") expect(one.result.data[0]?.embedding).toEqual(VECTOR);
      const many = await viaMock((client, model) =>
        client.embeddings.create({ model, input: ["vector a", "vector b", "vector c"], ...encoding }),
      );
      expect(many.result.data).toHaveLength(3);
      expect(many.events).toHaveLength(1);
    },
    TEST_MS_MAX,
  );

  test(
    "embeddings in base64, which is what the SDK asks for by itself (from a server that has it: the mock does not)",
    async () => {
      const { result, events } = await runBothWays(
        modelServer.baseUrl,
        { direct: DEMO_EMBEDDING, proxied: "embedder" },
        (client, model) => client.embeddings.create({ model, input: ["three words here", "two more"] }),
      );
      expect(result.data[0]?.embedding).toHaveLength(64);
      expect(result.data[0]?.embedding.every((value) => Number.isFinite(value))).toBe(true);
      expect(events).toMatchObject([{ endpoint: "embeddings", outcome: "ok", units: { input_tokens: 5 } }]);
    },
    TEST_MS_MAX,
  );

  test(
    "legacy completions, unary and streamed (from the demo's model server: the mock does not serve them)",
    async () => {
      const models = { direct: DEMO_MODEL, proxied: "writer" };
      const unary = await runBothWays(modelServer.baseUrl, models, (client, model) =>
        client.completions.create({ model, prompt: "one two three", max_tokens: 64 }),
      );
      expect(unary.result.choices[0]?.text).toContain("demo model");
      const { usage } = unary.result;
      const tokens = { input_tokens: 3, output_tokens: usage!.completion_tokens };
      expect(unary.events).toMatchObject([
        { endpoint: "completions", outcome: "ok", streamed: false, units: tokens },
      ]);
      const streamed = await runBothWays(modelServer.baseUrl, models, async (client, model) =>
        collect(
          await client.completions.create({ model, prompt: "one two three", stream: true, ...INCLUDE_USAGE }),
        ),
      );
      expect(streamed.result.map((chunk) => chunk.choices[0]?.text ?? "").join("")).toBe(
        unary.result.choices[0]?.text ?? "",
      );
      expect(streamed.events).toMatchObject([
        { endpoint: "completions", outcome: "ok", streamed: true, units: tokens },
      ]);
    },
    TEST_MS_MAX,
  );
});

describe("what reaches the upstream", () => {
  test(
    "is the request that the SDK made, field for field, with the provider's credential and no trace of the caller's",
    async () => {
      await viaMock((client, model) =>
        client.chat.completions
          .create({
            model,
            messages: say("greet me"),
            tools,
            stream: true,
            stream_options: { include_usage: true, include_obfuscation: false },
            logit_bias: { "50256": -100 },
            metadata: { team: "a" },
            response_format: { type: "text" },
            user: "someone",
          })
          .then(collect),
      );
      const { direct, proxied } = lastTwoAtMock();
      expect(proxied.body).toEqual(direct.body);
      expect(proxied.body).toMatchObject({
        model: UPSTREAM_MODEL,
        stream_options: { include_usage: true, include_obfuscation: false },
      });
      expect(proxied.path).toBe(direct.path);
      expect(JSON.stringify(proxied.headers)).not.toContain(installation.adminKey);
      expect(Object.keys(proxied.headers).filter((name) => name.startsWith("x-proxy-"))).toEqual([]);
      expect(proxied.headers["user-agent"]).toBe(direct.headers["user-agent"] ?? "");
    },
    TEST_MS_MAX,
  );

  test(
    "a stream that did not ask for usage is told to report it, and nothing else of the request changes",
    async () => {
      const tag = toFreshTag();
      const { client } = openSide(`${server.url}/v1`, installation.adminKey, { "x-proxy-tags": tag });
      const body = { messages: say("greet me"), max_tokens: 5 };
      const chunks = await collect(
        await client.chat.completions.create({ model: ALIAS, ...body, stream: true }),
      );
      expect(chunks.at(-1)?.usage).toMatchObject(TEXT_USAGE);
      expect(mock.getLastRequest()?.body).toMatchObject({
        model: UPSTREAM_MODEL,
        ...body,
        stream: true,
        stream_options: { include_usage: true },
      });
      expect(await requestLog(server.url, installation.adminKey, tag)).toMatchObject([
        { outcome: "ok", units: { input_tokens: 11, output_tokens: 7 } },
      ]);
    },
    TEST_MS_MAX,
  );
});

describe("model listing", () => {
  test("through the SDK lists the aliases, in order, and no upstream name", async () => {
    const { client } = openSide(`${server.url}/v1`, installation.adminKey);
    const models = await collect(client.models.list());
    expect(models.map(({ id, object, owned_by }) => [id, object, owned_by])).toEqual([
      ["embedder", "model", "demo"],
      [ALIAS, "model", "mock"],
      ["writer", "model", "demo"],
    ]);
    expect(JSON.stringify(models)).not.toContain(UPSTREAM_MODEL);
  });
});

describe("errors, with retries off", () => {
  /** The error that the SDK makes of a refusal. */
  const failure = async (promise: Promise<unknown>) =>
    promise.then(
      () => {
        throw new Error("it was not refused");
      },
      (error: unknown) => {
        if (!(error instanceof APIError)) throw error;
        return error;
      },
    );
  const toFields = ({ status, code, type, param, message }: APIError) => ({
    status,
    code,
    type,
    param,
    message,
  });

  test.each([
    ["too fast", RateLimitError, 429, "rate_limit_error"],
    ["broken", InternalServerError, 500, "server_error"],
  ] as const)(
    "an upstream's own (%s) passes unchanged, unary and streamed, and is one event each",
    async (content, kind, status, errorKind) => {
      for (const stream of [false, true]) {
        const requestsBefore = mock.getRequests().length;
        const { result, events } = await viaMock(async (client, model) => {
          const error = await failure(
            client.chat.completions.create({ model, messages: say(content), stream }),
          );
          expect(error).toBeInstanceOf(kind);
          return toFields(error);
        });
        expect(result.status).toBe(status);
        expect(events).toMatchObject([
          {
            outcome: "upstream_error",
            error_kind: errorKind,
            status_code: status,
            streamed: stream,
            units: {},
          },
        ]);
        // One straight and one through: nothing is retried on the way.
        expect(mock.getRequests()).toHaveLength(requestsBefore + 2);
      }
    },
    TEST_MS_MAX,
  );

  test("an unknown alias is a NotFoundError of ours with code and param, and nothing reaches the upstream", async () => {
    const requestsBefore = mock.getRequests().length;
    const tag = toFreshTag();
    const side = openSide(`${server.url}/v1`, installation.adminKey, { "x-proxy-tags": tag });
    const error = await failure(
      side.client.chat.completions.create({ model: UPSTREAM_MODEL, messages: say("greet me") }),
    );
    expect(error).toBeInstanceOf(NotFoundError);
    expect(toFields(error)).toMatchObject({
      status: 404,
      code: "model_not_found",
      type: "proxy_error",
      param: "model",
    });
    expect(side.wire[0]?.headers.get("x-proxy-error-source")).toBe("proxy");
    expect(mock.getRequests()).toHaveLength(requestsBefore);
    expect(await requestLog(server.url, installation.adminKey, tag)).toEqual([]);
  });
});
