import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { startApp, type TestApp } from "../support/app.ts";
import { expectError } from "./support.ts";

/** Planted in every prompt and completion: it must turn up nowhere else. */
const CONTENT = "planted-content-7f3a";

let app: TestApp;
let upstream: Bun.Server<unknown>;

beforeEach(async () => {
  upstream = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    development: false,
    async fetch(request) {
      const { model, stream }: { model: string; stream?: boolean } = JSON.parse(await request.text());
      if (model === "limited") {
        return Response.json({ error: { message: CONTENT, type: "rate_limit_error" } }, { status: 429 });
      }
      const usage = { prompt_tokens: 5, completion_tokens: 7 };
      if (stream !== true) return Response.json({ choices: [{ message: { content: CONTENT } }], usage });
      const events = [{ choices: [{ delta: { content: CONTENT } }] }, { choices: [], usage }];
      const text = [...events.map((event) => JSON.stringify(event)), "[DONE]"]
        .map((line) => `data: ${line}\n\n`)
        .join("");
      return new Response(text, { headers: { "content-type": "text/event-stream" } });
    },
  });
  app = await startApp({ maxEmbeddingBatch: 2, maxBodyBytes: 1000 });
  await expectStatus(
    201,
    app.api("POST", "/admin/v1/providers", { name: "up", base_url: `http://127.0.0.1:${upstream.port}/v1` }),
  );
  await expectStatus(
    201,
    app.api("POST", "/admin/v1/providers", { name: "down", base_url: "http://127.0.0.1:1/v1" }),
  );
  const pricing = { input_tokens: 1, output_tokens: 2 };
  const models = [
    { alias: "m", provider: "up", upstream_name: "real", pricing },
    { alias: "limited", provider: "up", upstream_name: "limited" },
    { alias: "unreachable", provider: "down", upstream_name: "x" },
    { alias: "embed", provider: "up", upstream_name: "e", capabilities: ["embeddings"] },
    { alias: "nostream", provider: "up", upstream_name: "n", capabilities: ["chat"] },
  ];
  for (const model of models) await expectStatus(201, app.api("POST", "/admin/v1/models", model));
});
afterEach(async () => {
  await app.stop();
  await upstream.stop(true);
});

async function expectStatus(status: number, pending: Promise<Response>): Promise<string> {
  const response = await pending;
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status });
  return text;
}

type Row = Record<string, unknown> & { id: string };
interface Log {
  readonly requests: Row[];
  readonly limit: number;
  readonly offset: number;
  readonly total: number;
}

async function readLog(query = ""): Promise<Log> {
  return JSON.parse(await expectStatus(200, app.api("GET", `/admin/v1/requests${query}`)));
}

const chat = (body: object, headers?: Record<string, string>) =>
  app.api(
    "POST",
    "/v1/chat/completions",
    { messages: [{ role: "user", content: CONTENT }], ...body },
    headers,
  );

/** Requests of several outcomes, clients and tags: what a log has to tell apart. */
async function makeTraffic(): Promise<void> {
  const headers = { authorization: `Bearer ${app.adminKey}`, "user-agent": "sdk/1.0" };
  await expectStatus(200, chat({ model: "m" }, { ...headers, "x-proxy-tags": "app:demo, env:prod" }));
  await expectStatus(200, chat({ model: "m", stream: true }, { ...headers, "x-proxy-tags": "app:demo" }));
  await expectStatus(200, chat({ model: "m" }));
  await expectStatus(200, app.api("POST", "/v1/embeddings", { model: "embed", input: CONTENT }));
  await expectStatus(429, chat({ model: "limited" }));
  await expectStatus(502, chat({ model: "unreachable" }));
}

