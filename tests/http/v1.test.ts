import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { ExchangeInput, ExchangeResult } from "#forward/exchange.ts";
import { createApp } from "#http/app.ts";
import { IDLE_TIMEOUT_SECONDS } from "#http/door/connections.ts";
import { ENDPOINT_NAMES, toPaths, toRow } from "#catalog/endpoint.ts";
import { ProxyError, type ErrorCode } from "#kernel/errors.ts";
import { call, createCaller, expectError, openSession, startHarness, type Harness } from "./support.ts";

let harness: Harness;
let runs: ExchangeInput[];
let answer: (input: ExchangeInput) => ExchangeResult | Promise<ExchangeResult>;

beforeEach(async () => {
  runs = [];
  answer = () => ({ kind: "responded", response: new Response("as it came") });
  harness = await startHarness({
    exchange: {
      async run(input) {
        runs.push(input);
        return await answer(input);
      },
    },
  });
});
afterEach(() => harness.stop());

describe("a POST of the data plane", () => {
  test.each(
    ENDPOINT_NAMES.filter((name) => toRow(name).isAlwaysOpen === true).flatMap((name) =>
      toPaths(name).map((path) => [path, name] as const),
    ),
  )("%s is the endpoint %s, with or without the prefix, and never a redirect", async (path, endpoint) => {
    const body = '{"model":"m",  "x":1.0}';
    const response = await call(harness, "POST", path, { body });
    expect([response.status, await response.text()]).toEqual([200, "as it came"]);
    expect(runs.map((input) => input.endpoint)).toEqual([endpoint]);
    expect(new TextDecoder().decode(runs[0]?.body)).toBe(body);
  });

  test("tells the exchange who calls and by which key; a session has none", async () => {
    const { principal, keyId, key } = await createCaller(harness, "caller");
    await call(harness, "POST", "/v1/chat/completions", { body: "{}", headers: { "x-api-key": key } });
    expect(runs[0]?.caller).toEqual({
      principalId: principal.id,
      principalName: "caller",
      keyId,
      models: null,
      fixedTags: [],
    });
    const cookie = await openSession(harness, principal);
    const headers = { cookie, "content-type": "application/json" };
    await call(harness, "POST", "/v1/chat/completions", { body: "{}", headers });
    expect(runs[1]?.caller).toEqual({
      principalId: principal.id,
      principalName: "caller",
      keyId: null,
      models: null,
      fixedTags: [],
    });
  });

  test("by session refuses a form's content type, which a page elsewhere can send; by key it is not looked at", async () => {
    const { principal, key } = await createCaller(harness, "form");
    const cookie = await openSession(harness, principal);
    for (const type of [
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "text/plain;charset=UTF-8",
      "TEXT/PLAIN",
    ]) {
      const refused = await call(harness, "POST", "/v1/embeddings", {
        body: "{}",
        headers: { cookie, "content-type": type },
      });
      await expectError(refused, "400 invalid_json", null);
      const headers = { authorization: `Bearer ${key}`, "content-type": type };
      expect((await call(harness, "POST", "/v1/embeddings", { body: "{}", headers })).status).toBe(200);
    }
    expect(runs.length).toBe(4);
  });

  test("an answer that was relayed is passed on as it is: nothing of ours is added to it", async () => {
    answer = () => ({
      kind: "responded",
      response: new Response("nope", {
        status: 429,
        headers: { "x-proxy-error-source": "upstream", "x-any": "1" },
      }),
    });
    const response = await call(harness, "POST", "/v1/chat/completions", { body: "{}" });
    expect([response.status, await response.text()]).toEqual([429, "nope"]);
    expect(response.headers.get("x-proxy-error-source")).toBe("upstream");
    expect(response.headers.get("x-any")).toBe("1");
    expect(response.headers.get("cache-control")).toBeNull();
  });

  test.each(["timeout", "connection_error", "response_too_large"] as const)(
    "an upstream that gave no answer (%s) is 502 provider_unreachable that names it, the provider and the model",
    async (error) => {
      answer = () => ({ kind: "unreachable", error, provider: "acme", upstreamName: "modèle/1" });
      const response = await call(harness, "POST", "/v1/chat/completions", { body: "{}" });
      expect(response.headers.get("x-proxy-provider")).toBe("acme");
      expect(response.headers.get("x-proxy-model")).toBe("mod%C3%A8le/1");
      expect(await expectError(response, "502 provider_unreachable", null)).toContain(error);
    },
  );

  test.each([
    ["invalid_json", 400, undefined],
    ["model_required", 400, "model"],
    ["model_not_found", 404, "model"],
    ["endpoint_not_supported", 400, "model"],
    ["embedding_batch_too_large", 400, "input"],
    ["internal_error", 500, undefined],
  ] as const)(
    "the exchange's refusal %s is the envelope with status %d and its param",
    async (code, status, param) => {
      answer = () => {
        throw new ProxyError(code satisfies ErrorCode, "A message.", param === undefined ? {} : { param });
      };
      const response = await call(harness, "POST", "/v1/chat/completions", { body: "{}" });
      expect(await expectError(response, `${status} ${code}`, param ?? null)).toBe("A message.");
    },
  );

  test("a failure that nobody foresaw is internal_error; its message is neither sent nor logged", async () => {
    answer = () => {
      throw Object.assign(new TypeError("cannot reach https://user:hunter2@upstream/v1"), { code: "E_ODD" });
    };
    const response = await call(harness, "POST", "/v1/chat/completions", { body: "{}" });
    const message = await expectError(response, "500 internal_error", null);
    expect(message).not.toContain("hunter2");
    const line = harness.logLines.findLast((text) => text.includes("a request failed"));
    expect(JSON.parse(line ?? "null")).toMatchObject({
      level: "error",
      cause: "TypeError",
      cause_code: "E_ODD",
    });
    expect(harness.logLines.join("")).not.toContain("hunter2");
  });

  test("an exchange may keep its connection open and let it count as idle again; a refusal touches it not at all", async () => {
    const timeouts: number[] = [];
    const connections = {
      timeout: (_request: Request, seconds: number) => void timeouts.push(seconds),
      requestIP: () => null,
    };
    const app = createApp(harness.deps);
    const request = () =>
      new Request("http://localhost/v1/chat/completions", {
        method: "POST",
        body: "{}",
        headers: { authorization: `Bearer ${harness.adminKey}` },
      });
    answer = (input) => {
      expect(timeouts).toEqual([]);
      input.connection.keepOpen?.();
      expect(timeouts).toEqual([0]);
      input.connection.letIdle?.();
      return { kind: "responded", response: new Response("x") };
    };
    await app.serve({ name: "chat", id: "" }, request(), connections);
    expect(timeouts).toEqual([0, IDLE_TIMEOUT_SECONDS]);

    timeouts.length = 0;
    answer = () => {
      throw new ProxyError("model_required", "No model.");
    };
    await app.serve({ name: "chat", id: "" }, request(), connections);
    expect(timeouts).toEqual([]);
  });
});

