import { afterEach, describe, expect, test } from "bun:test";
import { toStoredClient } from "#forward/headers.ts";
import { toCallerHeaders, toProxiedBy, toRelayHeaders, toUpstreamHeaders } from "#forward/headers.ts";
import type { UpstreamScript } from "../support/upstream.ts";
import { openCaller } from "./caller.ts";
import { CHAT, COMPLETION, CREDENTIAL } from "./harness.ts";
import { startPair, stopPairs } from "./pair.ts";

afterEach(stopPairs);

const answer: UpstreamScript = (call) => call.reply({ body: COMPLETION });

const toProxied = (upstreamName: string) => ({
  proxiedBy: toProxiedBy("p", upstreamName),
  warnings: null,
  arrivedAtUs: 0,
  lane: 0,
  isBrowser: false,
});

describe("request headers", () => {
  test("what belongs to the connection, the caller or the proxy does not go upstream; everything else does, once", async () => {
    const { upstream, proxy } = await startPair(answer);
    const dropped = [
      "Connection: keep-alive, X-Hop, close-me",
      "X-Hop: secret-1",
      "Close-Me: secret-2",
      "Keep-Alive: timeout=5",
      "TE: trailers",
      "Trailer: x-t",
      "Proxy-Authorization: Basic secret-3",
      "Proxy-Connection: keep-alive",
      "Authorization: Bearer lp_secret-4",
      "X-Api-Key: lp_secret-5",
      "Cookie: proxy_session=secret-6",
      "Origin: https://secret-7.test",
      "Referer: https://secret-8.test/",
      "Forwarded: for=secret-9",
      "X-Forwarded-For: secret-10",
      "X-Forwarded-Host: secret-11",
      "X-Real-IP: secret-12",
      "Sec-Fetch-Site: cross-site",
      "Sec-CH-UA: secret-13",
      "OpenAI-Organization: secret-14",
      "OpenAI-Project: secret-15",
      "X-Proxy-Tags: app:secret-16",
      "X-Proxy-Anything: secret-17",
      "Accept-Encoding: gzip, br",
      "HTTP2-Settings: secret-18",
      "Api-Key: secret-19",
      "X-Goog-Api-Key: secret-20",
      "X-Auth-Token: secret-21",
      "X-Goog-User-Project: secret-22",
      "X-Original-URL: /secret-23",
      "X-Rewrite-Url: /secret-24",
      "X-HTTP-Method-Override: secret-25",
      "X-Envoy-Original-Path: /secret-26",
      "x-litellm-api-key: secret-27",
    ];
    const kept = [
      "User-Agent: caller/1.0 (x)",
      "Accept: application/json",
      "Accept-Language: de, en;q=0.5",
      "OpenAI-Beta: assistants=v2",
      "X-Stainless-Lang: js",
      "X-Request-Id: 4711",
      "Traceparent: 00-1-2-01",
      "Idempotency-Key: k",
      "X-Latin: caf\u00e9",
    ];
    const caller = await openCaller({ port: proxy.port, body: CHAT, headers: [...dropped, ...kept] });
    await caller.waitFor('"total_tokens"');
    caller.hangUp();

    const { head, headers } = upstream.lastRequest();
    expect(head).not.toContain("secret");
    const arrived = [...headers].map(([name, value]) => `${name}: ${value}`).sort();
    expect(arrived).toEqual(
      [
        "accept: application/json",
        "accept-encoding: identity",
        "accept-language: de, en;q=0.5",
        `authorization: Bearer ${CREDENTIAL}`,
        "connection: keep-alive",
        `content-length: ${upstream.lastRequest().body.length}`,
        "content-type: application/json",
        `host: 127.0.0.1:${upstream.port}`,
        "idempotency-key: k",
        "openai-beta: assistants=v2",
        "traceparent: 00-1-2-01",
        "user-agent: caller/1.0 (x)",
        `x-latin: ${headers.get("x-latin")}`,
        "x-request-id: 4711",
        "x-stainless-lang: js",
      ].sort(),
    );
    expect(head.split("\r\n").length - 1).toBe(arrived.length);
    expect(Buffer.from(headers.get("x-latin") ?? "", "latin1").toString()).toBe("caf\u00e9");
  });

  test("a provider without a credential gets no Authorization header, least of all the caller's", async () => {
    const { upstream, proxy } = await startPair(answer, { provider: { sealedCredential: null } });
    const response = await proxy.post(CHAT, {
      headers: { authorization: "Bearer lp_callers-own", "x-api-key": "lp_callers-own" },
    });
    expect(response.status).toBe(200);
    expect(upstream.lastRequest().headers.has("authorization")).toBe(false);
    expect(upstream.lastRequest().head).not.toContain("lp_callers-own");
  });

  test("a provider that takes its credential as x-api-key gets it so and no Authorization header, and never the caller's own", async () => {
    const { upstream, proxy } = await startPair(answer, { provider: { authStyle: "x-api-key" } });
    const headers = { authorization: "Bearer lp_callers-own", "x-api-key": "lp_callers-own" };
    expect((await proxy.post(CHAT, { headers })).status).toBe(200);
    const { head, headers: sent } = upstream.lastRequest();
    expect([sent.get("x-api-key"), sent.has("authorization")]).toEqual([CREDENTIAL, false]);
    expect(head).not.toContain("lp_callers-own");
  });

  test("a caller without a User-Agent does not make the proxy's runtime speak in its place", async () => {
    const { upstream, proxy } = await startPair(answer);
    const caller = await openCaller({ port: proxy.port, body: CHAT });
    await caller.waitFor('"total_tokens"');
    caller.hangUp();
    expect(upstream.lastRequest().headers.get("user-agent")).toBe("lockport");
    expect((await proxy.onlyEvent()).client).toBeNull();
  });

  test.each([
    "application/json; charset=utf-7",
    "application/json;charset=UTF-16LE",
    "application/json; charset=utf-8; charset=utf-7",
    "application/vnd.api+json",
    "application/x-www-form-urlencoded",
    "text/plain;charset=ibm500",
    "multipart/form-data; boundary=x",
  ])(
    "a body that was read as JSON in UTF-8 goes upstream as that, though its caller called it %s",
    async (type) => {
      const { upstream, proxy } = await startPair(answer);
      const response = await proxy.post(CHAT, { headers: { "content-type": type } });
      expect(response.status).toBe(200);
      const types = upstream.lastRequest().head.match(/^content-type: .*$/gim);
      expect(types?.map((line) => line.toLowerCase())).toEqual(["content-type: application/json"]);
    },
  );

  test("a body without a content type gets JSON's", async () => {
    const { upstream, proxy } = await startPair(answer);
    const caller = await openCaller({ port: proxy.port, body: CHAT });
    await caller.waitFor('"total_tokens"');
    caller.hangUp();
    expect(upstream.lastRequest().headers.get("content-type")).toBe("application/json");
  });

  test("Expect is not forwarded", () => {
    const headers = toUpstreamHeaders(
      new Headers({ expect: "100-continue", "content-length": "3", host: "x" }),
      null,
    );
    expect([...headers]).toEqual([
      ["accept-encoding", "identity"],
      ["user-agent", "lockport"],
    ]);
  });

  test("a name that differs from a dropped one in its underscores is dropped as well: CGI reads both as one", () => {
    const names = [
      ["X_Forwarded_For", "x-api_key", "OpenAI_Organization", "x_proxy-tags", "content_length"],
      ["x_http-method_override", "Content_Length", "transfer_encoding", "x_proxy_tags", "x-litellm_key"],
    ] as const;
    const [upstream, relayed] = names.map((dropped) => {
      const caller = new Headers([...dropped, "session_id"].map((name) => [name, "x"]));
      return dropped === names[0]
        ? toUpstreamHeaders(caller, null)
        : toRelayHeaders(caller, { token: "lpt_short", bodyBytes: null });
    });
    for (const headers of [upstream, relayed])
      expect([...(headers?.keys() ?? [])].sort()).toEqual(["accept-encoding", "session_id", "user-agent"]);
  });

  test("a header by the name of an object's prototype goes upstream like any other", async () => {
    const { proxy, upstream } = await startPair((call) => call.reply({ body: COMPLETION }));
    const caller = await openCaller({
      port: proxy.port,
      body: CHAT,
      headers: ["__proto__: x", "constructor: y"],
    });
    await caller.waitFor('"total_tokens"');
    caller.hangUp();
    const { headers } = upstream.lastRequest();
    expect([headers.get("__proto__"), headers.get("constructor")]).toEqual(["x", "y"]);
  });
});