describe("GET /admin/v1/requests", () => {
  test("has a row for each request as soon as its response ended, newest first, with all of its metadata", async () => {
    const headers = {
      authorization: `Bearer ${app.adminKey}`,
      "user-agent": "sdk/1.0",
      "x-proxy-tags": "App:demo, env:prod, broken",
    };
    await expectStatus(200, chat({ model: "m" }, headers));
    await expectStatus(200, chat({ model: "m", stream: true }, headers));
    const { requests } = await readLog("?limit=2");
    const common = {
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      ts: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/),
      principal: "admin",
      key_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      key_label: "tests",
      relay_token_id: null,
      provider: "up",
      model: "m",
      upstream_name: "real",
      endpoint: "chat",
      client: "sdk/1.0",
      status_code: 200,
      outcome: "ok",
      error_kind: null,
      cancelled: false,
      duration_ms: expect.any(Number),
      time_to_first_byte_ms: expect.any(Number),
      cost: 0.000019,
      units: { input_tokens: 5, output_tokens: 7 },
      unit_prices: { input_tokens: 1, output_tokens: 2 },
      tags: ["app:demo", "env:prod"],
    };
    expect(requests).toEqual([
      { ...common, streamed: true },
      { ...common, streamed: false },
    ]);
  });

  test("with after has only what was recorded since that cursor, and its page without it keeps its keys", async () => {
    const readAfter = async (after: string, query = "") =>
      JSON.parse(await expectStatus(200, app.api("GET", `/admin/v1/requests?after=${after}${query}`)));
    await expectStatus(200, chat({ model: "m" }));
    expect((await readLog()).total).toBe(1);
    const start = await readAfter("");
    expect(start).toEqual({
      requests: [],
      limit: 100,
      offset: 0,
      total: 0,
      cursor: expect.any(String),
      gap: false,
    });
    expect(await readAfter(start.cursor)).toEqual(start);
    await expectStatus(429, chat({ model: "limited" }));
    await expectStatus(200, chat({ model: "m", stream: true }));
    const log = await readLog("?limit=2");
    expect(Object.keys(log)).toEqual(["requests", "limit", "offset", "total"]);
    const since = await readAfter(start.cursor);
    expect(since).toEqual({ ...start, requests: log.requests, total: 2, cursor: expect.any(String) });
    const failed = await readAfter(start.cursor, "&outcome=failed");
    expect(failed).toMatchObject({ requests: [log.requests[1]], total: 1, cursor: expect.any(String) });
    expect((await readAfter(failed.cursor)).requests).toEqual([]);
    expect((await readAfter(since.cursor)).requests).toEqual([]);
    expect(await readAfter("of-another-start.0")).toEqual({
      ...start,
      cursor: expect.any(String),
      gap: true,
    });
  });

  test("an unpriced unit has a null price and the request a null cost, never zero", async () => {
    await expectStatus(200, app.api("POST", "/v1/embeddings", { model: "embed", input: "x" }));
    const { requests } = await readLog("?model=embed&limit=1");
    expect(requests[0]).toMatchObject({
      endpoint: "embeddings",
      cost: null,
      units: { input_tokens: 5, output_tokens: 7 },
      unit_prices: { input_tokens: null, output_tokens: null },
    });
  });

  test("failures are rows too: an upstream's error with its kind, an unreachable provider with its class", async () => {
    const relayed = await chat({ model: "limited" });
    expect(relayed.headers.get("x-proxy-error-source")).toBe("upstream");
    expect([relayed.status, await relayed.text()]).toEqual([429, expect.stringContaining(CONTENT)]);
    const refused = await chat({ model: "unreachable" });
    expect([refused.headers.get("x-proxy-provider"), refused.headers.get("x-proxy-model")]).toEqual([
      "down",
      "x",
    ]);
    expect(await expectError(refused, "502 provider_unreachable")).toContain("connection_error");
    const { requests } = await readLog("?outcome=failed&limit=2");
    expect(requests).toMatchObject([
      {
        model: "unreachable",
        provider: "down",
        outcome: "unreachable",
        status_code: 502,
        error_kind: "connection_error",
        cost: null,
        units: {},
      },
      {
        model: "limited",
        outcome: "upstream_error",
        status_code: 429,
        error_kind: "rate_limit_error",
        cancelled: false,
      },
    ]);
  });

  test("earlier refusals leave no row", async () => {
    const refusals: [Promise<Response>, number, string, string | null][] = [
      [app.api("POST", "/v1/chat/completions", "{"), 400, "invalid_json", null],
      [
        app.api("POST", "/v1/chat/completions", new Uint8Array([0x7b, 0xff, 0x7d])),
        400,
        "invalid_json",
        null,
      ],
      [app.api("POST", "/v1/chat/completions", "\ufeff{}"), 400, "invalid_json", null],
      [app.api("POST", "/v1/chat/completions", "[]"), 400, "model_required", "model"],
      [app.api("POST", "/v1/chat/completions", "{}"), 400, "model_required", "model"],
      [app.api("POST", "/v1/chat/completions", { model: 5 }), 400, "model_required", "model"],
      [app.api("POST", "/v1/chat/completions", { model: "" }), 400, "model_required", "model"],
      [app.api("POST", "/v1/chat/completions", { model: "nope" }), 404, "model_not_found", "model"],
      [app.api("POST", "/v1/chat/completions", { model: "embed" }), 400, "endpoint_not_supported", "model"],
      [
        app.api("POST", "/v1/chat/completions", { model: "nostream", stream: true }),
        400,
        "endpoint_not_supported",
        "model",
      ],
      [app.api("POST", "/v1/completions", { model: "m" }), 400, "endpoint_not_supported", "model"],
      [
        app.api("POST", "/v1/embeddings", { model: "embed", input: ["a", "b", "c"] }),
        400,
        "embedding_batch_too_large",
        "input",
      ],
      [
        app.api("POST", "/v1/embeddings", { model: "embed", input: "x".repeat(1000) }),
        413,
        "request_too_large",
        null,
      ],
      [app.api("POST", "/v1/chat/completions", { model: "m" }, {}), 401, "missing_api_key", null],
    ];
    for (const [pending, status, code, param] of refusals)
      await expectError(await pending, `${status} ${code}`, param);
    expect((await readLog()).total).toBe(0);
  });

  test("a deleted key leaves its id without a label, and a deleted provider is (deleted), also as a filter", async () => {
    await expectStatus(
      201,
      app.api("POST", "/admin/v1/providers", {
        name: "brief",
        base_url: `http://127.0.0.1:${upstream.port}/v1`,
      }),
    );
    await expectStatus(
      201,
      app.api("POST", "/admin/v1/models", { alias: "brief-m", provider: "brief", upstream_name: "b" }),
    );
    const created: {
      id: string;
      key: string;
    } = JSON.parse(await expectStatus(201, app.api("POST", "/my/keys", { label: "short" })));
    await expectStatus(200, chat({ model: "brief-m" }, { authorization: `Bearer ${created.key}` }));
    expect((await readLog(`?key=${created.id}`)).requests).toMatchObject([
      { key_label: "short", provider: "brief" },
    ]);
    await expectStatus(200, app.api("DELETE", `/my/keys/${created.id}`));
    await expectStatus(200, app.api("DELETE", "/admin/v1/providers/brief"));
    const gone = { key_id: created.id, key_label: null, provider: "(deleted)", model: "brief-m" };
    expect((await readLog(`?key=${created.id}`)).requests).toMatchObject([gone]);
    expect((await readLog("?provider=(deleted)")).requests).toMatchObject([gone]);
    expect((await readLog("?provider=brief")).requests).toEqual([]);
    // A name used again does not inherit the deleted one's history.
    await expectStatus(
      201,
      app.api("POST", "/admin/v1/providers", { name: "brief", base_url: "http://127.0.0.1:1/v1" }),
    );
    expect((await readLog("?provider=brief")).requests).toEqual([]);
  });

  test("its pages are parts of the whole, one beyond the end is empty, and one that is none is the first", async () => {
    await makeTraffic();
    const all = await readLog("?limit=500");
    expect([all.limit, all.offset, all.total, all.requests.length]).toEqual([500, 0, 6, 6]);
    const page = await readLog("?limit=2&offset=1");
    expect([page.requests.map(({ id }) => id), page.total]).toEqual([
      all.requests.slice(1, 3).map(({ id }) => id),
      all.total,
    ]);
    expect(await readLog("?offset=100000")).toEqual({ requests: [], limit: 100, offset: 100_000, total: 6 });
    expect(await readLog("?limit=501&offset=x")).toMatchObject({ limit: 100, offset: 0 });
  });

  test("holds nothing of a prompt or a completion", async () => {
    await makeTraffic();
    const log = await readLog("?limit=500");
    expect(log.total).toBe(6);
    expect(JSON.stringify(log)).not.toContain(CONTENT);
  });
});

