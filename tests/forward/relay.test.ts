import { afterEach, describe, expect, test } from "bun:test";
import net from "node:net";
import { gzipSync } from "node:zlib";
import { ENDPOINT_LENGTH_MAX } from "#forward/relay.ts";
import { NOTHING_USED } from "#usage/event.ts";
import type { UpstreamCall } from "../support/upstream.ts";
import { openCaller } from "./caller.ts";
import {
  ANSWER,
  DELTA,
  MESSAGE,
  MODEL,
  PATH,
  START,
  STOP,
  STREAMED_MESSAGE,
  TOKEN,
  USAGE,
  startRelay,
  stopRelays,
  toEvent,
} from "./relay-harness.ts";

afterEach(stopRelays);

const ok = (call: UpstreamCall) => call.reply({ body: ANSWER });

/** One request as its bytes, on a connection of its own; fulfilled when its answer has ended. */
async function sendRaw(port: number, raw: string): Promise<string> {
  const caller = await openCaller({ port, raw });
  await caller.ended;
  return caller.received();
}

const get = (target: string, version = "1.1") =>
  `GET ${target} HTTP/${version}\r\nhost: proxy.test\r\nconnection: close\r\n\r\n`;

describe("a path goes upstream as it came", () => {
  test.each([
    "/v1/messages",
    "/v1/messages?beta=true",
    "/v1/messages?",
    "/v1/messages?&&a=&=b&a=1;2",
    "/v1//messages",
    "/v1/messages/",
    "/V1/Messages",
    "/v1/%2F%41%zz%",
    "/v1/files/a%20b%5Cc",
    "/v1/a;p=1:b@c$d,e!f~g*h(i)",
    "/v1/a.b/..c/...?x=/../y/./z",
    "/v1/models?q=%2E%2E&u=https://a.test/b?c",
    "/%E2%82%AC",
  ])("%s", async (path) => {
    const { upstream, port } = await startRelay(ok);
    const answer = await sendRaw(port, get(`/transparent/messages/${TOKEN}${path}`));
    expect(answer).toStartWith("HTTP/1.1 200");
    expect(upstream.lastRequest().target).toBe(path);
  });

  test.each([
    [
      "characters that a URL may not hold raw are escaped",
      `/v1/a"b{c}?q='x'"<>`,
      "/v1/a%22b%7Bc%7D?q=%27x%27%22%3C%3E",
    ],
    ["two slashes at the front of an upstream's path become one", "//v1/messages", "/v1/messages"],
  ])("but for what the runtime does to it: %s", async (_, sent, received) => {
    const { upstream, port } = await startRelay(ok);
    await sendRaw(port, get(`/transparent/messages/${TOKEN}${sent}`));
    expect(upstream.lastRequest().target).toBe(received);
  });

  test("behind the path of the base URL", async () => {
    const { upstream } = await startRelay();
    const relay = await startRelay(undefined, { baseUrl: `http://127.0.0.1:${upstream.port}/gateway/api` });
    for (const path of ["/v1/models?limit=1", "//v1/models"]) {
      const response = relay.send("GET", path);
      const call = await upstream.nextCall();
      expect(call.request.target).toBe(`/gateway/api${path}`);
      await call.reply({ body: "{}" });
      expect((await response).status).toBe(200);
    }
  });

  test.each(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])("by %s", async (method) => {
    const { upstream, send } = await startRelay((call) =>
      call.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
    );
    expect((await send(method, "/v1/files/file_1")).status).toBe(200);
    expect(upstream.lastRequest()).toMatchObject({ method, target: "/v1/files/file_1" });
    expect(upstream.lastRequest().body).toHaveLength(0);
  });

  test("an answer to HEAD keeps the length that it tells", async () => {
    const { send } = await startRelay((call) =>
      call.send("HTTP/1.1 200 OK\r\ncontent-length: 1234\r\nx-any: 1\r\n\r\n"),
    );
    const response = await send("HEAD", "/v1/models");
    expect(response.headers.get("content-length")).toBe("1234");
    expect(response.headers.get("x-any")).toBe("1");
    expect(await response.text()).toBe("");
  });
});