const KEY = `lp_${"Az0".repeat(14)}x`;
const RELAY_TOKEN = `lpt_${"9".repeat(43)}`;
const SESSION = `${"s".repeat(43)}.admin.-.1764000000000000.${"g".repeat(43)}`;
const toBase64 = (text: string) => Buffer.from(text).toString("base64");

/** [what, its value]: each in a header that passes otherwise. */
const SECRETS: readonly (readonly [string, string])[] = [
  ["a key", KEY],
  ["a relay token", RELAY_TOKEN],
  ["a key in the middle", `x-${KEY}-y`],
  ["a key as a bearer", `Bearer ${KEY}`],
  ["a percent-encoded key", KEY.replace("_", "%5F")],
  [
    "a key whose characters are all percent-encoded",
    KEY.replace(/./g, (one) => `%${Buffer.from(one).toString("hex")}`),
  ],
  ["a key that is percent-encoded twice", KEY.replace("_", "%255f")],
  ["Basic credentials with a key", `Basic ${toBase64(`:${KEY}`)}`],
  ["Basic credentials with a relay token behind a name", `Basic ${toBase64(`ada:${RELAY_TOKEN}`)}`],
  ["base64 behind what looks like some", `prefix/${toBase64(KEY)}`],
  ["a percent-encoded base64 of a key", encodeURIComponent(toBase64(`k:${KEY}=`))],
  ["the request's session", SESSION],
  ["the request's session in a cookie of another name", `a=${SESSION}; b`],
];

