import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { AppliedPrices } from "#kernel/price-variants.ts";
import { priceUsage } from "#usage/cost.ts";
import { call, expectError } from "./support.ts";
import { bearer, startTeam, type Team, type Used } from "./team.ts";

let team: Team;
beforeAll(async () => {
  team = await startTeam();
  for (const [alias, pricing] of [
    ["fast", { input_tokens: 1, output_tokens: 2, cached_input_tokens: 0.5 }],
    ["small", { input_tokens: 0.1, output_tokens: 0.4, cached_input_tokens: 0.01 }],
    ["partial", { input_tokens: 0.1 }],
  ] as const) {
    const body = { alias, provider: "up", upstream_name: alias, pricing };
    await call(team, "POST", "/admin/v1/models", { body, headers: team.asAdmin });
  }
  const { alice, bob } = team;
  await team.record(
    { at: "2026-03-01T10:00:00Z", by: alice, tags: ["app:shop"] },
    { at: "2026-03-02T10:00:00Z", by: bob },
    { at: "2026-03-02T11:00:00Z", by: bob, model: "slow" },
    { at: "2026-03-03T10:00:00Z", by: alice, tier: "flex", prices: {}, costPico: null, unpriced: true },
  );
});
afterAll(() => team.stop());

const ask = (body: unknown, headers: Record<string, string> = bearer(team.alice)) =>
  call(team, "POST", "/stats/what-if", { body, headers });
const read = async (body: unknown) => {
  const response = await ask(body);
  expect(response.status).toBe(200);
  return JSON.parse(await response.text());
};
const UNTIL_FLEX = { until: "2026-03-03" };

describe("POST /stats/what-if", () => {
  test("tells a member the whole team's cost, and the same quantities at the other model's prices, to the last digit", async () => {
    const answer = await read({ ...UNTIL_FLEX, models: { fast: "small", slow: "small" } });
    // Twelve input tokens at the full rate, eight from a cache and four out, of two requests.
    const sum = {
      requests: 2,
      unpriced_requests: 0,
      cost: 0.000024,
      other_cost: 0.00000288,
      difference: -0.00002112,
    };
    expect(answer).toEqual({
      note: "Same tokens, other prices; no forecast.",
      units: [
        {
          from: "fast",
          to: "small",
          unit: "input_tokens",
          quantity: 12,
          cost: 0.000012,
          other_cost: 0.0000012,
          difference: -0.0000108,
        },
        {
          from: "fast",
          to: "small",
          unit: "output_tokens",
          quantity: 4,
          cost: 0.000008,
          other_cost: 0.0000016,
          difference: -0.0000064,
        },
        {
          from: "fast",
          to: "small",
          unit: "cached_input_tokens",
          quantity: 8,
          cost: 0.000004,
          other_cost: 0.00000008,
          difference: -0.00000392,
        },
        {
          from: "slow",
          to: "small",
          unit: "input_tokens",
          quantity: 6,
          cost: 0.000006,
          other_cost: 0.0000006,
          difference: -0.0000054,
        },
        {
          from: "slow",
          to: "small",
          unit: "output_tokens",
          quantity: 2,
          cost: 0.000004,
          other_cost: 0.0000008,
          difference: -0.0000032,
        },
        {
          from: "slow",
          to: "small",
          unit: "cached_input_tokens",
          quantity: 4,
          cost: 0.000002,
          other_cost: 0.00000004,
          difference: -0.00000196,
        },
      ],
      models: [
        { from: "fast", to: "small", ...sum, cache_writes_as_input: false },
        {
          from: "slow",
          to: "small",
          requests: 1,
          unpriced_requests: 0,
          cost: 0.000012,
          other_cost: 0.00000144,
          difference: -0.00001056,
          cache_writes_as_input: false,
        },
      ],
      total: {
        requests: 3,
        unpriced_requests: 0,
        cost: 0.000036,
        other_cost: 0.00000432,
        difference: -0.00003168,
      },
      unit_costs: "exact",
    });
  });

  test("names units and tiers that the other model has no price for, and has no difference then", async () => {
    const { units, total } = await read({ models: { fast: "partial" } });
    expect(
      units.map(({ unit, tier, other_cost, unpriced_reason }: any) => [
        unit,
        tier,
        other_cost,
        unpriced_reason,
      ]),
    ).toEqual([
      ["input_tokens", undefined, 0.0000012, undefined],
      ["output_tokens", undefined, null, "no price"],
      ["cached_input_tokens", undefined, null, "no price"],
      ["input_tokens", "flex", null, "tier: flex"],
      ["output_tokens", "flex", null, "tier: flex"],
      ["cached_input_tokens", "flex", null, "tier: flex"],
    ]);
    expect(total).toEqual({
      requests: 3,
      unpriced_requests: 1,
      cost: 0.000024,
      other_cost: 0.0000012,
      difference: null,
    });
  });

  test("takes the window and the filters of reports", async () => {
    const requests = async (body: object) =>
      (await read({ models: { fast: "small" }, ...body })).total.requests;
    expect(await requests({})).toBe(3);
    expect(await requests({ since: "2026-03-02", until: "2026-03-03" })).toBe(1);
    expect(await requests({ filters: { principal: ["alice"] } })).toBe(2);
    expect(await requests({ filters: { tag: "app:shop" } })).toBe(1);
    expect(await requests({ filters: { min_cost: 1 } })).toBe(0);
    await expectError(
      await ask({ models: { fast: "small" }, filters: { model: ["slow"] } }),
      "400 invalid_request",
      "filters",
    );
    await expectError(
      await ask({ models: { fast: "small" }, filters: { outcome: "none" } }),
      "400 invalid_outcome",
      "outcome",
    );
    await expectError(await ask({ models: { fast: "small" }, since: "then" }), "400 invalid_date", "since");
  });

  test("refuses no models, more than 20, and one that is not there or that a key may not use", async () => {
    await expectError(await ask({}), "400 invalid_request", "models");
    await expectError(await ask({ models: {} }), "400 invalid_request", "models");
    const many = Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`m${index}`, "small"]));
    await expectError(await ask({ models: many }), "400 invalid_request", "models");
    await expectError(await ask({ models: { fast: "none" } }), "404 model_not_found", "model");
    const { principal } = team.alice;
    const narrow = await call(team, "POST", "/admin/v1/keys", {
      body: { principal: principal.name, models: ["fast"] },
      headers: team.asAdmin,
    });
    const { key } = JSON.parse(await narrow.text());
    const headers = { authorization: `Bearer ${key}` };
    await expectError(await ask({ models: { fast: "small" } }, headers), "404 model_not_found", "model");
    expect((await ask({ models: { small: "fast" } }, headers)).status).toBe(200);
  });

  test("changes nothing and is not audited", async () => {
    await read({ models: { fast: "small" } });
    const { events } = await team.read("/admin/v1/events");
    expect(events.filter(({ action }: { action: string }) => !/create/.test(action))).toEqual([]);
    expect((await team.read("/stats/series")).series.length).toBeGreaterThan(0);
  });
});