describe("request headers", () => {
  test("go upstream but for those of section 4.5, the caller's own credentials among them", async () => {
    const { upstream, port } = await startRelay(ok);
    const passed = [
      "x-api-key: sk-ant-own",
      "authorization: Bearer own-oauth-token",
      "anthropic-version: 2023-06-01",
      "anthropic-beta: never-seen-2031-01-01,another-2032-12-31",
      "user-agent: claude-cli/9.9 (external)",
      "accept: application/json",
      "content-type: application/json",
      "origin: http://localhost:1",
      "referer: http://localhost:1/page",
      "x-forwarded-for: 192.0.2.1",
      "x-proxy-other: 1",
      "sec-ch-ua: x",
      "__proto__: 1",
    ];
    const dropped = [
      "connection: close, x-named",
      "x-named: 1",
      "keep-alive: timeout=5",
      "te: trailers",
      "upgrade: h2c",
      "proxy-authorization: Basic eDp5",
      "cookie: proxy_session=planted",
      "accept-encoding: gzip, br",
      "x-proxy-tags: app:planted",
      "expect: 100-continue",
    ];
    const body = JSON.stringify(MESSAGE);
    const lines = ["host: 127.0.0.1", ...passed, ...dropped, `content-length: ${body.length}`];
    await sendRaw(port, `POST ${PATH} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`);
    const { headers, body: received } = upstream.lastRequest();
    expect(received.toString()).toBe(body);
    const expected = new Map(
      passed.map((line) => [line.split(": ")[0] ?? "", line.slice(line.indexOf(": ") + 2)]),
    );
    expected.set("host", `127.0.0.1:${upstream.port}`);
    expected.set("content-length", String(body.length));
    expected.set("accept-encoding", "identity");
    // The connection's own.
    expected.set("connection", "keep-alive");
    expect(Object.fromEntries(headers)).toEqual(Object.fromEntries(expected));
  });

  test("that hold the relay token stay behind", async () => {
    const { upstream, send } = await startRelay(ok);
    await send("GET", "/v1/models", {
      headers: { "x-api-key": TOKEN, authorization: `Bearer ${TOKEN}`, "x-any": "1" },
    });
    expect(upstream.lastRequest().head).not.toContain(TOKEN);
    expect(upstream.lastRequest().headers.get("x-any")).toBe("1");
    expect(upstream.lastRequest().headers.has("x-api-key")).toBe(false);
  });

  test.each([`lpt_${"Az0".repeat(14)}x`, `lp_${"9".repeat(43)}`])(
    "that hold another token or a key of this server stay behind and are not stored: %s",
    async (secret) => {
      const { upstream, send, onlyEvent } = await startRelay(ok);
      const response = await send("POST", "/v1/messages", {
        body: JSON.stringify({ model: `x ${secret}` }),
        headers: {
          "x-api-key": secret,
          authorization: `Bearer ${secret}`,
          "user-agent": `${"a".repeat(240)} ${secret}`,
          "x-proxy-tags": `app:${secret},team:x`,
          "x-any": "lp_short",
        },
      });
      expect(response.headers.has("x-proxy-model")).toBe(false);
      const { head, headers } = upstream.lastRequest();
      expect(head).not.toContain(secret);
      expect([headers.has("x-api-key"), headers.has("authorization")]).toEqual([false, false]);
      expect(headers.get("x-any")).toBe("lp_short");
      expect(await onlyEvent()).toMatchObject({ model: null, client: null, tags: ["team:x"] });
    },
  );

  test("that the caller did not send do not name the runtime", async () => {
    const { upstream, port } = await startRelay(ok);
    await sendRaw(port, get(PATH));
    expect([...upstream.lastRequest().headers.keys()].sort()).toEqual([
      "accept",
      "accept-encoding",
      "host",
      "user-agent",
    ]);
    expect(upstream.lastRequest().headers.get("user-agent")).toBe("lockport");
    expect(upstream.lastRequest().headers.get("accept")).toBe("*/*");
  });
});