describe("GET /v1/models", () => {
  beforeEach(async () => {
    const { catalog } = harness.deps;
    await catalog.createProvider({ name: "acme", base_url: "http://127.0.0.1:9/v1" }, null);
    await catalog.createProvider({ name: "off", base_url: "http://127.0.0.1:9/v1" }, null);
    await catalog.createModel(
      {
        alias: "big",
        provider: "acme",
        upstreamName: "big-1",
        pricing: { input_tokens: 2.5, output_tokens: 10 },
      },
      null,
    );
    await catalog.createModel({ alias: "Fast", target: "big", pricing: { input_tokens: 1 } }, null);
    await catalog.createModel(
      { alias: "embed", provider: "acme", upstreamName: "e", capabilities: ["embeddings"] },
      null,
    );
    await catalog.createModel({ alias: "secret", provider: "acme", upstreamName: "s", hidden: true }, null);
    await catalog.createModel({ alias: "gone", provider: "off", upstreamName: "g" }, null);
    await catalog.updateProvider("off", { enabled: false }, null);
  });

  const list = async (query = "", headers: Record<string, string> = {}) => {
    const response = await call(harness, "GET", `/v1/models${query}`, { headers });
    expect(response.status).toBe(200);
    const models: {
      object: string;
      data: { id: string; [field: string]: unknown }[];
      [field: string]: unknown;
    } = await response.json();
    return models;
  };
  const key = () => ({ authorization: `Bearer ${harness.adminKey}` });

  test("lists the models of enabled providers by alias, without the hidden ones and without prices", async () => {
    const { object, data } = await list();
    expect(object).toBe("list");
    expect(data.map(({ id }) => id)).toEqual(["Fast", "big", "embed"]);
    const { data: stored } = { data: (await harness.deps.catalog.snapshot()).findModel("Fast") };
    expect(data[0]).toEqual({
      id: "Fast",
      object: "model",
      created: Math.floor((stored?.model.createdAtUs ?? 0) / 1_000_000),
      owned_by: "acme",
      capabilities: ["chat", "chat_stream"],
      alias_of: "big",
      hidden: false,
    });
    expect(data[1]?.["alias_of"]).toBeNull();
  });

  test("with a header anthropic-version has what Anthropic's clients read; without it nothing of that, whoever asks", async () => {
    const plain = await list("", { "user-agent": "Anthropic/JS 1.12.0" });
    expect(Object.keys(plain)).toEqual(["object", "data"]);
    expect(plain).toEqual(await list());
    for (const query of ["", "?limit=1&after_id=Fast&before_id=big"]) {
      const asked = await list(query, { "anthropic-version": "2026-10-21" });
      const { data, ...rest } = asked;
      expect(rest).toEqual({ object: "list", has_more: false, first_id: "Fast", last_id: "embed" });
      for (const [index, { type, display_name, created_at, ...entry }] of data.entries()) {
        expect([entry]).toEqual(plain.data.slice(index, index + 1));
        const createdAt = new Date(Number(entry["created"]) * 1000).toISOString().replace(".000Z", "Z");
        expect({ type, display_name, created_at }).toEqual({
          type: "model",
          display_name: entry.id,
          created_at: createdAt,
        });
      }
    }
    const none = await list("?endpoint=vision", { "anthropic-version": "2023-06-01" });
    expect(none).toEqual({ object: "list", data: [], has_more: false, first_id: null, last_id: null });
    expect(await list("?endpoint=vision")).toEqual({ object: "list", data: [] });
  });

  test("in its plain form is public and answers 200 whatever the key", async () => {
    for (const headers of [
      {},
      { authorization: "Bearer lp_bad" },
      { "x-api-key": "x" },
      { cookie: "proxy_session=x.y" },
    ]) {
      expect((await list("", headers as Record<string, string>)).data.length).toBe(3);
    }
    expect((await list("?include_hidden=0&include_pricing=")).data.length).toBe(3);
  });

  test("with include_hidden=1 shows the hidden ones, with include_pricing=1 the prices, each only to a caller", async () => {
    for (const query of ["?include_hidden=1", "?include_pricing=1", "?include_hidden=1&include_pricing=1"]) {
      await expectError(
        await call(harness, "GET", `/v1/models${query}`, { headers: {} }),
        "401 missing_api_key",
      );
      const headers = { authorization: "Bearer lp_bad" };
      await expectError(await call(harness, "GET", `/v1/models${query}`, { headers }), "401 invalid_api_key");
    }
    const hidden = await list("?include_hidden=1", key());
    expect(hidden.data.map(({ id, hidden: is }) => [id, is])).toEqual([
      ["Fast", false],
      ["big", false],
      ["embed", false],
      ["secret", true],
    ]);
    expect(hidden.data[0]).not.toHaveProperty("pricing");
    const priced = await list("?include_pricing=1", key());
    expect(priced.data.map(({ id, pricing, pricing_inherited }) => [id, pricing, pricing_inherited])).toEqual(
      [
        ["Fast", { input_tokens: 1, output_tokens: 10 }, true],
        ["big", { input_tokens: 2.5, output_tokens: 10 }, false],
        ["embed", {}, false],
      ],
    );
  });

  test("with endpoint lists what has the capability; an unknown one is 400 invalid_endpoint", async () => {
    expect((await list("?endpoint=embeddings")).data.map(({ id }) => id)).toEqual(["embed"]);
    expect((await list("?endpoint=vision")).data).toEqual([]);
    expect((await list("?endpoint=")).data.length).toBe(3);
    await expectError(
      await call(harness, "GET", "/v1/models?endpoint=nope", { headers: {} }),
      "400 invalid_endpoint",
      "endpoint",
    );
  });

  test("GET /models is the same list, but the page for a browser that navigates to it; /v1/models never is", async () => {
    const accepts = [
      "text/html",
      "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
      "application/json, TEXT/HTML;q=0.5",
    ];
    for (const accept of accepts) {
      const page = await call(harness, "GET", "/models", { headers: { accept } });
      expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
      const json = await call(harness, "GET", "/v1/models", { headers: { accept } });
      expect(json.headers.get("content-type")).toStartWith("application/json");
    }
    for (const accept of ["*/*", "application/json", "text/*", "application/text/html-x"]) {
      const response = await call(harness, "GET", "/models", { headers: { accept } });
      expect(await response.json()).toEqual(await list());
    }
  });
});
