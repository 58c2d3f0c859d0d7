import { afterEach, describe, expect, test } from "bun:test";
import { gunzipSync, gzipSync } from "node:zlib";
import type { EndpointName } from "#catalog/endpoint.ts";
import { UNCOUNTED_BYTES_MAX } from "#kernel/memory-semaphore.ts";
import { UnconfirmedUsage } from "#usage/store.ts";
import type { ScriptedResponse } from "../support/upstream.ts";
import { ALIAS, CHAT, COMPLETION, UPSTREAM_NAME } from "./harness.ts";
import { startPair, stopPairs } from "./pair.ts";

afterEach(stopPairs);

describe("a unary request", () => {
  test("goes to the bound upstream under its own model name, and comes back byte for byte with one priced event", async () => {
    const { upstream, proxy } = await startPair((call) => call.reply({ body: COMPLETION }), {
      prices: [
        { name: ALIAS, unit: "input_tokens", pricePico: 2_000_000, feedVersion: null },
        { name: UPSTREAM_NAME, unit: "output_tokens", pricePico: 5_000_000, feedVersion: null },
      ],
    });
    const sent = `{ "temperature":1.0, "model" : "${ALIAS}","messages":[], "seed":12345678901234567890 }`;
    const response = await proxy.post(sent, {
      headers: { "user-agent": "sdk/1", "x-proxy-tags": "Team:Search, app:chat" },
    });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe(COMPLETION);
    expect(response.headers.get("x-proxy-provider")).toBe("acme");
    expect(response.headers.get("x-proxy-model")).toBe(UPSTREAM_NAME);
    expect(upstream.lastRequest().target).toBe("/v1/chat/completions");
    expect(upstream.lastRequest().method).toBe("POST");
    expect(upstream.lastRequest().body.toString()).toBe(sent.replace(ALIAS, UPSTREAM_NAME));
    expect(upstream.requests).toHaveLength(1);

    const event = await proxy.onlyEvent();
    expect(event).toMatchObject({
      principalId: "principal-1",
      principalName: "ada",
      keyId: "key-1",
      relayTokenId: null,
      providerId: "provider-1",
      model: ALIAS,
      upstreamName: UPSTREAM_NAME,
      endpoint: "chat",
      client: "sdk/1",
      tags: ["app:chat", "team:search"],
      streamed: false,
      outcome: "ok",
      statusCode: 200,
      errorKind: null,
      costPico: 7n * 2_000_000n + 3n * 5_000_000n,
      unpriced: false,
    });
    expect(event.usage?.quantities).toEqual({ input_tokens: 7, output_tokens: 3 });
    expect(event.timeToFirstByteUs).toBeGreaterThan(0);
    expect(event.timeToFirstByteUs ?? 0).toBeLessThanOrEqual(event.durationUs);
  });

  test("keeps its body apart from those that are sent in the same turn, on new connections and on kept ones", async () => {
    const { proxy } = await startPair((call) => call.reply({ body: call.request.body }));
    const toText = (model: string, user: string) => JSON.stringify({ ...CHAT, model, user });
    for (const round of ["new", "kept"]) {
      const users = Array.from({ length: 50 }, (_, index) => `${round} ${index} `.repeat(index + 1));
      const sent = users.map(async (user) => {
        const answer = await proxy.exchange.run({
          endpoint: "chat",
          caller: { principalId: "p", principalName: "ada", models: null, fixedTags: [] },
          headers: new Headers(),
          query: "",
          body: Buffer.from(toText(ALIAS, user)),
          arrivedAtUs: 1,
          arrivedAtMs: 0,
          connection: new AbortController(),
        });
        return answer.kind === "responded" ? answer.response.text() : answer;
      });
      expect(await Promise.all(sent)).toEqual(users.map((user) => toText(UPSTREAM_NAME, user)));
    }
  });

  const paths: readonly [EndpointName, string][] = [
    ["chat", "/v1/chat/completions"],
    ["completions", "/v1/completions"],
    ["embeddings", "/v1/embeddings"],
  ];
  test.each(paths)("of the endpoint %s goes to %s, or to the provider's override", async (endpoint, path) => {
    const { upstream, proxy } = await startPair((call) => call.reply({ body: "{}" }));
    expect((await proxy.post(CHAT, { endpoint })).status).toBe(200);
    expect(upstream.lastRequest().target).toBe(path);
    const override = `http://127.0.0.1:${upstream.port}/elsewhere?v=1`;
    proxy.replaceCatalog({ baseUrl: upstream.baseUrl, provider: { endpoints: { [endpoint]: override } } });
    expect((await proxy.post(CHAT, { endpoint })).status).toBe(200);
    expect(upstream.lastRequest().target).toBe("/elsewhere?v=1");
  });

  test("a key that stands in the User-Agent or in a tag is not stored", async () => {
    const { proxy } = await startPair((call) => call.reply({ body: COMPLETION }));
    const secret = `lp_${"a".repeat(43)}`;
    const headers = { "user-agent": `sdk ${secret}`, "x-proxy-tags": `app:${secret},team:x` };
    await (await proxy.post(CHAT, { headers })).text();
    expect(await proxy.onlyEvent()).toMatchObject({ client: null, tags: ["team:x"] });
  });

  test("the event is written down before the response is returned", async () => {
    const written = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const { proxy } = await startPair((call) => call.reply({ body: COMPLETION }), {
      onEnd() {
        asked.resolve();
        return written.promise;
      },
    });
    let answered = false;
    const response = proxy.post(CHAT).then((value) => {
      answered = true;
      return value;
    });
    await asked.promise;
    expect(answered).toBe(false);
    expect(proxy.exchange.activeCount()).toBe(1);
    written.resolve();
    expect((await response).status).toBe(200);
    expect(proxy.exchange.activeCount()).toBe(0);
  });

  test("the begin is noted before the upstream is contacted; a ledger that takes no more refuses the request", async () => {
    const { upstream, proxy } = await startPair((call) => call.reply({ body: COMPLETION }), {
      onOpen() {
        expect(upstream.requests).toHaveLength(0);
        throw new Error("disk full");
      },
    });
    expect((await proxy.post(CHAT)).status).toBe(500);
    expect(upstream.requests).toHaveLength(0);
    expect(proxy.exchange.activeCount()).toBe(0);
  });

  test("the prices are the ones in force when the event is written", async () => {
    const { upstream, proxy } = await startPair(undefined, {
      prices: [{ name: ALIAS, unit: "input_tokens", pricePico: 1, feedVersion: null }],
    });
    const response = proxy.post(CHAT);
    const call = await upstream.nextCall();
    proxy.replaceCatalog({
      baseUrl: upstream.baseUrl,
      prices: [{ name: ALIAS, unit: "input_tokens", pricePico: 1_000, feedVersion: null }],
    });
    await call.reply({ body: COMPLETION });
    await response;
    const event = await proxy.onlyEvent();
    expect(event.costPico).toBe(7_000n);
    expect(event.prices).toEqual({ input_tokens: 1_000 });
    expect(event.unpriced).toBe(true);
  });

  test("a ledger that fails at the end takes no answer away, and says so in the log without content", async () => {
    const { proxy } = await startPair((call) => call.reply({ body: COMPLETION }), {
      onEnd() {
        throw new Error("secret path");
      },
    });
    expect(await (await proxy.post(CHAT)).text()).toBe(COMPLETION);
    expect(proxy.exchange.activeCount()).toBe(0);
    expect(JSON.stringify(proxy.logLines)).toContain("usage event");
    expect(JSON.stringify(proxy.logLines)).not.toContain("secret");
  });

  test.each([
    ["short", COMPLETION],
    ["long", JSON.stringify({ text: "x".repeat(2 * UNCOUNTED_BYTES_MAX) })],
  ])(
    "a %s answer that the ledger did not confirm where answers wait for that is refused, and none of its memory stays reserved",
    async (_, body) => {
      const { proxy, upstream } = await startPair((call) => call.reply({ body }), {
        exchange: { bufferedBytesTotalMax: 3 * UNCOUNTED_BYTES_MAX },
        onEnd() {
          throw new UnconfirmedUsage();
        },
      });
      for (let request = 0; request < 3; request += 1) {
        const response = await proxy.post(CHAT);
        expect(response.status).toBe(500);
        expect(await response.json()).toMatchObject({ code: "internal_error" });
      }
      expect(upstream.requests).toHaveLength(3);
      expect(proxy.exchange.activeCount()).toBe(0);
    },
  );
});