describe("request bodies", () => {
  const odd = Buffer.from('\ufeff{"model":1e400 , "model":"a","x":\u0000\u00ff}', "latin1");

  test.each([
    ["what is no JSON", new Uint8Array(odd)],
    ["a compressed one", gzipSync(JSON.stringify(MESSAGE))],
    ["an empty one", new Uint8Array()],
    [
      "one past what is read before it is sent on",
      new Uint8Array(Buffer.alloc(3_000_000, JSON.stringify(MESSAGE))),
    ],
  ])("arrive byte by byte: %s", async (_, body) => {
    const { upstream, send } = await startRelay(ok);
    const response = await send("POST", "/v1/messages", {
      body: new Uint8Array(body),
      headers: { "content-encoding": "x" },
    });
    expect(response.status).toBe(200);
    const request = upstream.lastRequest();
    expect(Buffer.compare(request.body, Buffer.from(body))).toBe(0);
    expect(request.headers.get("content-length")).toBe(String(body.length));
    expect(request.headers.get("content-encoding")).toBe("x");
  });

  test("that are sent in chunks are passed on chunk by chunk, before they have ended", async () => {
    const { upstream, port, subjects, onlyEvent } = await startRelay();
    const raw = `POST ${PATH} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`;
    const caller = await openCaller({ port, raw });
    caller.send(toChunk(`{"max_tokens":1,"messages":["planted"],`));
    while (upstream.connectionCount() === 0) await Bun.sleep(1);
    caller.send(toChunk(`"stream":true,"model":"${MODEL}"}`));
    caller.send("0\r\n\r\n");
    const call = await upstream.nextCall();
    // Noted before the upstream has all of it, so that a kill from here on leaves its event.
    expect(subjects).toMatchObject([{ model: MODEL }]);
    expect(call.request.headers.get("transfer-encoding")).toBe("chunked");
    expect(call.request.headers.has("content-length")).toBe(false);
    expect(call.request.body.toString()).toBe(
      `{"max_tokens":1,"messages":["planted"],"stream":true,"model":"${MODEL}"}`,
    );
    await call.beginStream();
    await call.sendChunk(START + USAGE + STOP);
    await call.endStream();
    await caller.waitFor("message_stop");
    // The model stood at the very end.
    expect(await onlyEvent()).toMatchObject({ model: MODEL, streamed: true, outcome: "ok" });
    expect(caller.received()).toContain(`x-proxy-model: ${MODEL}`);
    caller.hangUp();
  });

  test("that are long are streamed with their length, and their model is found behind everything else", async () => {
    const { upstream, send, onlyEvent } = await startRelay(ok);
    const body = `{"messages":["${"x".repeat(2_000_000)}"],"model":"${MODEL}"}`;
    expect((await send("POST", "/v1/messages", { body })).status).toBe(200);
    expect(upstream.lastRequest().headers.get("content-length")).toBe(String(body.length));
    expect(await onlyEvent()).toMatchObject({ model: MODEL, outcome: "ok" });
  });

  test("that stream at once share what is kept of them: past it a model is not known, and an upload that ends makes room", async () => {
    const { upstream, port, events, drained } = await startRelay(ok, { scannedBytesTotalMax: 1_000 });
    const head = `POST ${PATH} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n`;
    const whole = `${head}${toChunk(`{"model":"${MODEL}","x":"${"x".repeat(500)}"}`)}0\r\n\r\n`;
    const first = await openCaller({ port, raw: head + toChunk(`{"x":"${"x".repeat(700)}`) });
    while (upstream.connectionCount() === 0) await Bun.sleep(1);
    expect(await sendRaw(port, whole)).toStartWith("HTTP/1.1 200");
    first.hangUp();
    await drained();
    expect(await sendRaw(port, whole)).toStartWith("HTTP/1.1 200");
    await drained();
    expect(events.map(({ outcome, model }) => [outcome, model])).toEqual([
      ["ok", null],
      ["cancelled", null],
      ["ok", MODEL],
    ]);
  });

  test("of GET and HEAD are refused, since they would not arrive", async () => {
    const { upstream, port, events } = await startRelay(ok);
    for (const framing of [
      "content-length: 2\r\n\r\nhi",
      "transfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    ]) {
      const answer = await sendRaw(
        port,
        `GET ${PATH} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n${framing}`,
      );
      expect(answer).toStartWith("HTTP/1.1 400");
      expect(answer).toContain('"code":"invalid_request"');
    }
    expect(upstream.requests).toEqual([]);
    expect(events).toEqual([]);
  });

  test("over the limit are 413: at once by their length, and while they stream by their bytes, which breaks the upstream's call", async () => {
    const { upstream, port, onlyEvent, events } = await startRelay(undefined, { maxBodyBytes: 100_000 });
    const declared = await sendRaw(
      port,
      `POST ${PATH} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 100001\r\n\r\n`,
    );
    expect(declared).toStartWith("HTTP/1.1 413");
    expect(events).toEqual([]);
    expect(upstream.connectionCount()).toBe(0);

    const caller = await openCaller({
      port,
      raw: `POST ${PATH} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n`,
    });
    caller.send(toChunk("x".repeat(60_000)));
    while (upstream.connectionCount() === 0) await Bun.sleep(1);
    caller.send(toChunk("x".repeat(60_000)));
    caller.send("0\r\n\r\n");
    await caller.waitFor("request_too_large");
    expect(caller.received()).toStartWith("HTTP/1.1 413");
    // The request never became a whole one.
    expect(upstream.requests).toEqual([]);
    expect(await onlyEvent()).toMatchObject({ outcome: "cancelled", statusCode: 499, model: null });
    caller.hangUp();
  });

  test("an upstream that answers before it has the whole body is heard", async () => {
    const early = net.createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => {
        const body = '{"type":"error","error":{"type":"authentication_error"}}';
        socket.write(
          `HTTP/1.1 401 No\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
        );
      });
    });
    await new Promise<void>((resolve) => early.listen(0, "127.0.0.1", resolve));
    const address = early.address();
    const earlyPort = typeof address === "object" ? address?.port : 0;
    const { port, onlyEvent } = await startRelay(undefined, { baseUrl: `http://127.0.0.1:${earlyPort}` });
    const head = `POST ${PATH} HTTP/1.1\r\nhost: a\r\ncontent-length: 3000000\r\n\r\n`;
    const caller = await openCaller({ port, raw: `${head}{"model":"${MODEL}","x":"` });
    await caller.waitFor("authentication_error");
    expect(caller.received()).toStartWith("HTTP/1.1 401");
    // Its model was still to come.
    expect(await onlyEvent()).toMatchObject({
      outcome: "upstream_error",
      errorKind: "authentication_error",
      statusCode: 401,
      model: null,
    });
    caller.hangUp();
    early.close();
  });
});

describe("responses", () => {
  test.each([200, 201, 204, 302, 304, 400, 401, 404, 413, 429, 500, 529])(
    "of status %d pass with their bytes, untouched",
    async (status) => {
      const body =
        status === 204 || status === 304 ? "" : `{"type" : "error",\n"error":{"type":"x","message":"Grüße"}}`;
      const { send } = await startRelay((call) =>
        call.reply({
          status,
          body,
          headers: [
            "content-type: application/json",
            "request-id: req_1",
            "location: https://a.test/b",
            "retry-after: 3",
          ],
        }),
      );
      const response = await send("POST", "/v1/messages", { body: JSON.stringify(MESSAGE) });
      expect(response.status).toBe(status);
      expect(await response.text()).toBe(body);
      const { headers } = response;
      expect(headers.get("request-id")).toBe("req_1");
      expect(headers.has("location")).toBe(false);
      expect(headers.get("retry-after")).toBe("3");
      expect(headers.get("x-proxy-provider")).toBe("transparent:messages");
      expect(headers.get("x-proxy-model")).toBe(MODEL);
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("x-proxy-error-source")).toBe(status >= 400 ? "upstream" : null);
    },
  );

  test("lose what an upstream may not say on our origin, and carry no model when none was asked for", async () => {
    const { send } = await startRelay((call) =>
      call.reply({
        headers: [
          "set-cookie: a=b",
          "access-control-allow-origin: *",
          "x-proxy-model: other",
          "referrer-policy: unsafe-url",
        ],
        body: "{}",
      }),
    );
    const { headers } = await send("GET", "/v1/models");
    for (const name of ["set-cookie", "access-control-allow-origin", "x-proxy-model"])
      expect(headers.has(name)).toBe(false);
    expect(headers.get("referrer-policy")).toBe("no-referrer");
  });

  test("that are compressed in spite of identity pass as they are, and are metered", async () => {
    const bytes = gzipSync(ANSWER);
    const { send, onlyEvent } = await startRelay((call) =>
      call.reply({ headers: ["content-type: application/json", "content-encoding: gzip"], body: bytes }),
    );
    const response = await send("POST", "/v1/messages", { body: JSON.stringify(MESSAGE) });
    expect(Buffer.compare(Buffer.from(await response.arrayBuffer()), bytes)).toBe(0);
    expect((await onlyEvent()).usage?.quantities).toEqual({
      input_tokens: 7,
      output_tokens: 3,
      cached_input_tokens: 5,
      cache_write_tokens: 2,
    });
  });

  test("are never held: an event arrives before the next one is made, and a piece of JSON before the rest", async () => {
    for (const [type, first, rest] of [
      ["text/event-stream", START, DELTA + USAGE + STOP],
      ["application/json", ANSWER.slice(0, 20), ANSWER.slice(20)],
      ["application/octet-stream", "first", "rest"],
    ] as const) {
      const { upstream, port } = await startRelay();
      const caller = await openCaller({ port, path: PATH, body: MESSAGE });
      const call = await upstream.nextCall();
      await call.beginStream([`content-type: ${type}`]);
      await call.sendChunk(first);
      await caller.waitFor(first.trimEnd().slice(-10));
      await call.sendChunk(rest);
      await call.endStream();
      expect(await caller.body()).toBe(first + rest);
      caller.hangUp();
    }
  });

  test("may be of any size", async () => {
    const { send, drained } = await startRelay((call) =>
      call.reply({ headers: ["content-type: application/octet-stream"], body: new Uint8Array(70_000_000) }),
    );
    const response = await send("GET", "/v1/files/f/content");
    expect((await response.arrayBuffer()).byteLength).toBe(70_000_000);
    await drained();
  }, 30_000);
});

describe("the usage event", () => {
  const PRICES = [
    { name: MODEL, unit: "input_tokens", pricePico: 3_000_000, feedVersion: null },
    { name: MODEL, unit: "output_tokens", pricePico: 15_000_000, feedVersion: null },
    { name: MODEL, unit: "cached_input_tokens", pricePico: 300_000, feedVersion: null },
  ] as const;

  test("of a unary answer says who, by which token, what and how much, and costs what its model's name costs", async () => {
    const { send, onlyEvent, metrics } = await startRelay(ok, { prices: PRICES });
    const response = await send("POST", "/v1/messages?beta=true", {
      body: JSON.stringify(MESSAGE),
      headers: { "user-agent": "claude-cli/9.9", "x-proxy-tags": "app:Editor, team:x" },
    });
    await response.text();
    expect(await onlyEvent()).toMatchObject({
      principalId: "principal-1",
      principalName: "ada",
      keyId: null,
      relayTokenId: "token-1",
      providerId: "transparent:messages",
      model: MODEL,
      upstreamName: MODEL,
      endpoint: "/v1/messages",
      client: "claude-cli/9.9",
      tags: ["app:editor", "team:x"],
      streamed: false,
      outcome: "ok",
      statusCode: 200,
      errorKind: null,
      usage: {
        shape: "exclusive",
        quantities: {
          input_tokens: 7,
          output_tokens: 3,
          cached_input_tokens: 5,
          cache_write_tokens: 2,
        },
      },
      costPico: BigInt(9 * 3_000_000 + 3 * 15_000_000 + 5 * 300_000),
      unpriced: false,
    });
    expect(metrics.requests().map(({ labels, requests }) => [labels, requests.ok])).toEqual([
      [{ endpoint: "/v1/messages", provider: "transparent:messages", model: MODEL }, 1],
    ]);
  });

  test("of a stream has the last number of each field, and no price where its model's name has none", async () => {
    const { send, onlyEvent } = await startRelay(async (call) => {
      await call.beginStream();
      for (const event of [START, DELTA, USAGE, STOP]) await call.sendChunk(event);
      await call.endStream();
    });
    const response = await send("POST", "/v1/messages", { body: JSON.stringify(STREAMED_MESSAGE) });
    expect(await response.text()).toBe(START + DELTA + USAGE + STOP);
    expect(await onlyEvent()).toMatchObject({
      streamed: true,
      outcome: "ok",
      usage: {
        shape: "exclusive",
        quantities: { input_tokens: 7, output_tokens: 3, cached_input_tokens: 5 },
      },
      costPico: null,
      unpriced: true,
    });
  });

  test("of a stream that holds an error event is upstream_error, with the usage seen so far", async () => {
    const { send, onlyEvent } = await startRelay(async (call) => {
      await call.beginStream();
      await call.sendChunk(START);
      await call.sendChunk(
        toEvent("error", { error: { type: "overloaded_error", message: "planted sentence" } }),
      );
      await call.endStream();
    });
    await (await send("POST", "/v1/messages", { body: JSON.stringify(STREAMED_MESSAGE) })).text();
    expect(await onlyEvent()).toMatchObject({
      outcome: "upstream_error",
      errorKind: "overloaded_error",
      statusCode: 200,
      usage: { quantities: { input_tokens: 7, output_tokens: 1 } },
    });
  });

  test.each([
    [429, '{"type":"error","error":{"type":"rate_limit_error","message":"x"}}', "rate_limit_error"],
    [529, '{"type":"error","error":{"type":"overloaded_error","message":"x"}}', "overloaded_error"],
    [503, "<html>", "http_503"],
  ])("of status %d is upstream_error by its type", async (status, body, errorKind) => {
    const { send, onlyEvent } = await startRelay((call) => call.reply({ status, body }));
    await (await send("POST", "/v1/messages", { body: JSON.stringify(MESSAGE) })).text();
    expect(await onlyEvent()).toMatchObject({
      outcome: "upstream_error",
      statusCode: status,
      errorKind,
      usage: null,
    });
  });

  test("of token counting is metadata alone, whatever the answer holds", async () => {
    const { send, onlyEvent } = await startRelay((call) =>
      call.reply({ body: '{"input_tokens":14,"usage":{"input_tokens":14,"output_tokens":9}}' }),
    );
    await (
      await send("POST", "/v1/messages/count_tokens?beta=true", { body: JSON.stringify(MESSAGE) })
    ).text();
    expect(await onlyEvent()).toMatchObject({
      endpoint: "/v1/messages/count_tokens",
      model: MODEL,
      outcome: "ok",
      usage: NOTHING_USED,
      costPico: null,
      unpriced: false,
    });
  });

  test("of an endpoint without usage is metadata alone", async () => {
    const { send, onlyEvent } = await startRelay((call) => call.reply({ body: '{"data":[]}' }));
    await (await send("GET", "/v1/models?limit=3")).text();
    expect(await onlyEvent()).toMatchObject({
      endpoint: "/v1/models",
      model: null,
      upstreamName: null,
      outcome: "ok",
      usage: NOTHING_USED,
      streamed: false,
    });
  });

  test("is not written for HEAD and OPTIONS", async () => {
    const { send, events, subjects, metrics, upstream } = await startRelay((call) =>
      call.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
    );
    for (const method of ["HEAD", "OPTIONS"]) expect((await send(method, "/v1/messages")).status).toBe(200);
    expect(upstream.requests).toHaveLength(2);
    expect([events, subjects, metrics.requests()]).toEqual([[], [], []]);
  });

  test("keeps a path of bounded length", async () => {
    const { send, onlyEvent, upstream } = await startRelay(ok);
    const path = `/v1/${"x".repeat(400)}`;
    await (await send("GET", path)).text();
    expect(upstream.lastRequest().target).toBe(path);
    expect((await onlyEvent()).endpoint).toBe(path.slice(0, ENDPOINT_LENGTH_MAX));
  });

  test.each([
    ["an empty name", '{"model":""}', null],
    ["no text", '{"model":7}', null],
    ["a name with control characters", '{"model":"a\\u0007b"}', null],
    ["half a character", '{"model":"\\ud800"}', null],
    ["a name of 201 characters", `{"model":"${"m".repeat(201)}"}`, null],
    ["a name of 200 characters", `{"model":"${"m".repeat(200)}"}`, "m".repeat(200)],
    ["the last of two names", '{"model":"a","mod\\u0065l":"b"}', "b"],
    ["a name inside of something else", '{"x":{"model":"a"},"y":["model"]}', null],
    ["a body that is an array", '[{"model":"a"}]', null],
    ["a body that is cut off", '{"model":"a"', null],
    ["blanks in front", ' \r\n\t{"model":"a"} ', "a"],
  ])("has a model as far as the body names one: %s", async (_, body, model) => {
    const { send, onlyEvent } = await startRelay(ok);
    await (await send("POST", "/v1/messages", { body })).text();
    expect(await onlyEvent()).toMatchObject({ model, upstreamName: model });
  });

  test("is refused before anything goes upstream when the ledger takes no more", async () => {
    const { send, upstream, activeCount } = await startRelay(ok, {
      onOpen: () => {
        throw new Error("full");
      },
    });
    expect((await send("POST", "/v1/messages", { body: JSON.stringify(MESSAGE) })).status).toBe(500);
    expect(upstream.connectionCount()).toBe(0);
    expect(activeCount()).toBe(0);
  });
});

function toChunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}