describe("a header that holds a secret of this server stays behind", () => {
  test.each(SECRETS)("when it is %s", (_, value) => {
    for (const name of ["x-any", "user-agent", "x-request-id", "openai-beta", "baggage"]) {
      const caller = new Headers({ [name]: value, cookie: `proxy_session=${SESSION}`, "x-kept": "kept" });
      const upstream = new Map(toUpstreamHeaders(caller, null));
      const relayed = new Map(toRelayHeaders(caller, { token: "lpt_short", bodyBytes: 1 }));
      for (const headers of [upstream, relayed]) {
        expect([...headers.values()]).not.toContain(value);
        expect(headers.get("x-kept")).toBe("kept");
        // Without one the runtime would name itself.
        expect(headers.get("user-agent")).toBe("lockport");
      }
    }
  });

  test.each(SECRETS.slice(0, 11))("and %s is no client's name that is stored", (_, value) => {
    expect(toStoredClient(new Headers({ "user-agent": value }))).toBeNull();
    expect(toStoredClient(new Headers({ "user-agent": "prog/1" }))).toBe("prog/1");
  });

  test("and what only resembles one passes", () => {
    const values = [
      "lp_short",
      `lp_${"a".repeat(42)}`,
      `lp-${"a".repeat(43)}`,
      "s".repeat(43),
      `eyJhbGciOiJIUzI1NiJ9.${toBase64("x".repeat(90))}.${"Q".repeat(60)}`,
      `Basic ${toBase64(`ada:sk-${"b".repeat(60)}`)}`,
      "100%25",
    ];
    const caller = new Headers({ cookie: `proxy_session=short; other=${SESSION}` });
    values.forEach((value, index) => caller.set(`x-${index}`, value));
    caller.set("x-short", "short");
    for (const headers of [
      new Map(toUpstreamHeaders(caller, null)),
      new Map(toRelayHeaders(caller, { token: RELAY_TOKEN, bodyBytes: null })),
    ]) {
      expect(values.map((_, index) => headers.get(`x-${index}`))).toEqual(values);
      expect(headers.get("x-short")).toBe("short");
    }
  });
});