describe("a refusal comes before anything is recorded or sent", () => {
  const refusals: readonly [
    string,
    unknown,
    { endpoint?: EndpointName; headers?: Record<string, string> },
    string,
    string | null,
  ][] = [
    ["a body that is not JSON", "{", {}, "invalid_json", null],
    ["an encoded body", CHAT, { headers: { "content-encoding": "gzip" } }, "invalid_json", null],
    ["no model", {}, {}, "model_required", "model"],
    ["a stream that is not boolean", { model: ALIAS, stream: 1 }, {}, "invalid_request", "stream"],
    ["a stream that is a text", { model: ALIAS, stream: "yes" }, {}, "invalid_request", "stream"],
    ["an unknown alias", { model: "nobody" }, {}, "model_not_found", "model"],
    ["the bare upstream name", { model: UPSTREAM_NAME }, {}, "model_not_found", "model"],
    [
      "a missing capability",
      { model: ALIAS },
      { endpoint: "completions" },
      "endpoint_not_supported",
      "model",
    ],
    ["a stream without chat_stream", { model: ALIAS, stream: true }, {}, "endpoint_not_supported", "model"],
    [
      "a batch over the cap",
      { model: ALIAS, input: Array(2049).fill("x") },
      { endpoint: "embeddings" },
      "embedding_batch_too_large",
      "input",
    ],
  ];
  test.each(refusals)("%s", async (_, body, options, code, param) => {
    const { upstream, proxy } = await startPair((call) => call.reply({}), {
      capabilities: ["chat", "embeddings"],
    });
    const response = await proxy.post(body, options);
    expect(await response.json()).toMatchObject({ code, param });
    expect(upstream.connectionCount()).toBe(0);
    expect(proxy.subjects).toEqual([]);
    expect(proxy.events).toEqual([]);
  });

  test("a disabled provider's models are not found", async () => {
    const { proxy } = await startPair((call) => call.reply({}), { provider: { enabled: false } });
    expect(await (await proxy.post(CHAT)).json()).toMatchObject({ code: "model_not_found" });
  });

  test("a batch at the cap, and a text with as many commas, are forwarded", async () => {
    const { proxy } = await startPair((call) => call.reply({ body: "{}" }));
    for (const input of [Array(2048).fill("x"), ",".repeat(5000), { odd: [1] }]) {
      expect((await proxy.post({ model: ALIAS, input }, { endpoint: "embeddings" })).status).toBe(200);
    }
  });
});

