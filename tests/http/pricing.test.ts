import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { FEED_ENTRIES_MAX } from "#catalog/feed.ts";
import { PRICES_MAX } from "#catalog/pricing.ts";
import { startApp } from "../support/app.ts";
import { startUpstream } from "../support/upstream.ts";
import { call, expectError, startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness({ config: { maxBodyBytes: 16 * 1024 * 1024 } });
  await harness.deps.catalog.createProvider({ name: "acme", base_url: "http://127.0.0.1:9/v1" }, null);
});
afterEach(() => harness.stop());

const PRICING = "/admin/v1/pricing";
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/;
const load = (body: unknown) => call(harness, "POST", PRICING, { body });
const inspect = async () => (await call(harness, "GET", PRICING)).json();
const latestEvent = async () =>
  (await (await call(harness, "GET", "/admin/v1/events?limit=1")).json()).events[0];

/** A model with a price of its own. */
async function createPriced(): Promise<void> {
  const body = { alias: "own", provider: "acme", upstream_name: "up", pricing: { input_tokens: 0.15 } };
  expect((await call(harness, "POST", "/admin/v1/models", { body })).status).toBe(201);
}
const FEED = {
  version: "2025-06",
  entries: [
    { model: "vendor/x", unit: "output_tokens", price_per_unit: 2.5e-6 },
    { model: "vendor/x", unit: "input_tokens", price_per_million: 1.25 },
    { model: "own", unit: "audio_seconds", price_per_unit: 0.0001 },
  ],
};
/** A model whose prices are the feed's. */
const createFed = () =>
  call(harness, "POST", "/admin/v1/models", {
    body: { alias: "fed", provider: "acme", upstream_name: "vendor/x" },
  });

describe("the pricing feed", () => {
  test("removes the prices that it names, whatever has set them, and nothing else, in one step with what it sets", async () => {
    await createPriced();
    const tier = { tier: "flex" };
    const flex = (unit: string, price: number) => ({
      model: "vendor/x",
      unit,
      when: tier,
      price_per_million: price,
    });
    await load({ ...FEED, entries: [...FEED.entries, flex("input_tokens", 0.5), flex("output_tokens", 1)] });
    await createFed();
    const removed = [
      { model: "vendor/x", unit: "output_tokens" },
      { model: "vendor/x", unit: "input_tokens", when: tier },
      { model: "own", unit: "input_tokens" },
      { model: "never/priced", unit: "images" },
    ];
    const entries = [{ model: "own", unit: "output_tokens", price_per_million: 3 }];
    const answer = await load({ version: "gone", entries, removed });
    expect(await answer.json()).toMatchObject({ version: "gone", entries: 1 });
    const { entries: kept, variants } = await inspect();
    expect(kept.map(({ model, unit }: any) => `${model} ${unit}`).toSorted()).toEqual([
      "own audio_seconds",
      "own output_tokens",
      "vendor/x input_tokens",
    ]);
    expect(variants).toEqual([
      { model: "vendor/x", when: tier, pricing: { output_tokens: 1 }, version: "gone" },
    ]);
    const { models } = await (await call(harness, "GET", "/admin/v1/models")).json();
    expect(models.find(({ alias }: any) => alias === "fed").pricing).toEqual({ input_tokens: 1.25 });
    const history = await (await call(harness, "GET", `${PRICING}/history?model=fed`)).json();
    const ended = history.changes.filter(({ until }: any) => until !== null);
    expect(ended.map(({ unit, when }: any) => [unit, when]).toSorted()).toEqual([
      ["input_tokens", tier],
      ["output_tokens", null],
    ]);
    const { change } = await latestEvent();
    expect(change.fields).toEqual(
      expect.arrayContaining([
        { field: "pricing.vendor/x", before: { output_tokens: 2.5 }, after: {} },
        expect.objectContaining({ field: "price_variants.vendor/x" }),
      ]),
    );

    await load({
      version: "gone",
      entries: [],
      removed: [{ model: "vendor/x", unit: "output_tokens", when: tier }],
    });
    expect(await inspect()).not.toHaveProperty("variants");
    const before = await inspect();
    for (const [body, code, param] of [
      [{ entries, removed: entries }, "invalid_request", "removed[0].price_per_million"],
      [{ entries, removed: [{ model: "own", unit: "output_tokens" }] }, "invalid_pricing", "removed[0]"],
      [{ entries: [], removed: [removed[0], removed[0]] }, "invalid_pricing", "removed[1]"],
      [{ entries: [], removed: [{ model: "own", unit: "bytes" }] }, "invalid_pricing", "removed[0].unit"],
      [{ entries: [], removed: ["own"] }, "invalid_pricing", "removed[0]"],
    ] as const) {
      await expectError(await load({ version: "bad", ...body }), `400 ${code}`, param);
    }
    expect(await inspect()).toEqual(before);
  });

  test("before the first load is null, and lists the prices written with models but no mark", async () => {
    expect(await inspect()).toEqual({ version: null, loaded_at: null, entries: [] });
    await createPriced();
    expect(await inspect()).toEqual({
      version: null,
      loaded_at: null,
      entries: [
        {
          model: "own",
          unit: "input_tokens",
          price_per_unit: 0.00000015,
          price_per_million: 0.15,
          version: null,
        },
      ],
    });
  });

  test("is loaded, answered with its count, shown by name and unit, audited, and in force at once", async () => {
    await createPriced();
    const response = await load(FEED);
    const answer = await response.json();
    expect([response.status, answer]).toEqual([
      200,
      { version: "2025-06", loaded_at: expect.stringMatching(TIMESTAMP), entries: 3 },
    ]);
    const row = (
      model: string,
      unit: string,
      perMillion: number,
      perUnit: number,
      version: string | null,
    ) => ({
      model,
      unit,
      price_per_unit: perUnit,
      price_per_million: perMillion,
      version,
    });
    expect(await inspect()).toEqual({
      version: "2025-06",
      loaded_at: answer.loaded_at,
      entries: [
        row("own", "input_tokens", 0.15, 0.00000015, null),
        row("own", "audio_seconds", 100, 0.0001, "2025-06"),
        row("vendor/x", "input_tokens", 1.25, 0.00000125, "2025-06"),
        row("vendor/x", "output_tokens", 2.5, 0.0000025, "2025-06"),
      ],
    });
    expect(await latestEvent()).toMatchObject({
      actor: "admin",
      action: "pricing.load",
      target_kind: "pricing_feed",
      target_ref: "2025-06",
    });
    expect(await (await createFed()).json()).toMatchObject({
      pricing: { input_tokens: 1.25, output_tokens: 2.5 },
      pricing_inherited: true,
    });
    const listed = await (await call(harness, "GET", "/v1/models?include_pricing=1")).json();
    expect(listed.data).toMatchObject([
      { id: "fed", pricing: { input_tokens: 1.25, output_tokens: 2.5 }, pricing_inherited: true },
      { id: "own", pricing: { input_tokens: 0.15, audio_seconds: 100 }, pricing_inherited: false },
    ]);
  });
});

