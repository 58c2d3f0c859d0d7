import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { startApp, type TestApp } from "../support/app.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";
import { expectError } from "./support.ts";

let app: TestApp;
let upstream: ScriptedUpstream;

beforeEach(async () => {
  upstream = await startUpstream();
  app = await startApp({ messagesBaseUrl: new URL(upstream.baseUrl).origin });
  await make("/admin/v1/providers", { name: "up", base_url: upstream.baseUrl });
  for (const alias of ["gpt", "mini", "secret"]) {
    const capabilities = ["chat", "chat_stream", "completions", "embeddings"];
    await make("/admin/v1/models", { alias, provider: "up", upstream_name: "u", capabilities });
  }
  await make("/admin/v1/models", { alias: "fast", target: "mini" });
  await make("/admin/v1/models", { alias: "tucked", target: "mini", hidden: true });
});
afterEach(async () => {
  await upstream.stop();
  await app.stop();
});

async function make(path: string, body: object): Promise<any> {
  const response = await app.api("POST", path, body);
  expect({ path, ok: response.ok }).toEqual({ path, ok: true });
  return await response.json();
}

const makeKey = (terms: object) => make("/admin/v1/keys", { principal: "admin", ...terms });
const by = (key: string) => ({ authorization: `Bearer ${key}` });
const ask = (key: string, model: string, path = "/v1/chat/completions", more: object = {}) =>
  app.api("POST", path, { model, messages: [], ...more }, by(key));

async function list(key: string | null, query = ""): Promise<string[]> {
  const response = await app.api("GET", `/v1/models${query}`, undefined, key === null ? {} : by(key));
  const { data }: any = await response.json();
  return data.map(({ id }: { id: string }) => id);
}

describe("a key with models", () => {
  test("is told of any other model as of one that is not there, on every endpoint, and nothing goes upstream", async () => {
    const { key } = await makeKey({ models: ["fast", "later"] });
    for (const path of ["chat/completions", "completions", "embeddings"]) {
      for (const prefix of ["/v1/", "/"]) {
        const answers = [];
        // One that is there, the target of the one it may use, one that it may use and that is not there, and one of none.
        for (const model of ["gpt", "mini", "later", "nothing"]) {
          const response = await ask(key, model, prefix + path);
          const message = await expectError(response, "404 model_not_found", "model");
          answers.push(message.replaceAll(model, "…"));
        }
        expect(new Set(answers).size).toBe(1);
      }
    }
    expect(upstream.requests.length).toBe(0);
    const asked = ask(key, "fast");
    await (await upstream.nextCall()).reply({ body: "{}" });
    expect((await asked).status).toBe(200);
  });

  test("lists those of its models that are served, whatever else is asked for, and everything to others", async () => {
    const { key } = await makeKey({ models: ["gpt", "tucked", "later"] });
    expect(await list(key)).toEqual(["gpt"]);
    expect(await list(key, "?include_hidden=1")).toEqual(["gpt", "tucked"]);
    expect(await list(key, "?endpoint=chat&include_pricing=1")).toEqual(["gpt"]);
    const all = ["fast", "gpt", "mini", "secret"];
    for (const other of [null, app.adminKey, "lp_unknown"]) expect(await list(other)).toEqual(all);
    await make("/admin/v1/models", { alias: "later", target: "mini" });
    expect(await list(key)).toEqual(["gpt", "later"]);
  });

  test("whose models were all deleted or renamed may use none, until it is given others", async () => {
    const { id, key } = await makeKey({ models: ["gpt", "fast"] });
    await app.api("DELETE", "/admin/v1/models/fast");
    await app.api("PATCH", "/admin/v1/models/gpt", { alias: "gpt-old" });
    expect(await list(key)).toEqual([]);
    for (const model of ["gpt", "gpt-old", "fast", "mini"])
      await expectError(await ask(key, model), "404 model_not_found");
    // A list is of names: another model of the name that is listed is meant by it.
    await make("/admin/v1/models", { alias: "gpt", target: "mini" });
    expect(await list(key)).toEqual(["gpt"]);
    await app.api("PATCH", `/admin/v1/keys/${id}`, { models: ["gpt-old"] });
    expect(await list(key)).toEqual(["gpt-old"]);
    await app.api("PATCH", `/admin/v1/keys/${id}`, { models: null });
    expect(await list(key)).toEqual(["gpt", "gpt-old", "mini", "secret"]);
  });
});

