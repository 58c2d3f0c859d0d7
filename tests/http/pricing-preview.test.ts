import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { startApp, type TestApp } from "../support/app.ts";
import { provide } from "../support/installation.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";

let app: TestApp;
let upstream: ScriptedUpstream;
let tier: string | undefined;
beforeEach(async () => {
  tier = undefined;
  upstream = await startUpstream({
    script: (call) =>
      call.reply({
        body: JSON.stringify({
          service_tier: tier,
          usage: {
            prompt_tokens: 1_000_003,
            completion_tokens: 7,
            prompt_tokens_details: { cached_tokens: 3 },
          },
        }),
      }),
  });
  app = await startApp({ messagesBaseUrl: upstream.baseUrl });
});
afterEach(async () => {
  await app.stop();
  await upstream.stop();
});

const post = async (path: string, body: unknown) => {
  const response = await app.api("POST", path, body);
  return { status: response.status, body: JSON.parse(await response.text()) };
};
const get = async (path: string) => JSON.parse(await (await app.api("GET", path)).text());
const ask = async (model: string) =>
  await (await app.api("POST", "/v1/chat/completions", { model, messages: [] })).text();
const preview = (body: unknown) => post("/admin/v1/pricing/preview", body);
const pricesOf = async (alias: string) =>
  (await get("/admin/v1/models")).models.find((model: { alias: string }) => model.alias === alias).pricing;

describe("POST /admin/v1/pricing/preview", () => {
  test("prices each tier at the variant that names it, and each request by its own length", async () => {
    const pricing = { input_tokens: 1, output_tokens: 10, cached_input_tokens: 1 };
    await provide(app.url, app.adminKey, {
      name: "lab",
      baseUrl: upstream.baseUrl,
      models: { base: "up" },
      pricing,
    });
    await ask("base");
    tier = "flex";
    await ask("base");
    const flex = {
      when: { tier: "flex" },
      pricing: { input_tokens: 0.5, output_tokens: 5, cached_input_tokens: 0.5 },
    };
    const standard = 1 + 0.000003 + 0.00007;
    const [alone] = (await preview({ model: "base", price_variants: [flex] })).body.names;
    expect(alone).toMatchObject({ requests: 2, unpriced_after: [] });
    expect(alone.unpriced_before).toEqual(["input_tokens", "output_tokens", "cached_input_tokens"]);
    expect(alone.cost_before).toBeCloseTo(standard, 12);
    expect(alone.cost_after).toBeCloseTo(standard + 0.5 + 0.0000015 + 0.000035, 12);
    expect(alone).not.toHaveProperty("conditions_left_out");

    const longer = { when: { input_over: 2_000_000 }, pricing: { input_tokens: 100 } };
    const [other] = (await preview({ model: "base", price_variants: [flex, longer] })).body.names;
    expect(other.cost_after).toBe(alone.cost_after);
    const long = {
      when: { tier: "flex", input_over: 1_000_002 },
      pricing: { ...pricing, input_tokens: 100 },
    };
    const [dear] = (await preview({ model: "base", price_variants: [flex, long] })).body.names;
    expect(dear.cost_after).toBeCloseTo(standard + 100 + 0.000003 + 0.00007, 12);
    expect(dear).not.toHaveProperty("conditions_left_out");
    // Nothing of it was kept.
    expect((await get("/admin/v1/pricing")).variants).toBeUndefined();
  });

  test("tells which names would have other prices, and what their last 30 days would have cost, to the last digit", async () => {
    const pricing = { input_tokens: 0.123457, output_tokens: 10, cached_input_tokens: 0.1 };
    await provide(app.url, app.adminKey, {
      name: "lab",
      baseUrl: upstream.baseUrl,
      models: { base: "up", other: "up-2" },
      pricing,
    });
    await post("/admin/v1/models", { alias: "name", target: "base" });
    await post("/admin/v1/models", { alias: "own", target: "base", pricing: { input_tokens: 9 } });
    for (const alias of ["base", "name", "name", "own", "other"]) await ask(alias);

    const { status, body } = await preview({
      model: "base",
      pricing: { input_tokens: 0.2, output_tokens: 10 },
    });
    expect(status).toBe(200);
    expect(Date.parse(body.until) - Date.parse(body.since)).toBe(30 * 24 * 3600 * 1000);
    // 1,000,000 tokens of input and 3 cached ones, 7 of output, a request.
    const before = 0.123457 + 0.0000003 + 0.00007;
    expect(body.names).toEqual([
      {
        name: "base",
        kind: "model",
        target: null,
        pricing_before: pricing,
        pricing_after: { input_tokens: 0.2, output_tokens: 10 },
        requests: 1,
        cost: 0.1235273,
        cost_before: 0.1235273,
        cost_after: 0.20007,
        unpriced_before: [],
        unpriced_after: ["cached_input_tokens"],
        cache_writes_as_input: false,
      },
      expect.objectContaining({
        name: "name",
        target: "base",
        requests: 2,
        cost_before: 0.2470546,
        cost_after: 0.40014,
      }),
      expect.objectContaining({
        name: "own",
        target: "base",
        pricing_after: { input_tokens: 9, output_tokens: 10 },
        cost_after: 9.00007,
      }),
    ]);
    expect(before).toBeCloseTo(0.1235273, 12);
    // Nothing is changed by asking, and nothing is audited.
    expect(await pricesOf("base")).toEqual(pricing);
    const { events } = await get("/admin/v1/events");
    expect(events.filter(({ action }: { action: string }) => /model.update|pricing/.test(action))).toEqual(
      [],
    );

    // The write then does as the preview told.
    await app.api("PATCH", "/admin/v1/models/base", { pricing: { input_tokens: 0.2, output_tokens: 10 } });
    expect(await pricesOf("name")).toEqual(body.names[1].pricing_after);
  });

  test("of a feed tells the models that inherit from an upstream name, and requests of the relay by exactly that name", async () => {
    await provide(app.url, app.adminKey, {
      name: "lab",
      baseUrl: upstream.baseUrl,
      models: { one: "shared", two: "shared" },
    });
    await ask("one");
    const { token } = (await post("/my/relay-tokens", { label: "t" })).body;
    const relayed = await fetch(`${app.url}/transparent/messages/${token}/v1/messages`, {
      method: "POST",
      body: JSON.stringify({ model: "shared", messages: [] }),
    });
    await relayed.text();
    const entries = [{ model: "shared", unit: "output_tokens", price_per_million: 1 }];
    const { body } = await preview({ entries });
    expect(body.names.map(({ name, kind, requests }: any) => [name, kind, requests])).toEqual([
      ["one", "model", 1],
      ["two", "model", 0],
      ["shared", "relay", 1],
    ]);
    expect(body.names[0]).toMatchObject({
      cost: null,
      cost_before: null,
      cost_after: 0.000007,
      unpriced_before: ["input_tokens", "output_tokens", "cached_input_tokens"],
      unpriced_after: ["input_tokens", "cached_input_tokens"],
    });
    await post("/admin/v1/pricing", { version: "1", entries });
    // Prices that are in force already change nothing.
    expect((await preview({ entries })).body.names).toEqual([]);
  });

  test("refuses what the write would refuse, and what is neither of both", async () => {
    await provide(app.url, app.adminKey, { name: "lab", baseUrl: upstream.baseUrl, models: { m: "up" } });
    const codes = async (body: unknown) => {
      const answer = await preview(body);
      return [answer.status, answer.body.error.code, answer.body.error.param];
    };
    expect(await codes({ model: "m", pricing: { input_tokens: -1 } })).toEqual([
      400,
      "invalid_pricing",
      "pricing.input_tokens",
    ]);
    expect(await codes({ model: "gone", pricing: {} })).toEqual([404, "model_not_found", "model"]);
    expect(await codes({ entries: [{ model: "m", unit: "x", price_per_unit: 1 }] })).toEqual([
      400,
      "invalid_pricing",
      "entries[0].unit",
    ]);
    for (const body of [{}, { model: "m" }, { model: "m", pricing: {}, entries: [] }])
      expect(await codes(body)).toEqual([400, "invalid_request", "model"]);
  });
});

