import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { call, expectError, startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
  await harness.deps.catalog.createProvider({ name: "acme", base_url: "http://127.0.0.1:9/v1" }, null);
  await harness.deps.catalog.createProvider(
    {
      name: "other",
      base_url: "http://127.0.0.1:9/v1",
      endpoints: { embeddings: "http://127.0.0.1:9/e?v=1" },
    },
    null,
  );
});
afterEach(() => harness.stop());

const MODELS = "/admin/v1/models";
const TIMESTAMP = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/);
let aliases = 0;
const freshAlias = () => `model-${(aliases += 1)}`;

async function create(fields: Record<string, unknown> = {}): Promise<string> {
  const body = { alias: freshAlias(), provider: "acme", upstream_name: "up", ...fields };
  const response = await call(harness, "POST", MODELS, { body });
  expect({ status: response.status, text: await response.text() }).toMatchObject({ status: 201 });
  return body.alias;
}

async function createName(target: string, fields: Record<string, unknown> = {}): Promise<string> {
  return create({ provider: undefined, upstream_name: undefined, target, ...fields });
}

async function get(alias: string): Promise<Record<string, unknown> | undefined> {
  const {
    models,
  }: {
    models: Record<string, unknown>[];
  } = await (await call(harness, "GET", `${MODELS}?limit=500`)).json();
  return models.find((model) => model["alias"] === alias);
}

const patch = (alias: string, body: unknown) =>
  call(harness, "PATCH", `${MODELS}/${encodeURIComponent(alias)}`, { body });

describe("POST /admin/v1/models", () => {
  test("binds an alias to a provider's model, with the defaults, and serves it at once", async () => {
    const alias = freshAlias();
    const body = {
      alias,
      provider: "acme",
      upstream_name: "gpt/1",
      pricing: { input_tokens: 0.15, output_tokens: null },
    };
    const response = await call(harness, "POST", MODELS, { body });
    expect([response.status, await response.json()]).toEqual([
      201,
      {
        alias,
        provider: "acme",
        upstream_name: "gpt/1",
        capabilities: ["chat", "chat_stream"],
        origin: "declared",
        created_at: TIMESTAMP,
        target: null,
        pricing: { input_tokens: 0.15 },
        pricing_inherited: false,
        hidden: false,
      },
    ]);
    const resolved = await call(harness, "GET", `/admin/v1/resolve?model=${alias}`);
    expect(resolved.status).toBe(200);
  });

  test("without a body is 400 invalid_json, not a refusal of a field", async () => {
    const response = await call(harness, "POST", MODELS);
    await expectError(response, "400 invalid_json", null);
    await expectError(await call(harness, "POST", MODELS, { body: {} }), "400 invalid_request", "provider");
  });

  test("makes a name for another model: everything is inherited, own prices override per unit", async () => {
    const target = await create({
      capabilities: ["embeddings"],
      pricing: { input_tokens: 2, output_tokens: 8 },
    });
    const name = await createName(target, {
      capabilities: ["chat"],
      pricing: { input_tokens: 1 },
      hidden: true,
      origin: "discovered",
    });
    expect(await get(name)).toEqual({
      alias: name,
      provider: "acme",
      upstream_name: "up",
      capabilities: ["embeddings"],
      origin: "discovered",
      created_at: TIMESTAMP,
      target,
      pricing: { input_tokens: 1, output_tokens: 8 },
      pricing_inherited: true,
      hidden: true,
    });
  });

  test.each([
    [{ alias: "bad alias" }, 400, "invalid_name", "alias"],
    [{ alias: 5 }, 400, "invalid_request", "alias"],
    [{ provider: "nope" }, 404, "provider_not_found", "provider"],
    [{ provider: undefined, upstream_name: undefined, target: "nope" }, 400, "invalid_target", "target"],
    [{ target: null }, 400, "invalid_request", "target"],
    [{ capabilities: ["chat", "nope"] }, 400, "invalid_request", "capabilities[1]"],
    [{ capabilities: ["chat", 5] }, 400, "invalid_request", "capabilities[1]"],
    [{ capabilities: "chat" }, 400, "invalid_request", "capabilities"],
    [{ origin: "guessed" }, 400, "invalid_request", "origin"],
    [{ hidden: "true" }, 400, "invalid_request", "hidden"],
    [{ pricing: { input_tokens: "1" } }, 400, "invalid_pricing", "pricing.input_tokens"],
    [{ pricing: [] }, 400, "invalid_request", "pricing"],
    [{ created_at: "now" }, 400, "invalid_request", "created_at"],
    [{ pricing_inherited: true }, 400, "invalid_request", "pricing_inherited"],
  ])("%j is refused with %d %s, param %s, and makes nothing", async (fields, status, code, param) => {
    await create({ alias: "there" });
    const body = { alias: freshAlias(), provider: "acme", upstream_name: "up", ...fields };
    const response = await call(harness, "POST", MODELS, { body });
    await expectError(response, `${status} ${code}`, param);
    expect((await (await call(harness, "GET", MODELS)).json()).total).toBe(1);
  });
});