describe("GET /stats/requests", () => {
  test("is the same log for every member of the team", async () => {
    await makeTraffic();
    await expectStatus(201, app.api("POST", "/admin/v1/principals", { name: "mallory" }));
    const created = await expectStatus(201, app.api("POST", "/admin/v1/keys", { principal: "mallory" }));
    const member = { authorization: `Bearer ${JSON.parse(created).key}` };
    const path = "/requests?limit=3&offset=1&outcome=ok";
    const page = JSON.parse(await expectStatus(200, app.api("GET", `/stats${path}`, undefined, member)));
    expect(page).toEqual(JSON.parse(await expectStatus(200, app.api("GET", `/admin/v1${path}`))));
    expect(page.requests.length).toBe(3);
  });
});

describe("the request log as CSV", () => {
  const csv = { accept: "text/csv" };
  const readCsv = async (path: string) => {
    const headers = { authorization: `Bearer ${app.adminKey}`, ...csv };
    return (await expectStatus(200, app.api("GET", path, undefined, headers))).split("\r\n");
  };

  test("has the keys of the JSON as columns, units and prices apart, and its values", async () => {
    const headers = { authorization: `Bearer ${app.adminKey}`, "x-proxy-tags": "app:demo,env:prod" };
    await expectStatus(200, chat({ model: "m" }, { ...headers, "user-agent": "sdk, 1" }));
    const [head = "", line = "", ...rest] = await readCsv("/admin/v1/requests?limit=1");
    expect(head.split(",")).toEqual([
      ..."id ts principal key_id key_label relay_token_id provider model upstream_name endpoint client".split(
        " ",
      ),
      ..."status_code outcome error_kind cancelled streamed duration_ms time_to_first_byte_ms cost".split(
        " ",
      ),
      ..."input_tokens output_tokens cached_input_tokens audio_seconds".split(" "),
      ..."input_tokens_price_per_million output_tokens_price_per_million".split(" "),
      ..."cached_input_tokens_price_per_million audio_seconds_price_per_million tags".split(" "),
      ..."billed_input_tokens billed_output_tokens billed_cached_input_tokens billed_audio_seconds".split(
        " ",
      ),
      ..."billed_cache_write_tokens billed_cache_write_1h_tokens".split(" "),
      ..."cache_write_tokens_price_per_million cache_write_1h_tokens_price_per_million".split(" "),
      ..."failure tier unpriced_reason unmetered".split(" "),
    ]);
    const [row] = (await readLog("?limit=1")).requests;
    const values = [row?.id, row?.["ts"], "admin", row?.["key_id"], "tests,,up,m,real,chat"].join(",");
    const times = [row?.["duration_ms"], row?.["time_to_first_byte_ms"]].join(",");
    expect(line).toBe(
      `${values},"sdk, 1",200,ok,,false,false,${times},0.000019,5,7,,,1,2,,,"app:demo,env:prod",5,7,,,,,,,,,,`,
    );
    expect(rest).toEqual([""]);
  });

  test("never holds a formula: what callers send is text to a spreadsheet", async () => {
    const formula = '=HYPERLINK("http://evil.example","open")';
    const headers = { authorization: `Bearer ${app.adminKey}`, "user-agent": formula };
    await expectStatus(200, chat({ model: "m" }, headers));
    const [, line] = await readCsv("/stats/requests?limit=1");
    expect(line).toContain(`,"'=HYPERLINK(""http://evil.example"",""open"")",`);
  });

  test("is not what a caller gets who did not ask for it", async () => {
    const response = await app.api("GET", "/stats/requests");
    expect([response.headers.get("content-type"), response.headers.get("vary")]).toEqual([
      "application/json",
      "accept, accept-encoding",
    ]);
  });
});