describe("a model against itself", () => {
  const standard = { input_tokens: 1, output_tokens: 2, cached_input_tokens: 0.5, cache_write_tokens: 1.25 };
  const double = { input_tokens: 2, output_tokens: 3, cached_input_tokens: 1, cache_write_tokens: 2.5 };
  const night = { input_tokens: 0.3, output_tokens: 0.7, cached_input_tokens: 0.1, cache_write_tokens: 0.9 };
  const toPico = (pricing: Record<string, number>) =>
    Object.fromEntries(Object.entries(pricing).map(([unit, price]) => [unit, Math.round(price * 1e6)]));
  const whenLong = { inputOver: 272_000 };
  const whenNight = { hours: "22:00-02:00" };

  /** A request as it was billed: of so much input, so much of it read from and written to a cache. */
  const billed = (at: string, input: number, prices: AppliedPrices): Used => {
    const quantities = {
      input_tokens: input,
      cached_input_tokens: 4,
      cache_write_tokens: 3,
      output_tokens: 5,
    };
    const usage = { shape: "exclusive", quantities } as const;
    return { at, by: team.alice, model: "banded", usage, prices, ...priceUsage(usage, prices) };
  };

  test("costs what it cost, by bands, cache writes, hours, tiers and regions, and leaves nothing out", async () => {
    const body = {
      alias: "banded",
      provider: "up",
      upstream_name: "banded",
      pricing: standard,
      price_variants: [
        { when: { input_over: 272_000 }, pricing: double },
        { when: { hours: "22:00-02:00" }, pricing: night },
        { when: { tier: "flex" }, pricing: night },
        { when: { geo: "eu" }, pricing: double },
      ],
    };
    expect((await call(team, "POST", "/admin/v1/models", { body, headers: team.asAdmin })).status).toBe(201);
    const ofNight = { ...toPico(night), when: whenNight };
    const ofBand = { ...toPico(double), when: whenLong };
    // 4 cached and 3 written tokens belong to the whole input.
    await team.record(
      billed("2026-03-05T10:00:00Z", 271_993, toPico(standard)),
      billed("2026-03-05T11:00:00Z", 271_994, ofBand),
      billed("2026-03-05T21:59:58Z", 7, toPico(standard)),
      billed("2026-03-05T21:59:59Z", 7, ofNight),
      billed("2026-03-06T01:59:58Z", 7, ofNight),
      billed("2026-03-06T01:59:59Z", 7, toPico(standard)),
      // The variant with the higher bound wins among equals, however late the request.
      billed("2026-03-05T23:00:00Z", 300_000, ofBand),
      { ...billed("2026-03-05T12:00:00Z", 7, { ...toPico(night), when: { tier: "flex" } }), tier: "flex" },
      { ...billed("2026-03-05T12:00:00Z", 7, { ...toPico(double), when: { geo: "eu" } }), geo: "eu" },
    );
    const { units, models, total } = await read({ models: { banded: "banded" } });
    expect(total).toMatchObject({ requests: 9, unpriced_requests: 0, difference: 0 });
    expect(total.other_cost).toBe(total.cost);
    expect(new Set(units.map(({ difference }: any) => difference))).toEqual(new Set([0]));
    expect(models[0]).not.toHaveProperty("conditions_left_out");
    expect(models[0].cache_writes_as_input).toBe(false);
    // At prices that hold for every request it would have cost something else.
    const { total: flat } = await read({ models: { banded: "fast" }, filters: { tier: ["standard"] } });
    expect(flat.difference).not.toBe(0);
  });
});