describe("GET /admin/v1/models", () => {
  test("lists by alias, filters by provider, and echoes the page with a total", async () => {
    for (const alias of ["c", "a"]) await create({ alias, provider: "other" });
    await create({ alias: "b" });
    const all: {
      models: { alias: string; provider: string }[];
      total: number;
    } = await (await call(harness, "GET", `${MODELS}?limit=500`)).json();
    expect(all.models.map((model) => model.alias)).toEqual(["a", "b", "c"]);
    const filtered: typeof all = await (
      await call(harness, "GET", `${MODELS}?provider=other&limit=1`)
    ).json();
    expect(filtered).toMatchObject({
      models: [{ alias: "a", provider: "other" }],
      limit: 1,
      offset: 0,
      total: 2,
    });
    expect(await (await call(harness, "GET", `${MODELS}?provider=nope`)).json()).toEqual({
      models: [],
      limit: 100,
      offset: 0,
      total: 0,
    });
    expect((await (await call(harness, "GET", `${MODELS}?provider=`)).json()).total).toBe(3);
  });

  test("with include_unpriced=1 tells the units that each lacks a price for, and in its plain form nothing of them", async () => {
    const priced = await create({ pricing: { input_tokens: 1, output_tokens: 2 } });
    const half = await create({ pricing: { input_tokens: 1 } });
    const name = await createName(half);
    const read = async (query: string) => {
      const { models }: any = await (await call(harness, "GET", `${MODELS}${query}`)).json();
      return Object.fromEntries(models.map((model: any) => [model.alias, model.unpriced_units]));
    };
    expect(await read("?include_unpriced=1")).toEqual({
      [priced]: [],
      [half]: ["output_tokens"],
      [name]: [],
    });
    expect(await read("")).toEqual({ [priced]: undefined, [half]: undefined, [name]: undefined });
  });
});

describe("PATCH /admin/v1/models/{alias}", () => {
  test("of an alias with slashes takes it URL-encoded, and bare slashes are another path", async () => {
    const alias = await create({ alias: "vendor/family/model:v1" });
    const response = await patch(alias, { hidden: true });
    expect([response.status, await response.json()]).toEqual([
      200,
      expect.objectContaining({ alias, hidden: true }),
    ]);
    await expectError(
      await call(harness, "PATCH", `${MODELS}/vendor/family/model:v1`, { body: { hidden: false } }),
      "404 unknown_endpoint",
    );
    expect((await get(alias))?.["hidden"]).toBe(true);
    const dotted = await create({ alias: "a/../b" });
    expect((await call(harness, "DELETE", `${MODELS}/a%2F..%2Fb`)).status).toBe(200);
    expect(await get(dotted)).toBeUndefined();
  });

  test("renames, turns a binding into a name and back, and replaces capabilities and prices as whole sets", async () => {
    const target = await create({ pricing: { input_tokens: 2 } });
    const former = await create({ pricing: { input_tokens: 5, output_tokens: 6 } });
    const alias = freshAlias();
    expect(await (await patch(former, { alias })).json()).toMatchObject({
      alias,
      pricing: { input_tokens: 5, output_tokens: 6 },
    });
    expect(await get(former)).toBeUndefined();
    expect(
      await (await patch(alias, { capabilities: ["vision", "chat"], pricing: { output_tokens: 7 } })).json(),
    ).toMatchObject({
      capabilities: ["vision", "chat"],
      pricing: { output_tokens: 7 },
    });
    expect(await (await patch(alias, { target })).json()).toMatchObject({
      target,
      capabilities: ["chat", "chat_stream"],
      pricing: { input_tokens: 2, output_tokens: 7 },
    });
    const back = await patch(alias, { target: "", provider: "other", upstream_name: "x" });
    expect(await back.json()).toMatchObject({ target: null, provider: "other", upstream_name: "x" });
  });

  test.each([
    [{ origin: "declared" }, "invalid_request", "origin"],
    [{ pricing: { nope: 1 } }, "invalid_pricing", "pricing.nope"],
    [{ hidden: 1 }, "invalid_request", "hidden"],
  ])("%j is refused with 400 %s, param %s, and changes nothing", async (body, code, param) => {
    const alias = await create();
    const before = await get(alias);
    await expectError(await patch(alias, body), `400 ${code}`, param);
    expect(await get(alias)).toEqual(before);
  });
});

