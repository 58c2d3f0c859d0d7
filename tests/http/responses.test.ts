import { afterEach, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { createGunzip, createGzip } from "node:zlib";
import { createSystemClock } from "#kernel/clock.ts";
import { createLog } from "#kernel/log.ts";
import { startApp, type TestApp } from "../support/app.ts";
import {
  startResponsesProvider,
  toEvent,
  toResponse,
  type ProvidedResponse,
  type ProviderOptions,
  type ResponsesProvider,
} from "../support/responses-provider.ts";
import { makeFolder } from "../support/folder.ts";
import { until } from "../support/waiting.ts";

const open: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.stop();
});

interface Site {
  readonly app: TestApp;
  readonly provider: ResponsesProvider;
  /** The server writes them as JSON. */
  readonly logLines: readonly string[];
  readonly advanceDays: (days: number) => void;
}

interface SiteOptions extends ProviderOptions {
  readonly config?: Parameters<typeof startApp>[0];
}

async function startSite({ config = {}, ...options }: SiteOptions = {}): Promise<Site> {
  const provider = await startResponsesProvider(options);
  open.push(provider);
  const clock = createSystemClock();
  let aheadUs = 0;
  const logLines: string[] = [];
  const app = await startApp(config, {
    clock: { ...clock, monotonicMs: () => clock.monotonicMs(), nowUs: () => clock.nowUs() + aheadUs },
    log: createLog({ level: "debug", json: true, write: (line) => logLines.push(line), timestamp: () => "" }),
  });
  open.push(app);
  await provide(app, provider);
  return { app, provider, logLines, advanceDays: (days) => void (aheadUs += days * 86_400_000_000) };
}

async function provide(app: TestApp, { baseUrl }: ResponsesProvider): Promise<void> {
  await ok(app, "POST", "/admin/v1/providers", {
    name: "openai",
    base_url: baseUrl,
    api_key: "sk-upstream",
  });
  await ok(app, "POST", "/admin/v1/models", {
    alias: "gpt",
    provider: "openai",
    upstream_name: "gpt",
    capabilities: ["responses"],
    pricing: PRICING,
  });
}

/** 9 input tokens, 2 of them cached, and 4 output tokens cost 11. */
const PRICING = { input_tokens: 1_000_000, output_tokens: 1_000_000, cached_input_tokens: 0 };
const COST = 11;

async function ok(app: TestApp, ...call: Parameters<TestApp["api"]>): Promise<any> {
  const response = await app.api(...call);
  const text = await response.text();
  if (response.status >= 300) throw new Error(`${call[0]} ${call[1]}: ${response.status} ${text}`);
  return text === "" ? null : JSON.parse(text);
}

interface Person {
  readonly id: string;
  readonly key: string;
  readonly headers: Record<string, string>;
}

async function makePerson(
  app: TestApp,
  name: string,
  terms: { readonly models?: readonly string[] } = {},
): Promise<Person> {
  const { id } = await ok(app, "POST", "/admin/v1/principals", { name, kind: "user", role: "member" });
  const { key } = await ok(app, "POST", "/admin/v1/keys", { principal: name, ...terms });
  return { id, key, headers: { authorization: `Bearer ${key}` } };
}

const make = (app: TestApp, more: object = {}, headers?: Record<string, string>) =>
  ok(app, "POST", "/v1/responses", { model: "gpt", input: "hello", ...more }, headers);

/** The rows of the log, the oldest first. */
async function logOf(app: TestApp, query = ""): Promise<any[]> {
  const { requests } = await ok(app, "GET", `/admin/v1/requests?limit=500${query}`);
  return requests.toReversed();
}

/** Requests that this process has counted as ended without their usage. */
async function countUnmetered(app: TestApp): Promise<number> {
  const text = await (await app.api("GET", "/metrics")).text();
  return Number(/proxy_unmetered_total\{[^}]*endpoint="responses"[^}]*\} ([0-9]+)/.exec(text)?.[1] ?? 0);
}

/** The words of a refusal, without the id of its request. */
async function wordsOf(response: Response): Promise<{ status: number; code: string; message: string }> {
  const { error }: any = await response.json();
  return {
    status: response.status,
    code: error.code,
    message: error.message.replace(/ \(request [0-9a-f-]{36}\)$/, ""),
  };
}

const WAYS = [
  ["GET", ""],
  ["DELETE", ""],
  ["POST", "/cancel"],
  ["GET", "/input_items"],
] as const;