describe("whatever an upstream answers comes back as it is", () => {
  const odd = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  const answers: readonly [string, ScriptedResponse, string, string | null][] = [
    [
      "200 with bytes that are no JSON",
      { headers: ["content-type: application/octet-stream"], body: odd },
      "ok",
      null,
    ],
    ["200 with an empty body", { body: "" }, "ok", null],
    ["201", { status: 201, body: "{}" }, "ok", null],
    [
      "200 with only an error object",
      { body: '{"error":{"type":"overloaded_error","message":"m"}}' },
      "upstream_error",
      "overloaded_error",
    ],
    ["301", { status: 301, headers: ["location: http://127.0.0.1:1/steal"], body: "moved" }, "ok", null],
    ["302", { status: 302, headers: ["location: /v1/other"], body: "" }, "ok", null],
    ["307", { status: 307, headers: ["location: http://127.0.0.1:1/steal"], body: "" }, "ok", null],
    [
      "400",
      { status: 400, body: '{"error":{"type":"invalid_request_error","code":"x"}}' },
      "upstream_error",
      "invalid_request_error",
    ],
    ["401", { status: 401, headers: ["www-authenticate: Bearer"], body: "no" }, "upstream_error", "http_401"],
    [
      "404 that looks like ours",
      { status: 404, body: '{"error":{"type":"proxy_error","code":"model_not_found"}}' },
      "upstream_error",
      "proxy_error",
    ],
    [
      "429",
      {
        status: 429,
        headers: ["retry-after: 7"],
        body: '{"error":{"type":"tokens","code":"rate_limit_exceeded"}}',
      },
      "upstream_error",
      "rate_limit_exceeded",
    ],
    [
      "500 as HTML",
      { status: 500, headers: ["content-type: text/html"], body: "<h1>oh</h1>" },
      "upstream_error",
      "http_500",
    ],
    ["599", { status: 599, body: "x" }, "upstream_error", "http_599"],
  ];
  test.each(answers)("%s", async (_, answer, outcome, errorKind) => {
    const { upstream, proxy } = await startPair((call) => call.reply(answer));
    const response = await proxy.post(CHAT);
    const status = answer.status ?? 200;
    expect(response.status).toBe(status);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(Buffer.from(answer.body ?? ""));
    expect(response.headers.get("x-proxy-error-source")).toBe(status >= 400 ? "upstream" : null);
    for (const line of answer.headers ?? []) {
      const [name = "", value = ""] = line.split(/: /);
      const passes = name !== "location" && name !== "www-authenticate";
      expect(response.headers.get(name)).toBe(passes ? value : null);
    }
    // One request in, one request out: nothing is followed or tried again.
    expect(upstream.requests).toHaveLength(1);
    expect(await proxy.onlyEvent()).toMatchObject({ outcome, errorKind, statusCode: status });
  });

  test.each([204, 205, 304])("%d has no body, whatever the upstream sends behind it", async (status) => {
    const { proxy } = await startPair((call) =>
      call.send(`HTTP/1.1 ${status} Odd\r\nx-odd: 1\r\ncontent-length: 2\r\n\r\nhi`),
    );
    const response = await proxy.post(CHAT);
    expect(response.status).toBe(status);
    expect(response.headers.get("x-odd")).toBe("1");
    expect(await response.text()).toBe("");
    expect(await proxy.onlyEvent()).toMatchObject({ outcome: "ok", statusCode: status });
  });

  test("informational responses are passed over", async () => {
    const { proxy } = await startPair(async (call) => {
      await call.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n");
      await call.reply({ body: COMPLETION });
    });
    expect(await (await proxy.post(CHAT)).text()).toBe(COMPLETION);
    expect(await proxy.onlyEvent()).toMatchObject({ outcome: "ok", statusCode: 200 });
  });

  test("a chunked body, cut anywhere and sent without a length, arrives whole with one", async () => {
    const { proxy } = await startPair(async (call) => {
      await call.beginStream(["content-type: application/json"]);
      for (let at = 0; at < COMPLETION.length; at += 7) await call.sendChunk(COMPLETION.slice(at, at + 7));
      await call.endStream();
    });
    const response = await proxy.post(CHAT);
    expect(response.headers.get("content-length")).toBe(String(COMPLETION.length));
    expect(await response.text()).toBe(COMPLETION);
    expect((await proxy.onlyEvent()).usage?.quantities).toEqual({ input_tokens: 7, output_tokens: 3 });
  });

  test("a body that ends with its connection arrives whole", async () => {
    const { proxy } = await startPair(async (call) => {
      await call.send(`HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n${COMPLETION}`);
      call.finish();
    });
    expect(await (await proxy.post(CHAT)).text()).toBe(COMPLETION);
    expect((await proxy.onlyEvent()).usage?.quantities).toEqual({ input_tokens: 7, output_tokens: 3 });
  });

  test("an answer that came before the request was sent whole is an answer", async () => {
    const { proxy, upstream } = await startPair();
    const huge = { ...CHAT, messages: [{ role: "user", content: "x".repeat(3_000_000) }] };
    const response = proxy.post(huge);
    await (await upstream.nextCall()).reply({ status: 413, body: "too big" });
    expect((await response).status).toBe(413);
  });

  test("a body compressed in spite of identity passes unchanged, and is metered all the same", async () => {
    const packed = gzipSync(COMPLETION);
    const { proxy } = await startPair((call) =>
      call.reply({ headers: ["content-type: application/json", "content-encoding: gzip"], body: packed }),
    );
    const response = await proxy.post(CHAT);
    expect(response.headers.get("content-encoding")).toBe("gzip");
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(bytes).toEqual(packed);
    expect(gunzipSync(bytes).toString()).toBe(COMPLETION);
    expect((await proxy.onlyEvent()).usage?.quantities).toEqual({ input_tokens: 7, output_tokens: 3 });
  });

  test.each([
    ["broken gzip", "gzip", Buffer.from("this is not gzip at all")],
    ["an unknown coding", "rot13", Buffer.from(COMPLETION)],
    ["codings on top of one another", "gzip, gzip", gzipSync(gzipSync(COMPLETION))],
    ["a bomb", "gzip", gzipSync(Buffer.alloc(80 * 1024 * 1024))],
  ])("%s passes unchanged and unmetered", async (_, coding, body) => {
    const { proxy } = await startPair((call) =>
      call.reply({ headers: [`content-encoding: ${coding}`], body }),
    );
    const response = await proxy.post(CHAT);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(body);
    expect(await proxy.onlyEvent()).toMatchObject({ outcome: "ok", usage: null, costPico: null });
  });

  test("a response over the limit is response_too_large, with a length and without one, and the upstream is let go", async () => {
    const limit = { exchange: { maxResponseBytes: 10_000 } };
    const { proxy, upstream } = await startPair(undefined, limit);
    for (const head of ["content-length: 10001", "transfer-encoding: chunked"]) {
      const response = proxy.post(CHAT);
      const call = await upstream.nextCall();
      await call.send(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n`);
      const chunked = head.startsWith("transfer");
      while (
        (await (chunked ? call.sendChunk("x".repeat(3000)) : call.send("x".repeat(3000)))) &&
        !call.isClosed()
      ) {
        await Bun.sleep(1);
      }
      await call.closed;
      expect(await (await response).json()).toEqual({ unreachable: "response_too_large" });
    }
    const exact = proxy.post(CHAT);
    await (await upstream.nextCall()).reply({ body: "x".repeat(10_000) });
    expect((await (await exact).text()).length).toBe(10_000);
    await proxy.drained();
    expect(
      proxy.events.map(({ outcome, errorKind, statusCode }) => [outcome, errorKind, statusCode]),
    ).toEqual([
      ["unreachable", "response_too_large", 502],
      ["unreachable", "response_too_large", 502],
      ["ok", null, 200],
    ]);
  });
});