describe("a feed that is refused changes nothing and is not audited", () => {
  beforeEach(async () => {
    await createPriced();
    expect((await load(FEED)).status).toBe(200);
  });

  const good = { model: "own", unit: "input_tokens", price_per_million: 9 };
  const withLast = (fields: Record<string, unknown>) => ({
    version: "bad",
    entries: [good, { ...good, unit: "output_tokens", ...fields }],
  });

  test.each([
    [{ entries: [good] }, "invalid_pricing", "version"],
    [withLast({ unit: "minutes" }), "invalid_pricing", "entries[1].unit"],
    [withLast({ currency: "EUR" }), "invalid_request", "entries[1].currency"],
    [{ version: "bad", entries: [good, 5] }, "invalid_pricing", "entries[1]"],
    [{ version: "bad", entries: [good], currency: "EUR" }, "invalid_request", "currency"],
    [{ version: "bad", entries: {} }, "invalid_request", "entries"],
    [{ version: "bad" }, "invalid_request", "entries"],
    [
      '{"version":"bad","entries":[{"model":"own","unit":"input_tokens","price_per_unit":NaN}]}',
      "invalid_json",
      null,
    ],
    [
      '{"version":"bad","entries":[{"model":"own","unit":"input_tokens","price_per_unit":1e999}]}',
      "invalid_pricing",
      "entries[0].price_per_unit",
    ],
  ])("%j with 400 %s, param %p", async (body, code, param) => {
    const before = [await inspect(), await latestEvent()];
    await expectError(await load(body), `400 ${code}`, param);
    expect([await inspect(), await latestEvent()]).toEqual(before);
  });

  test("for its size with 413, and for its entries with 400 before any of them is read", async () => {
    const before = await inspect();
    const tooMany = { version: "bad", entries: Array<number>(FEED_ENTRIES_MAX + 1).fill(0) };
    await expectError(await load(tooMany), "400 invalid_pricing", "entries");
    await expectError(await load(" ".repeat(8 * 1024 * 1024 + 1)), "413 request_too_large");
    expect(await inspect()).toEqual(before);
  });
});

test("a feed of 20,000 entries, which other admin bodies may not be as long as, is loaded whole", async () => {
  const entries = Array.from({ length: 20_000 }, (_, index) => ({
    model: `vendor/family/model-${index}`,
    unit: "input_tokens",
    price_per_million: index,
  }));
  const body = JSON.stringify({ version: "large", entries });
  expect(body.length).toBeGreaterThan(1024 * 1024);
  const response = await load(body);
  expect([response.status, (await response.json()).entries]).toEqual([200, 20_000]);
  const large = (await inspect()).entries.filter(({ version }: { version: string }) => version === "large");
  expect(large.length).toBe(20_000);
  await expectError(await call(harness, "POST", "/admin/v1/models", { body }), "413 request_too_large");
});