describe("a response by its id", () => {
  test.each(["/v1", ""])(
    "is asked for under %p/responses/{id}, its query and answer pass as they are, and each leaves one event that used nothing",
    async (prefix) => {
      const { app, provider } = await startSite();
      const made = await make(app);
      const { upstream } = provider;
      for (const [method, action] of [WAYS[0], WAYS[3], WAYS[2], WAYS[1]]) {
        const response = await app.api(method, `${prefix}/responses/${made.id}${action}?include[]=a&b=%20`);
        expect(response.status).toBe(200);
        expect(response.headers.get("x-proxy-provider")).toBe("openai");
        expect(response.headers.get("x-proxy-model")).toBe("gpt");
        await response.text();
        const sent = upstream.lastRequest();
        expect([sent.method, sent.target]).toEqual([
          method,
          `/v1/responses/${made.id}${action}?include[]=a&b=%20`,
        ]);
        expect(sent.headers.get("authorization")).toBe("Bearer sk-upstream");
        expect(sent.headers.has("content-type")).toBe(false);
        expect(sent.body.length).toBe(0);
      }
      expect(upstream.requests).toHaveLength(5);
      const rows = await logOf(app);
      expect(rows.map(({ endpoint, model, outcome, cost }) => [endpoint, model, outcome, cost])).toEqual([
        ["responses", "gpt", "ok", COST],
        ["responses/retrieve", "gpt", "ok", null],
        ["responses/input_items", "gpt", "ok", null],
        ["responses/cancel", "gpt", "ok", null],
        ["responses/delete", "gpt", "ok", null],
      ]);
      expect(rows.slice(1).every(({ units }) => Object.keys(units).length === 0)).toBe(true);
      // Forgotten: the provider is not asked again.
      expect((await app.api("GET", `/v1/responses/${made.id}`)).status).toBe(404);
      expect(upstream.requests).toHaveLength(5);
    },
  );

  test("is asked for by HEAD as by GET, and answered without its body", async () => {
    const { app, provider } = await startSite();
    const { id } = await make(app);
    const response = await app.api("HEAD", `/v1/responses/${id}?stream=true`);
    expect([response.status, await response.text()]).toEqual([200, ""]);
    expect(response.headers.get("x-proxy-provider")).toBe("openai");
    const { method, target } = provider.upstream.lastRequest();
    // What is asked for as a stream would stay open: there is nobody to read it.
    expect([method, target]).toEqual(["GET", expect.stringMatching(/\/responses\/[^?]+$/)]);
    expect((await app.api("HEAD", "/v1/responses/resp_of_nobody")).status).toBe(404);
    const page = await app.api("HEAD", `/responses/${id}`, undefined, { accept: "text/html" });
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect((await logOf(app)).map(({ endpoint }) => endpoint)).toEqual(["responses", "responses/retrieve"]);
  });

  test("of another principal is not found by any of 1,000 ids, by any method, and no request goes out for it", async () => {
    const { app, provider } = await startSite();
    const eve = await makePerson(app, "eve");
    const ids = (await inTens(1_000, () => make(app))).map(({ id }) => id as string);
    expect(new Set(ids).size).toBe(1_000);
    const before = provider.upstream.requests.length;
    const answers = await inTens(1_000, async (at) => {
      const [method, action] = WAYS[at % WAYS.length]!;
      return wordsOf(await app.api(method, `/v1/responses/${ids[at]}${action}`, undefined, eve.headers));
    });
    const unknown = await wordsOf(await app.api("GET", "/v1/responses/resp_none", undefined, eve.headers));
    expect(unknown).toMatchObject({ status: 404, code: "response_not_found" });
    for (const answer of answers) expect(answer).toEqual(unknown);
    expect(provider.upstream.requests).toHaveLength(before);
    // Each is still its owner's.
    expect((await app.api("GET", `/v1/responses/${ids[999]}`)).status).toBe(200);
  }, 60_000);

  test("is not found when it is unknown, expired, deleted, or of a model that is gone or outside of the key: all in the same words", async () => {
    const { app, provider, advanceDays } = await startSite();
    const ann = await makePerson(app, "ann");
    const other = await ok(app, "POST", "/admin/v1/keys", { principal: "ann", models: ["another"] });
    const ask = async (id: string, headers = ann.headers) =>
      wordsOf(await app.api("GET", `/v1/responses/${id}`, undefined, headers));
    const unknown = await ask("resp_none");
    expect(unknown).toMatchObject({ status: 404, code: "response_not_found" });

    const made = await make(app, {}, ann.headers);
    expect(await ask(made.id, { authorization: `Bearer ${other.key}` })).toEqual(unknown);
    const before = provider.upstream.requests.length;
    advanceDays(29);
    expect((await app.api("GET", `/v1/responses/${made.id}`, undefined, ann.headers)).status).toBe(200);
    advanceDays(2);
    expect(await ask(made.id)).toEqual(unknown);
    const late = await make(app, {}, ann.headers);
    await ok(app, "DELETE", "/admin/v1/models/gpt");
    await ok(app, "POST", "/admin/v1/models", {
      alias: "gpt",
      provider: "openai",
      upstream_name: "gpt",
      capabilities: ["responses"],
    });
    expect(await ask(late.id)).toEqual(unknown);
    expect(provider.upstream.requests).toHaveLength(before + 2);
  });

  test("is found after a rename, and by a key of the old name as long as that stays a name of the model", async () => {
    const { app } = await startSite();
    const ann = await makePerson(app, "ann");
    const scoped = await ok(app, "POST", "/admin/v1/keys", { principal: "ann", models: ["gpt"] });
    const headers = { authorization: `Bearer ${scoped.key}` };
    const made = await make(app, {}, headers);
    await ok(app, "PATCH", "/admin/v1/models/gpt", { alias: "gpt-new" });
    const ask = (given: Record<string, string>) =>
      app.api("GET", `/v1/responses/${made.id}`, undefined, given);
    expect((await ask(ann.headers)).status).toBe(200);
    expect((await logOf(app)).at(-1)).toMatchObject({ model: "gpt-new", endpoint: "responses/retrieve" });
    await ok(app, "POST", "/admin/v1/models", { alias: "gpt", target: "gpt-new" }).catch(() => null);
    expect((await ask(headers)).status).toBe(200);
    await ok(app, "DELETE", "/admin/v1/models/gpt");
    expect((await ask(headers)).status).toBe(404);
    expect((await ask(ann.headers)).status).toBe(200);
  });

  test("stays at its provider when its model moves, and a provider that is disabled answers as on chat", async () => {
    const { app, provider } = await startSite();
    const second = await startResponsesProvider();
    open.push(second);
    const made = await make(app);
    await ok(app, "POST", "/admin/v1/providers", { name: "second", base_url: second.baseUrl });
    await ok(app, "PATCH", "/admin/v1/models/gpt", { provider: "second", upstream_name: "gpt" });
    const response = await app.api("GET", `/v1/responses/${made.id}`);
    expect([response.status, response.headers.get("x-proxy-provider")]).toEqual([200, "openai"]);
    expect(second.upstream.requests).toHaveLength(0);
    expect((await make(app)).id).not.toBe(made.id);
    expect(second.upstream.requests).toHaveLength(1);

    await ok(app, "PATCH", "/admin/v1/providers/openai", { enabled: false });
    const before = provider.upstream.requests.length;
    expect(await wordsOf(await app.api("GET", `/v1/responses/${made.id}`))).toEqual({
      status: 404,
      code: "model_not_found",
      message: "The model `gpt` is not served: its provider is disabled.",
    });
    expect(provider.upstream.requests).toHaveLength(before);
    await ok(app, "PATCH", "/admin/v1/providers/openai", {
      enabled: true,
      base_url: "http://127.0.0.1:1/v1",
    });
    expect(await wordsOf(await app.api("GET", `/v1/responses/${made.id}`))).toMatchObject({
      status: 502,
      code: "provider_unreachable",
    });
    await ok(app, "DELETE", "/admin/v1/providers/openai");
    expect((await wordsOf(await app.api("GET", `/v1/responses/${made.id}`))).code).toBe("response_not_found");
  });

  test("that two people were given is each one's own: deleting one leaves the other", async () => {
    const { app, provider } = await startSite({ toId: () => "resp_same" });
    const [ann, bob] = [await makePerson(app, "ann"), await makePerson(app, "bob")];
    await make(app, {}, ann.headers);
    await make(app, {}, bob.headers);
    await ok(app, "DELETE", "/v1/responses/resp_same", undefined, ann.headers);
    provider.made.get("resp_same")!.deleted = false;
    const ask = (person: Person) => app.api("GET", "/v1/responses/resp_same", undefined, person.headers);
    expect((await ask(ann)).status).toBe(404);
    expect((await ask(bob)).status).toBe(200);
  });

  test("is not kept where the answer says store: false, is no response or is an error", async () => {
    const { app, provider } = await startSite({
      answer(call) {
        const kind = /"input":"(\w+)"/.exec(call.request.body.toString())?.[1];
        if (kind === undefined || kind === "hello" || kind === "unstored") return false;
        const object = kind === "compaction" ? "response.compaction" : "response";
        const status = kind === "refused" ? 400 : 200;
        void call.reply({
          status,
          headers: ["content-type: application/json"],
          body: JSON.stringify({ id: `resp_${kind}`, object, status: "completed" }),
        });
        return true;
      },
    });
    const unstored = await make(app, { input: "unstored", store: false });
    await make(app, { input: "compaction" });
    await app.api("POST", "/v1/responses", { model: "gpt", input: "refused" });
    await ok(app, "POST", "/v1/responses/compact", { model: "gpt", input: "compact" });
    const before = provider.upstream.requests.length;
    for (const id of [unstored.id, "resp_compaction", "resp_refused", "resp_compact"])
      expect((await app.api("GET", `/v1/responses/${id}`)).status).toBe(404);
    expect(provider.upstream.requests).toHaveLength(before);
  });

  test("is found from the moment in which a compressed stream has told it", async () => {
    const response: ProvidedResponse = {
      id: "resp_compressed",
      isBackground: false,
      isStored: true,
      status: "in_progress",
      deleted: false,
    };
    const held = Promise.withResolvers<void>();
    const { app } = await startSite({
      answer(call, { made }) {
        if (call.request.method !== "POST") return false;
        made.set(response.id, response);
        void (async () => {
          const gzip = createGzip();
          const pieces: Buffer[] = [];
          gzip.on("data", (piece: Buffer) => pieces.push(piece));
          gzip.write(toEvent("response.created", response));
          await new Promise<void>((resolve) => gzip.flush(resolve));
          await call.beginStream(["content-type: text/event-stream", "content-encoding: gzip"]);
          for (const piece of pieces) await call.sendChunk(piece);
          await held.promise;
          call.reset();
        })();
        return true;
      },
    });
    const stream = await fetch(`${app.url}/v1/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${app.adminKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "gpt", input: "hi", stream: true }),
      // The client's own decoder waits for more.
      decompress: false,
    });
    const reader = stream.body!.getReader();
    const decoded: Buffer[] = [];
    const gunzip = createGunzip().on("data", (piece: Buffer) => decoded.push(piece));
    while (!Buffer.concat(decoded).includes("resp_compressed")) {
      gunzip.write((await reader.read()).value);
      await new Promise<void>((resolve) => gunzip.write(new Uint8Array(0), () => resolve()));
    }
    expect((await app.api("GET", "/v1/responses/resp_compressed")).status).toBe(200);
    held.resolve();
    await reader.cancel().catch(() => undefined);
  });

  test("is found from the moment in which a stream has told it, while the stream is still open", async () => {
    const held = Promise.withResolvers<void>();
    const response: ProvidedResponse = {
      id: "resp_streamed",
      isBackground: false,
      isStored: true,
      status: "completed",
      deleted: false,
    };
    const { app } = await startSite({
      answer(call, { made }) {
        if (call.request.method !== "POST") return false;
        made.set(response.id, response);
        void (async () => {
          await call.beginStream();
          // Cut inside of the event that tells the id.
          const created = toEvent("response.created", { ...response, status: "in_progress" });
          await call.sendChunk(created.slice(0, 60));
          await call.sendChunk(created.slice(60));
          await held.promise;
          await call.sendChunk(toEvent("response.completed", response));
          await call.endStream();
        })();
        return true;
      },
    });
    const stream = await app.api("POST", "/v1/responses", { model: "gpt", input: "hi", stream: true });
    const reader = stream.body!.getReader();
    let told = "";
    while (!told.includes("\n\n")) told += new TextDecoder().decode((await reader.read()).value);
    expect(told).toContain("resp_streamed");
    expect((await app.api("GET", "/v1/responses/resp_streamed")).status).toBe(200);
    held.resolve();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      rest += new TextDecoder().decode(value);
    }
    expect(told + rest).toBe(
      toEvent("response.created", { ...response, status: "in_progress" }) +
        toEvent("response.completed", response),
    );
    expect((await logOf(app))[0]).toMatchObject({ endpoint: "responses", outcome: "ok", cost: COST });
  });

  test("may be answered by a stream, which passes as it is", async () => {
    const events = 'event: a\ndata: {"type":"response.output_text.delta"}\n\ndata: [DONE]\n\n';
    const { app } = await startSite({
      answer(call) {
        if (call.request.method !== "GET") return false;
        void (async () => {
          await call.beginStream();
          await call.sendChunk(events);
          await call.endStream();
        })();
        return true;
      },
    });
    const made = await make(app);
    const response = await app.api("GET", `/v1/responses/${made.id}?stream=true&starting_after=3`);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(await response.text()).toBe(events);
    expect((await logOf(app)).at(-1)).toMatchObject({
      endpoint: "responses/retrieve",
      outcome: "ok",
      cost: null,
    });
  });

  test("that the provider does not have any more passes its error, and stays where it was", async () => {
    const { app, provider } = await startSite();
    const made = await make(app);
    provider.made.get(made.id)!.deleted = true;
    for (const [method, action] of WAYS) {
      const response = await app.api(method, `/v1/responses/${made.id}${action}`);
      expect([response.status, response.headers.get("x-proxy-error-source")]).toEqual([404, "upstream"]);
      expect(await response.json()).toEqual({ error: { message: "none", type: "invalid_request_error" } });
    }
    provider.made.get(made.id)!.deleted = false;
    expect((await app.api("GET", `/v1/responses/${made.id}`)).status).toBe(200);
    const failed = (await logOf(app)).slice(1, 5);
    expect(failed.map(({ outcome, error_kind }) => [outcome, error_kind])).toEqual(
      WAYS.map(() => ["upstream_error", "invalid_request_error"]),
    );
  });

  test("is asked for with a key or a session before the id is looked at, and a session's mutation by its own origin alone", async () => {
    const { app } = await startSite();
    const made = await make(app);
    for (const id of [made.id, "resp_none"])
      expect((await app.api("GET", `/v1/responses/${id}`, undefined, {})).status).toBe(401);
    const signedIn = await app.api("POST", "/auth/password", { password: app.adminPassword }, {});
    const cookie = signedIn.headers.get("set-cookie")!.split(";", 1)[0]!;
    expect((await app.api("GET", `/v1/responses/${made.id}`, undefined, { cookie })).status).toBe(200);
    for (const [method, action] of [WAYS[2], WAYS[1]]) {
      const ask = async (origin: string) =>
        (await app.api(method, `/v1/responses/${made.id}${action}`, undefined, { cookie, origin })).status;
      expect(await ask("https://evil.example")).toBe(403);
      expect(await ask(app.url)).toBe(200);
    }
  });

  test("is the page for a browser that navigates to /responses/{id}, and never under /v1", async () => {
    const { app, provider } = await startSite();
    const made = await make(app);
    const headers = { authorization: `Bearer ${app.adminKey}`, accept: "text/html,*/*" };
    const before = provider.upstream.requests.length;
    const page = await app.api("GET", `/responses/${made.id}`, undefined, headers);
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(provider.upstream.requests).toHaveLength(before);
    const json = await app.api("GET", `/v1/responses/${made.id}`, undefined, headers);
    expect(json.headers.get("content-type")).toBe("application/json");
    expect(provider.upstream.requests).toHaveLength(before + 1);
  });

  test("is an unknown path until a model has the capability, and its id is in no trace of the refusal", async () => {
    const app = await startApp();
    open.push(app);
    for (const [method, action] of WAYS) {
      const response = await app.api(method, `/v1/responses/resp_closed${action}`);
      expect((await wordsOf(response)).code).toBe("unknown_endpoint");
    }
    const { refusals } = await ok(app, "GET", "/admin/v1/refusals");
    expect(refusals.length).toBeGreaterThan(0);
    expect(JSON.stringify(refusals)).not.toContain("resp_closed");
  });

  test("is in no file of the data folder and in no line of the log, whatever is asked", async () => {
    const id = `resp_marker_${crypto.randomUUID()}`;
    const { app, logLines } = await startSite({ toId: () => id });
    const eve = await makePerson(app, "eve");
    await make(app, { background: true });
    for (const [method, action] of WAYS) {
      await (await app.api(method, `/v1/responses/${id}${action}`, undefined, eve.headers)).text();
      await (await app.api(method, `/v1/responses/${id}${action}/more`)).text();
    }
    for (const [method, action] of [WAYS[0], WAYS[3], WAYS[2], WAYS[1]])
      await (await app.api(method, `/v1/responses/${id}${action}`)).text();
    const log = JSON.stringify(await logOf(app)) + JSON.stringify(await ok(app, "GET", "/admin/v1/refusals"));
    expect(log).not.toContain(id);
    const metrics = await app.api("GET", "/metrics");
    expect(await metrics.text()).not.toContain(id);
    for (const file of listFiles(app.dataDir)) expect(readFileSync(file).includes(id)).toBe(false);
    expect(logLines.join("")).not.toContain(id);
  });
});

describe("a response in the background", () => {
  const poll = (app: TestApp, id: string) => ok(app, "GET", `/v1/responses/${id}`);
  const created = async (app: TestApp) =>
    (await logOf(app)).findLast(({ endpoint }) => endpoint === "responses");
  /** The newest one is, and nothing counts as unmetered for it. */
  const expectPending = async (app: TestApp) => {
    expect(await created(app)).toMatchObject({ outcome: "ok", cost: null, units: {}, pending: true });
    expect(await countUnmetered(app)).toBe(0);
  };

  test.each([
    ["completed", { outcome: "ok", cost: COST, error_kind: null }],
    ["incomplete", { outcome: "ok", cost: COST, error_kind: null }],
    ["failed", { outcome: "upstream_error", cost: null, error_kind: "server_error" }],
    ["cancelled", { outcome: "cancelled", cost: null, error_kind: null }],
  ] as const)("that is %s is pending until a poll says so, and settled once", async (status, expected) => {
    const { app, provider } = await startSite();
    const made = await make(app, { background: true });
    expect(made).toMatchObject({ status: "queued", usage: null });
    await poll(app, made.id);
    await expectPending(app);
    provider.made.get(made.id)!.status = status;
    expect(await poll(app, made.id)).toMatchObject({ status });
    const settled = await created(app);
    expect(settled).toMatchObject(expected);
    expect(settled).not.toHaveProperty("pending");
    // Later polls change nothing, whatever they tell.
    provider.made.get(made.id)!.status = "completed";
    await ok(app, "PATCH", "/admin/v1/models/gpt", { pricing: { ...PRICING, output_tokens: 9_000_000 } });
    for (let again = 0; again < 3; again += 1) await poll(app, made.id);
    expect(await created(app)).toEqual(settled);
    const rows = await logOf(app);
    expect(rows.filter(({ endpoint }) => endpoint === "responses/retrieve")).toHaveLength(5);
    expect(rows.every(({ endpoint, outcome }) => endpoint === "responses" || outcome === "ok")).toBe(true);
  });

  test("is settled by its cancellation and by its deletion as well, and at the prices of then", async () => {
    const { app, provider } = await startSite();
    const cancelled = await make(app, { background: true });
    await ok(app, "POST", `/v1/responses/${cancelled.id}/cancel`);
    expect(await created(app)).toMatchObject({ outcome: "cancelled", cost: null });
    const deleted = await make(app, { background: true });
    await ok(app, "DELETE", `/v1/responses/${deleted.id}`);
    const row = await created(app);
    expect(row).toMatchObject({ outcome: "ok", cost: null, units: {} });
    expect(row).not.toHaveProperty("pending");
    const dear = await make(app, { background: true });
    await ok(app, "PATCH", "/admin/v1/models/gpt", {
      pricing: { input_tokens: 2_000_000, output_tokens: 2_000_000, cached_input_tokens: 0 },
    });
    provider.made.get(dear.id)!.status = "completed";
    await poll(app, dear.id);
    expect(await created(app)).toMatchObject({ outcome: "ok", cost: 2 * COST });
  });

  test("has a column of CSV behind all others, only in an export that has a pending row", async () => {
    const { app, provider } = await startSite();
    const csv = async (query = "") => {
      const headers = { authorization: `Bearer ${app.adminKey}`, accept: "text/csv" };
      const text = await (await app.api("GET", `/stats/requests${query}`, undefined, headers)).text();
      return text
        .trim()
        .split("\r\n")
        .map((line) => line.split(","));
    };
    await make(app);
    const before = await csv();
    const made = await make(app, { background: true });
    for (const query of ["", "?limit=10"]) {
      const [head, newest, oldest] = await csv(query);
      expect([head, oldest]).toEqual([
        [...before[0]!, "pending"],
        [...before[1]!, ""],
      ]);
      expect(newest?.at(-1)).toBe("true");
    }
    // The only row that is pending is none of these.
    for (const query of ["?limit=1&offset=1", "?min_cost=1", "?outcome=cancelled", "?model=other"])
      expect((await csv(query))[0]).toEqual(before[0]);
    await make(app);
    expect((await csv())[0]?.at(-1)).toBe("pending");
    provider.made.get(made.id)!.status = "completed";
    await poll(app, made.id);
    expect((await csv())[0]).toEqual(before[0]);
  });

  test("whose id is given to its caller twice is settled for the first request, and not reported for the second", async () => {
    const { app, provider } = await startSite({ toId: () => "resp_bg" });
    await make(app, { background: true });
    await make(app, { background: true });
    expect(await created(app)).toMatchObject({ cost: null, unmetered: true });
    provider.made.get("resp_bg")!.status = "completed";
    await poll(app, "resp_bg");
    const rows = (await logOf(app)).filter(({ endpoint }) => endpoint === "responses");
    expect(rows).toMatchObject([{ cost: COST }, { cost: null, unmetered: true }]);
    expect(rows.some((row) => "pending" in row)).toBe(false);
  });

  test("is not settled by an answer that holds another response than the one that was asked for", async () => {
    const other: ProvidedResponse = {
      id: "resp_other",
      isBackground: true,
      isStored: true,
      status: "completed",
      deleted: false,
    };
    let isOther = true;
    const { app, provider } = await startSite({
      answer(call) {
        if (call.request.method === "POST" || !isOther) return false;
        const body = JSON.stringify(toResponse(other));
        void call.reply({ status: 200, headers: ["content-type: application/json"], body });
        return true;
      },
    });
    const made = await make(app, { background: true });
    await ok(app, "GET", `/v1/responses/${made.id}`);
    await ok(app, "DELETE", `/v1/responses/${made.id}`);
    expect(await created(app)).toMatchObject({ outcome: "ok", cost: null, pending: true });
    isOther = false;
    provider.made.get(made.id)!.status = "completed";
    await poll(app, made.id);
    expect(await created(app)).toMatchObject({ outcome: "ok", cost: COST });
  });

  test("is settled once by ten polls of one moment, in limits as in reports", async () => {
    const { app, provider } = await startSite();
    await ok(app, "POST", "/admin/v1/limits", {
      name: "month",
      subject: {},
      measure: "cost",
      amount: 1_000,
      window: "month",
      action: "refuse",
    });
    const made = await make(app, { background: true });
    provider.made.get(made.id)!.status = "completed";
    await Promise.all(Array.from({ length: 10 }, () => poll(app, made.id)));
    expect(await created(app)).toMatchObject({ cost: COST });
    const { limits } = await ok(app, "GET", "/admin/v1/limits");
    expect(limits).toMatchObject([{ used: COST, unknown_requests: 0 }]);
  });

  test.each([
    ["left by its caller", "left"],
    ["broken off", "broken"],
    ["complete without an end", "complete"],
  ])("leaves a pending event when its stream is %s", async (_how, how) => {
    const heard = Promise.withResolvers<void>();
    const { app, provider } = await startSite({
      answer(call, { made }) {
        if (call.request.method !== "POST") return false;
        const response: ProvidedResponse = {
          id: "resp_bg",
          isBackground: true,
          isStored: true,
          status: "in_progress",
          deleted: false,
        };
        made.set(response.id, response);
        void (async () => {
          await call.beginStream();
          await call.sendChunk(toEvent("response.created", response));
          await heard.promise;
          if (how === "broken") call.reset();
          if (how === "complete") await call.endStream();
        })();
        return true;
      },
    });
    const stream = await app.api("POST", "/v1/responses", {
      model: "gpt",
      input: "hi",
      background: true,
      stream: true,
    });
    const reader = stream.body!.getReader();
    await reader.read();
    heard.resolve();
    if (how === "left") await reader.cancel();
    else await reader.read().catch(() => undefined);
    await until(
      async () => (await logOf(app)).length === 1,
      () => "no event",
    );
    await expectPending(app);
    provider.made.get("resp_bg")!.status = "completed";
    await poll(app, "resp_bg");
    expect(await created(app)).toMatchObject({ outcome: "ok", cost: COST });
  });

  test.each([
    ["told to a poll", "left by its caller", "GET", "left"],
    ["told to a poll", "broken off", "GET", "broken"],
    ["told to a poll", "complete without an end", "GET", "complete"],
    ["told to a poll", "complete with its usage", "GET", "told"],
    ["cancelled", "complete without an end", "cancel", "complete"],
    ["deleted", "complete without an end", "DELETE", "complete"],
  ])("that is %s while its stream is open is settled once that is %s", async (_told, _how, by, how) => {
    const heard = Promise.withResolvers<void>();
    const { app, provider } = await startSite({
      answer(call, { made }) {
        if (call.request.method !== "POST" || call.request.target.endsWith("/cancel")) return false;
        const response: ProvidedResponse = {
          id: "resp_bg",
          isBackground: true,
          isStored: true,
          status: "in_progress",
          deleted: false,
        };
        made.set(response.id, response);
        void (async () => {
          await call.beginStream();
          await call.sendChunk(toEvent("response.created", response));
          await heard.promise;
          if (how === "broken") return call.reset();
          if (how === "told")
            await call.sendChunk(toEvent("response.completed", { ...response, status: "completed" }));
          if (how !== "left") await call.endStream();
        })();
        return true;
      },
    });
    await ok(app, "POST", "/admin/v1/limits", {
      name: "month",
      subject: {},
      measure: "cost",
      amount: 1_000,
      window: "month",
      action: "refuse",
    });
    const ann = await makePerson(app, "ann");
    const body = { model: "gpt", input: "hi", background: true, stream: true };
    const reader = (await app.api("POST", "/v1/responses", body, ann.headers)).body!.getReader();
    await reader.read();
    if (by !== "cancel") provider.made.get("resp_bg")!.status = "completed";
    if (by === "GET") await ok(app, "GET", "/v1/responses/resp_bg", undefined, ann.headers);
    else if (by === "cancel") await ok(app, "POST", "/v1/responses/resp_bg/cancel", undefined, ann.headers);
    else await ok(app, "DELETE", "/v1/responses/resp_bg", undefined, ann.headers);
    heard.resolve();
    if (how === "left") await reader.cancel();
    else
      while (
        await reader.read().then(
          ({ done }) => !done,
          () => false,
        )
      );
    await until(
      async () => (await created(app)) !== undefined,
      () => "no event",
    );
    const row = await created(app);
    expect(row).not.toHaveProperty("pending");
    const isTold = by === "GET";
    expect(row).toMatchObject({ outcome: by === "cancel" ? "cancelled" : "ok", cost: isTold ? COST : null });
    const { limits } = await ok(app, "GET", "/admin/v1/limits");
    expect(limits).toMatchObject([{ used: isTold ? COST : 0, unknown_requests: isTold ? 0 : 1 }]);
    expect(await countUnmetered(app)).toBe(isTold ? 0 : 1);
  });

  test("is not pending when its stream has told of its end, and polls change nothing", async () => {
    const { app } = await startSite({
      answer(call, { made }) {
        if (call.request.method !== "POST") return false;
        const response: ProvidedResponse = {
          id: "resp_bg",
          isBackground: true,
          isStored: true,
          status: "completed",
          deleted: false,
        };
        made.set(response.id, response);
        void (async () => {
          await call.beginStream();
          await call.sendChunk(toEvent("response.created", { ...response, status: "queued" }));
          await call.sendChunk(toEvent("response.completed", response));
          await call.endStream();
        })();
        return true;
      },
    });
    const body = { model: "gpt", input: "hi", background: true, stream: true };
    await (await app.api("POST", "/v1/responses", body)).text();
    const row = await created(app);
    expect(row).toMatchObject({ outcome: "ok", cost: COST });
    await poll(app, "resp_bg");
    expect(await created(app)).toEqual(row);
  });

  test("of a principal that is deleted is settled as not reported by the next start, and never found again", async () => {
    const folder = makeFolder();
    const provider = await startResponsesProvider();
    open.push({ stop: async () => folder.remove() }, provider);
    const dataDir = join(folder.path, "data");
    const first = await startApp({ dataDir });
    await provide(first, provider);
    const ann = await makePerson(first, "ann");
    const made = await make(first, { background: true }, ann.headers);
    await make(first, {}, ann.headers);
    await ok(first, "DELETE", `/admin/v1/principals/${ann.id}`);
    expect((await first.api("GET", `/v1/responses/${made.id}`)).status).toBe(404);
    expect(await countUnmetered(first)).toBe(0);
    await first.stop();
    const second = await startApp({ dataDir });
    open.push(second);
    await until(
      async () => (await countUnmetered(second)) === 1,
      () => "it was not settled",
    );
    const [row] = await logOf(second);
    expect(row).toMatchObject({ principal: "ann", outcome: "ok", cost: null, unmetered: true });
    expect(row).not.toHaveProperty("pending");
    expect(provider.upstream.requests).toHaveLength(2);
  });
});

describe("with PROXY_RESPONSES_DAYS=0", () => {
  test("no id is kept, every path by an id says so, and an answer in the background is not reported", async () => {
    const { app, provider } = await startSite({ config: { responsesDays: 0 } });
    const made = await make(app, { background: true });
    for (const [method, action] of WAYS) {
      expect(await wordsOf(await app.api(method, `/v1/responses/${made.id}${action}`))).toEqual({
        status: 404,
        code: "response_not_found",
        message: "There is no such response: this server keeps no ids of responses (PROXY_RESPONSES_DAYS=0).",
      });
    }
    expect(provider.upstream.requests).toHaveLength(1);
    const [row] = await logOf(app);
    expect(row).toMatchObject({ endpoint: "responses", outcome: "ok", cost: null });
    expect(row).not.toHaveProperty("pending");
    expect(await countUnmetered(app)).toBe(1);
  });
});

async function inTens<Result>(count: number, work: (at: number) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < count; at += 10)
    results.push(
      ...(await Promise.all(Array.from({ length: Math.min(10, count - at) }, (_, next) => work(at + next)))),
    );
  return results;
}

function listFiles(folder: string): readonly string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? listFiles(path) : [path];
  });
}