describe("prices with a date that is past", () => {
  test("change no request that was recorded, and the answer says how many a re-pricing would price again", async () => {
    const pricing = { input_tokens: 1, output_tokens: 1, cached_input_tokens: 1 };
    await provide(app.url, app.adminKey, {
      name: "lab",
      baseUrl: upstream.baseUrl,
      models: { base: "up", other: "up-2" },
      pricing,
    });
    await post("/admin/v1/models", { alias: "name", target: "base" });
    for (const alias of ["base", "name", "name", "other"]) await ask(alias);
    const total = async () =>
      (await get("/stats/summary")).totals?.cost ?? (await get("/stats/summary")).cost;
    const before = await total();
    const patch = async (body: unknown) =>
      JSON.parse(await (await app.api("PATCH", "/admin/v1/models/base", body)).text());
    const yesterday = new Date(Date.now() - 24 * 3_600_000).toISOString();
    const tomorrow = new Date(Date.now() + 24 * 3_600_000).toISOString();
    expect(await patch({ pricing: { input_tokens: 2 }, effective_from: yesterday })).toMatchObject({
      pricing: { input_tokens: 2 },
      repriceable_requests: 3,
    });
    expect("repriceable_requests" in (await patch({ pricing }))).toBe(false);
    const later = await patch({ pricing: { input_tokens: 5 }, effective_from: tomorrow });
    expect([later.pricing, "repriceable_requests" in later]).toEqual([pricing, false]);
    const load = async (model: string) => {
      const entry = { model, unit: "input_tokens", price_per_million: 4, effective_from: yesterday };
      return (await post("/admin/v1/pricing", { version: "v", entries: [entry] })).body;
    };
    // A model with a price of its own has none of its upstream name's.
    expect(await load("up-2")).toMatchObject({ entries: 1, repriceable_requests: 0 });
    expect(await load("other")).toMatchObject({ entries: 1, repriceable_requests: 1 });
    expect(await total()).toEqual(before);
    const { changes } = await get("/admin/v1/pricing/history?model=base");
    expect(changes[0]).toMatchObject({ unit: "input_tokens", price: 5, until: null });
    expect(new Date(changes[0].from).toISOString()).toBe(tomorrow);
  });
});