test("a relay token that is paused or whose expiry is over relays nothing, says why, and works again when it may", async () => {
  const { id, token } = await make("/my/relay-tokens", {});
  const path = `/transparent/messages/${token}/v1/messages`;
  const relay = () => app.api("POST", path, { model: "any", messages: [] }, { "x-api-key": "own" });
  const change = (body: object) => app.api("PATCH", `/my/relay-tokens/${id}`, body);
  await change({ enabled: false });
  const message = await expectError(await relay(), "404 unknown_relay_token", null);
  expect(message).toStartWith("This relay token is paused.");
  expect(message).not.toContain(token);
  expect(upstream.requests.length).toBe(0);
  await change({ enabled: true, expires_at: "2126-01-31T08:00:00Z" });
  const asked = relay();
  await (await upstream.nextCall()).reply({ body: "{}" });
  expect((await asked).status).toBe(200);
});

test("what ends a key in the middle of a stream ends no stream: it goes on and is counted, and the next request is refused", async () => {
  const ends: readonly ((id: string) => Promise<Response>)[] = [
    (id) => app.api("PATCH", `/admin/v1/keys/${id}`, { enabled: false }),
    (id) => app.api("PATCH", `/admin/v1/keys/${id}`, { models: ["mini"] }),
    async (id) => {
      // Past already when it arrives, on a machine that is slow enough: then a little later.
      for (let ms = 200; ; ms *= 4) {
        const soon = new Date(Date.now() + ms).toISOString();
        const response = await app.api("PATCH", `/admin/v1/keys/${id}`, { expires_at: soon });
        if (response.ok) return response;
      }
    },
    (id) => app.api("POST", `/admin/v1/keys/${id}/rotate`),
    (id) => app.api("DELETE", `/admin/v1/keys/${id}`),
  ];
  for (const [index, end] of ends.entries()) {
    const { id, key } = await makeKey({});
    const tags = { "x-proxy-tags": `case:${index}` };
    const body = { model: "gpt", messages: [], stream: true };
    const asked = app.api("POST", "/v1/chat/completions", body, { ...by(key), ...tags });
    const call = await upstream.nextCall();
    await call.beginStream();
    await call.sendChunk('data: {"choices":[{"delta":{"content":"a"}}]}\n\n');
    const response = await asked;
    const reader = response.body!.getReader();
    await reader.read();
    expect((await end(id)).status).toBe(200);
    // Until it is refused, which of an expiry is a moment later.
    for (;;) {
      const next = await app.api(
        "POST",
        "/v1/completions",
        { model: "gpt" },
        { ...by(key), "content-encoding": "x" },
      );
      const { error }: any = await next.json();
      if (error.code === "invalid_api_key") break;
      // Let in and not begun: with another list of models the key itself stays good.
      expect(error.code).toBe("invalid_json");
      if (index === 1) break;
    }
    await call.sendChunk('data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":5}}\n\n');
    await call.sendChunk("data: [DONE]\n\n");
    await call.endStream();
    let rest = "";
    for (let part = await reader.read(); !part.done; part = await reader.read())
      rest += new TextDecoder().decode(part.value);
    expect(rest).toEndWith("data: [DONE]\n\n");
    const row = await recorded(`case:${index}`);
    expect(row).toMatchObject({
      outcome: "ok",
      status_code: 200,
      units: { input_tokens: 7, output_tokens: 5 },
    });
  }
}, 30_000);

/** The row of the request log with this tag, once it is written. */
async function recorded(tag: string): Promise<any> {
  for (const startedMs = performance.now(); performance.now() - startedMs < 10_000;) {
    const { requests }: any = await (await app.api("GET", `/stats/requests?tag=${tag}`)).json();
    if (requests.length > 0) return requests[0];
  }
  throw new Error(`no request with ${tag} was recorded`);
}