test("a feed that would make the price book too long is refused and writes nothing; prices that are there may change", async () => {
  const own = await startHarness({ config: { maxBodyBytes: 16 * 1024 * 1024 } });
  try {
    const feed = (version: string, first: number, count: number) => ({
      version,
      entries: Array.from({ length: count }, (_, index) => ({
        model: `vendor/model-${first + index}`,
        unit: "input_tokens",
        price_per_million: index,
      })),
    });
    const loadOwn = (body: unknown) => call(own, "POST", PRICING, { body });
    for (let first = 0; first < PRICES_MAX; first += FEED_ENTRIES_MAX)
      expect((await loadOwn(feed("full", first, FEED_ENTRIES_MAX))).status).toBe(200);
    const before = await own.deps.catalog.snapshot();
    expect(before.prices.length).toBe(PRICES_MAX);
    await expectError(await loadOwn(feed("more", PRICES_MAX - 1, 2)), "400 invalid_pricing", "entries");
    expect(await own.deps.catalog.snapshot()).toBe(before);
    expect((await loadOwn(feed("changed", PRICES_MAX - 2, 2))).status).toBe(200);
    const { prices, feed: loaded } = await own.deps.catalog.snapshot();
    expect([prices.length, loaded?.version]).toEqual([PRICES_MAX, "changed"]);
  } finally {
    await own.stop();
  }
});

test("a renamed model is charged the same prices under its new name, and its events before keep the old one", async () => {
  const usage = { prompt_tokens: 1000, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 400 } };
  const upstream = await startUpstream({
    script: (asked) => asked.reply({ body: JSON.stringify({ choices: [], usage }) }),
  });
  const app = await startApp();
  const expectStatus = async (status: number, response: Promise<Response>) => {
    const { status: given } = await response;
    expect(given).toBe(status);
  };
  const ask = (model: string) => app.api("POST", "/v1/chat/completions", { model, messages: [] });
  try {
    await expectStatus(
      201,
      app.api("POST", "/admin/v1/providers", { name: "up", base_url: upstream.baseUrl }),
    );
    await expectStatus(
      201,
      app.api("POST", "/admin/v1/models", {
        alias: "old",
        provider: "up",
        upstream_name: "upstream-model",
        pricing: { input_tokens: 2.5, cached_input_tokens: 0.250001 },
      }),
    );
    await expectStatus(201, app.api("POST", "/admin/v1/models", { alias: "name", target: "old" }));
    await expectStatus(200, ask("old"));
    await expectStatus(200, app.api("PATCH", "/admin/v1/models/old", { alias: "new" }));
    await expectStatus(200, ask("new"));
    await expectStatus(200, ask("name"));
    await expectStatus(404, ask("old"));
    const feed = {
      version: "later",
      entries: [
        { model: "new", unit: "output_tokens", price_per_unit: 1e-5 },
        { model: "old", unit: "input_tokens", price_per_unit: 1 },
      ],
    };
    await expectStatus(200, app.api("POST", PRICING, feed));
    await expectStatus(200, ask("new"));

    const log: { requests: Record<string, unknown>[] } = JSON.parse(
      await (await app.api("GET", "/admin/v1/requests")).text(),
    );
    // 600 at the input's price and 400 at the cache's: 0.0015 + 0.0001000004. The output had none until the feed came.
    const cost = 0.0016000004;
    expect(log.requests.toReversed()).toMatchObject([
      { model: "old", cost, unit_prices: { input_tokens: 2.5, output_tokens: null } },
      { model: "new", cost, unit_prices: { input_tokens: 2.5, output_tokens: null } },
      { model: "name", cost, unit_prices: { input_tokens: 2.5, output_tokens: null } },
      { model: "new", cost: 0.0016700004, unit_prices: { input_tokens: 2.5, output_tokens: 10 } },
    ]);
    expect(log.requests.length).toBe(4);
  } finally {
    await app.stop();
    await upstream.stop();
  }
});

test("list prices load as they are, and change nothing by being read", async () => {
  const before = await inspect();
  const response = await call(harness, "GET", `${PRICING}/list`);
  const list = await response.json();
  expect([response.status, await inspect()]).toEqual([200, before]);
  expect(list).toMatchObject({
    version: `list prices ${list.as_of}`,
    source: expect.stringContaining("LiteLLM"),
    source_url: expect.stringMatching(/^https:/),
  });
  expect((await load({ version: list.version, entries: list.entries })).status).toBe(200);
  const { entries, variants } = await inspect();
  const conditional = variants.flatMap(({ pricing }: { pricing: object }) => Object.keys(pricing));
  expect(entries.length + conditional.length).toBe(list.entries.length + before.entries.length);
});