describe("DELETE /admin/v1/models/{alias}", () => {
  test("removes it, is 404 model_not_found afterwards, and is audited under its alias", async () => {
    const alias = await create();
    const response = await call(harness, "DELETE", `${MODELS}/${alias}`);
    expect([response.status, await response.json()]).toEqual([200, { deleted: alias }]);
    const {
      events,
    }: {
      events: unknown[];
    } = await (await call(harness, "GET", "/admin/v1/events?limit=1")).json();
    expect(events[0]).toMatchObject({
      action: "model.delete",
      target_kind: "model",
      target_ref: alias,
      actor: "admin",
    });
    await expectError(await call(harness, "DELETE", `${MODELS}/${alias}`), "404 model_not_found");
    await expectError(await patch(alias, {}), "404 model_not_found");
  });
});

describe("GET /admin/v1/resolve", () => {
  const resolve = (query: string) => call(harness, "GET", `/admin/v1/resolve?${query}`);

  test("tells the exact URL that the data plane would call, overrides and targets included", async () => {
    const target = await create({
      provider: "other",
      upstream_name: "e/1",
      capabilities: ["embeddings", "chat"],
    });
    const name = await createName(target);
    expect(await (await resolve(`model=${name}&endpoint=embeddings`)).json()).toEqual({
      alias: name,
      provider: "other",
      upstream_name: "e/1",
      url: "http://127.0.0.1:9/e?v=1",
      capabilities: ["embeddings", "chat"],
    });
    expect(await (await resolve(`model=${name}`)).json()).toMatchObject({
      url: "http://127.0.0.1:9/v1/chat/completions",
    });
  });

  test.each([
    ["", 400, "model_required", "model"],
    ["model=", 400, "model_required", "model"],
    ["model=nope", 404, "model_not_found", "model"],
    ["model=plain&endpoint=nope", 400, "invalid_endpoint", "endpoint"],
    ["model=plain&endpoint=vision", 400, "invalid_endpoint", "endpoint"],
    ["model=plain&stream=true", 400, "endpoint_not_supported", "model"],
    ["model=plain&endpoint=embeddings", 400, "endpoint_not_supported", "model"],
    ["model=plain&endpoint=transcription", 400, "endpoint_not_supported", "model"],
  ])("?%s is %d %s, param %s", async (query, status, code, param) => {
    await create({ alias: "plain", capabilities: ["chat"] });
    await expectError(await resolve(query), `${status} ${code}`, param);
  });

  test("?stream=false asks for no more than chat, and a disabled provider's models do not resolve", async () => {
    const alias = await create({ capabilities: ["chat"] });
    expect((await resolve(`model=${alias}&stream=false`)).status).toBe(200);
    await call(harness, "PATCH", "/admin/v1/providers/acme", { body: { enabled: false } });
    await expectError(await resolve(`model=${alias}`), "404 model_not_found", "model");
    await call(harness, "PATCH", "/admin/v1/providers/acme", { body: { enabled: true } });
    expect((await resolve(`model=${alias}`)).status).toBe(200);
  });
});