describe("response headers", () => {
  test("what an upstream may not say on our origin is dropped; what it says of its answer is kept", async () => {
    const { proxy } = await startPair((call) =>
      call.reply({
        body: COMPLETION,
        headers: [
          "Content-Type: application/json; charset=utf-8",
          "Connection: keep-alive, X-Hop",
          "X-Hop: secret-1",
          "Keep-Alive: timeout=5",
          "Proxy-Authenticate: Basic realm=secret-2",
          "Trailer: x-t",
          "Upgrade: h2c",
          "Set-Cookie: a=secret-3",
          "Set-Cookie: b=secret-4",
          'Alt-Svc: h3="secret-5:443"',
          "Strict-Transport-Security: max-age=1",
          'Clear-Site-Data: "*"',
          "Access-Control-Allow-Origin: *",
          "Access-Control-Allow-Credentials: true",
          "X-Proxy-Provider: secret-6",
          "X-Proxy-Error-Source: secret-7",
          "X-Proxy-Request-Id: secret-10",
          "X-Content-Type-Options: secret-8",
          "Content-Security-Policy: default-src secret-9",
          "X-Request-Id: req_1",
          "OpenAI-Processing-Ms: 12",
          "X-RateLimit-Remaining-Tokens: 9",
          "Retry-After: 3",
          "Date: Thu, 01 Jan 2026 00:00:00 GMT",
          "Vary: Origin",
        ],
      }),
    );
    const caller = await openCaller({ port: proxy.port, body: CHAT });
    await caller.waitFor('"total_tokens"');
    caller.hangUp();
    const head = caller.received().slice(0, caller.received().indexOf("\r\n\r\n"));
    expect(head).not.toContain("secret");
    const lines = head
      .split("\r\n")
      .slice(1)
      .map((line) => line.toLowerCase().replace(/^(x-proxy-request-id): [0-9a-f-]{36}$/, "$1"))
      .sort();
    expect(lines).toEqual(
      [
        `content-length: ${COMPLETION.length}`,
        "content-security-policy: sandbox",
        "content-type: application/json; charset=utf-8",
        "date: thu, 01 jan 2026 00:00:00 gmt",
        "openai-processing-ms: 12",
        "retry-after: 3",
        "vary: origin",
        "x-content-type-options: nosniff",
        "x-proxy-model: org/upstream-model",
        "x-proxy-provider: acme",
        "x-proxy-request-id",
        "x-ratelimit-remaining-tokens: 9",
        "x-request-id: req_1",
      ].sort(),
    );
  });

  test("x-proxy-error-source is upstream for a status of 400 and above, and absent below", () => {
    const sourceOf = (status: number) =>
      toCallerHeaders(new Headers(), status, toProxied("u")).get("x-proxy-error-source");
    expect([200, 302, 399, 400, 404, 429, 500, 599].map(sourceOf)).toEqual([
      null,
      null,
      null,
      ...Array<string>(5).fill("upstream"),
    ]);
  });

  test("an answer names its request with the lane of the replica that took it", () => {
    const idOf = (lane: number) =>
      toCallerHeaders(new Headers(), 200, { ...toProxied("u"), lane }).get("x-proxy-request-id");
    expect([0, 7].map(idOf)).toEqual([
      "00000000-0000-7000-8000-000000000000",
      "00000000-0000-7000-8000-000000000007",
    ]);
  });

  test("an upstream name is percent-encoded where it is not printable ASCII", () => {
    const modelOf = (upstreamName: string) =>
      toCallerHeaders(new Headers(), 200, toProxied(upstreamName)).get("x-proxy-model");
    expect(modelOf("org/model:7b@q4 x")).toBe("org/model:7b@q4 x");
    expect(modelOf("modèle-日本")).toBe("mod%C3%A8le-%E6%97%A5%E6%9C%AC");
    expect(modelOf("a\u007fb")).toBe("a%7Fb");
  });

  test("blanks at the ends of an upstream name are percent-encoded, since a field value has none there", () => {
    const modelOf = (upstreamName: string) =>
      toCallerHeaders(new Headers(), 200, toProxied(upstreamName)).get("x-proxy-model");
    expect(modelOf(" lead")).toBe("%20lead");
    expect(modelOf("trail  ")).toBe("trail%20%20");
    expect(modelOf(" a b ")).toBe("%20a b%20");
    expect(modelOf("  ")).toBe("%20%20");
    expect(modelOf(" ü ")).toBe("%20%C3%BC%20");
  });
});
