import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { formatInstant } from "#kernel/clock.ts";
import { PRICES_MAX } from "#catalog/pricing.ts";
import { MOMENTS_MAX } from "#catalog/scheduled-prices.ts";
import { VARIANTS_MAX } from "#catalog/variant-list.ts";
import { ADMIN, expectRefused, openTestCatalog, type TestCatalog } from "./support.ts";

const HOUR_US = 3_600_000_000;
const FLEX = { when: { tier: "flex" }, pricing: { input_tokens: 0.5 } };

let one: TestCatalog;
let startUs: number;
beforeEach(async () => {
  one = await openTestCatalog();
  startUs = one.nowUs();
  await one.catalog.createProvider({ name: "up", base_url: "http://10.0.0.1/v1" }, null);
  await one.catalog.createModel(
    { alias: "m", provider: "up", upstreamName: "u", pricing: { input_tokens: 1, output_tokens: 2 } },
    null,
  );
  await one.catalog.createModel({ alias: "n", target: "m" }, null);
});
afterEach(() => one.close());

const at = (hours: number) => formatInstant(startUs + hours * HOUR_US);
const inForce = async (alias: string) => {
  // What every request asks, and what it asks where that knows nothing.
  const peeked = one.catalog.peek();
  const snapshot = await one.catalog.snapshot();
  expect(peeked === null || peeked === snapshot).toBe(true);
  const { prices, variants } = snapshot.findModel(alias) ?? {};
  return { prices, variants };
};
const held = async (name: string) =>
  (await one.store.listHeldPrices(name, { limit: 50, offset: 0 })).rows.map(
    ({ unit, when, pricePico, fromUs, untilUs, source }) =>
      [
        unit,
        when?.tier ?? null,
        pricePico / 1e6,
        (fromUs - startUs) / HOUR_US,
        untilUs === null ? null : (untilUs - startUs) / HOUR_US,
        source,
      ] as const,
  );
const rounded = (rows: Awaited<ReturnType<typeof held>>) =>
  rows.map(([unit, tier, price, from, until, source]) => [
    unit,
    tier,
    price,
    Math.round(from),
    until === null ? null : Math.round(until),
    source,
  ]);

describe("prices with a date to come", () => {
  test("take force by themselves exactly at that moment, also for what inherits them, and not a microsecond before", async () => {
    await one.catalog.updateModel(
      "m",
      { pricing: { input_tokens: 9 }, priceVariants: [FLEX], effectiveFrom: at(2) },
      ADMIN,
    );
    expect(await inForce("m")).toEqual({ prices: { input_tokens: 1e6, output_tokens: 2e6 }, variants: [] });
    one.goTo(startUs + 2 * HOUR_US - 20);
    expect((await inForce("n")).prices).toEqual({ input_tokens: 1e6, output_tokens: 2e6 });
    one.goTo(startUs + 2 * HOUR_US);
    for (const alias of ["m", "n"]) {
      expect(await inForce(alias)).toEqual({
        prices: { input_tokens: 9e6 },
        variants: [{ when: { tier: "flex" }, input_tokens: 0.5e6 }],
      });
    }
  });

  test("that remove a name's own prices stop no change that comes after that moment", async () => {
    const own = { pricing: { input_tokens: 5, output_tokens: 6 }, priceVariants: [FLEX] };
    await one.catalog.updateModel("n", own, ADMIN);
    await one.catalog.updateModel(
      "n",
      { pricing: { output_tokens: 7 }, priceVariants: null, effectiveFrom: at(2) },
      ADMIN,
    );
    one.goTo(startUs + 3 * HOUR_US);
    const inherited = { prices: { input_tokens: 1e6, output_tokens: 7e6 }, variants: [] };
    expect(await inForce("n")).toEqual(inherited);
    await one.catalog.updateModel("m", { hidden: true }, ADMIN);
    expect(await inForce("n")).toEqual(inherited);
  });

  test("are listed with the moment from which they will hold, and end what holds until then", async () => {
    await one.catalog.updateModel("m", { pricing: { input_tokens: 9 }, effectiveFrom: at(2) }, null);
    const expected = [
      ["input_tokens", null, 9, 2, null, "model"],
      ["output_tokens", null, 2, 0, 2, "model"],
      ["input_tokens", null, 1, 0, 2, "model"],
    ];
    expect(rounded(await held("n"))).toEqual(expected as never);
    one.goTo(startUs + 3 * HOUR_US);
    expect(rounded(await held("n"))).toEqual(expected as never);
    // The next change stores them, with the moment at which they came.
    await one.catalog.updateModel("m", { hidden: true }, null);
    expect(rounded(await held("n"))).toEqual(expected as never);
    expect((await inForce("n")).prices).toEqual({ input_tokens: 9e6 });
    await one.catalog.updateModel("m", { pricing: { input_tokens: 10 } }, null);
    expect((await inForce("n")).prices).toEqual({ input_tokens: 10e6 });
    const spans = (await one.store.readPriceSpans(["n"])).get("n") ?? [];
    expect(
      spans.map(({ fromUs, prices }) => [Math.round((fromUs - startUs) / HOUR_US), prices.prices]),
    ).toEqual([
      [0, { input_tokens: 1e6, output_tokens: 2e6 }],
      [2, { input_tokens: 9e6 }],
      [3, { input_tokens: 10e6 }],
    ]);
  });

  test("follow a rename of their model, come in the order of their dates, and go with the model", async () => {
    await one.catalog.updateModel("m", { pricing: { input_tokens: 30 }, effectiveFrom: at(3) }, null);
    await one.catalog.updateModel("m", { pricing: { input_tokens: 20 }, effectiveFrom: at(2) }, null);
    await one.catalog.updateModel("m", { alias: "renamed" }, null);
    one.goTo(startUs + 2 * HOUR_US);
    expect((await inForce("renamed")).prices).toEqual({ input_tokens: 20e6 });
    one.goTo(startUs + 4 * HOUR_US);
    expect((await inForce("renamed")).prices).toEqual({ input_tokens: 30e6 });
    await one.catalog.updateModel("renamed", { pricing: { input_tokens: 5 }, effectiveFrom: at(5) }, null);
    await one.catalog.deleteModel("n", null);
    await one.catalog.deleteModel("renamed", null);
    one.goTo(startUs + 6 * HOUR_US);
    await one.catalog.createModel({ alias: "renamed", provider: "up", upstreamName: "u" }, null);
    expect((await inForce("renamed")).prices).toEqual({});
  });

  test("of a feed line come alone: the feed's other lines hold at once", async () => {
    const line = { model: "u2", unit: "input_tokens" };
    await one.catalog.createModel({ alias: "f", provider: "up", upstreamName: "u2" }, null);
    await one.catalog.loadFeed(
      {
        version: "v",
        entries: [
          { ...line, price_per_million: 4, effective_from: at(1) },
          { ...line, price_per_million: 3, when: { tier: "flex" }, effective_from: at(2) },
          { ...line, unit: "output_tokens", price_per_million: 8 },
        ],
      },
      null,
    );
    expect(await inForce("f")).toEqual({ prices: { output_tokens: 8e6 }, variants: [] });
    one.goTo(startUs + HOUR_US);
    expect(await inForce("f")).toEqual({ prices: { input_tokens: 4e6, output_tokens: 8e6 }, variants: [] });
    one.goTo(startUs + 2 * HOUR_US);
    expect((await inForce("f")).variants).toEqual([{ when: { tier: "flex" }, input_tokens: 3e6 }]);
    await one.catalog.updateModel("f", { hidden: true }, null);
    expect(rounded(await held("f"))).toEqual([
      ["input_tokens", "flex", 3, 2, null, "feed"],
      ["input_tokens", null, 4, 1, null, "feed"],
      ["output_tokens", null, 8, 0, null, "feed"],
    ] as never);
  });
});

describe("prices to come", () => {
  const day = (days: number) => formatInstant(startUs + days * 24 * HOUR_US);
  const stateOf = async () => (await one.catalog.snapshot()).schedules.length;
  const feedOf = (names: readonly string[], toDay: (index: number) => number = () => 1) => ({
    version: "v",
    entries: names.map((model, index) => ({
      model,
      unit: "input_tokens",
      price_per_million: index,
      effective_from: day(toDay(index)),
    })),
  });
  const namesOf = (count: number, prefix = "name") =>
    Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

  test("are at most at 1,000 moments: one more is refused and kept nowhere, one at a moment that there is comes", async () => {
    const names = namesOf(MOMENTS_MAX);
    await one.catalog.loadFeed(
      feedOf(names, (index) => index + 1),
      null,
    );
    const more = { pricing: { input_tokens: 9 }, effectiveFrom: day(MOMENTS_MAX + 1) };
    await expectRefused(one, () => one.catalog.updateModel("m", more, ADMIN), {
      code: "too_many_schedules",
      param: "effective_from",
    });
    const feed = feedOf(["other"], () => MOMENTS_MAX + 1);
    await expectRefused(one, () => one.catalog.loadFeed(feed, ADMIN), {
      code: "too_many_schedules",
      param: "entries",
    });
    const pricesToCome = [
      { effectiveFrom: day(MOMENTS_MAX + 1), model: "other", feed: "v", pricing: { input_tokens: 1 } },
    ];
    const file = { providers: [], models: [], feeds: [], pricesToCome };
    const applied = { mode: "keep", isDryRun: false, actor: ADMIN } as const;
    await expectRefused(one, () => one.catalog.apply(file, applied), {
      code: "too_many_schedules",
      param: "prices_to_come",
    });
    expect(await stateOf()).toBe(MOMENTS_MAX);
    await one.catalog.updateModel("m", { ...more, effectiveFrom: day(MOMENTS_MAX) }, null);
    // One that has come makes room.
    one.goTo(startUs + 36 * HOUR_US);
    await one.catalog.updateModel("m", more, null);
    expect(await stateOf()).toBe(MOMENTS_MAX + 1);
    // All of them at once, with the history of each.
    one.goTo(startUs + (MOMENTS_MAX + 2) * 24 * HOUR_US);
    expect((await inForce("m")).prices).toEqual({ input_tokens: 9e6 });
    const spans = await one.store.readPriceSpans(names);
    await one.catalog.updateModel("m", { hidden: true }, null);
    expect(await one.store.readPriceSpans(names)).toEqual(spans);
    expect(spans.get("name-7")).toEqual([
      { fromUs: startUs + 8 * 24 * HOUR_US, prices: { prices: { input_tokens: 7e6 }, variants: [] } },
    ]);
    expect(await stateOf()).toBe(0);
  }, 120_000);

  test("count as prices that are kept: a feed that would have more than fit is refused, to come or not", async () => {
    const { priceCount } = await one.catalog.snapshot();
    await one.catalog.loadFeed(feedOf(namesOf(20_000)), null);
    const others = feedOf(namesOf(20_000, "other"));
    await expectRefused(one, () => one.catalog.loadFeed(others, ADMIN), {
      code: "invalid_pricing",
      param: "entries",
    });
    const now = others.entries.map(({ model, unit }) => ({ model, unit, price_per_million: 1 }));
    await expectRefused(one, () => one.catalog.loadFeed({ version: "w", entries: now }, ADMIN), {
      code: "invalid_pricing",
      param: "entries",
    });
    await one.catalog.loadFeed({ version: "w", entries: now.slice(priceCount) }, null);
    one.goTo(startUs + 25 * HOUR_US);
    expect((await one.catalog.snapshot()).priceCount).toBe(PRICES_MAX);
  }, 120_000);

  test("of a feed for whose conditions a model's list is full by then are left out: the log tells it once, and with the next change the audit log", async () => {
    const line = { model: "m", unit: "input_tokens", when: { tier: "late" }, price_per_million: 1 };
    await one.catalog.loadFeed({ version: "v", entries: [{ ...line, effective_from: at(2) }] }, null);
    const full = Array.from({ length: VARIANTS_MAX }, (_, index) => ({
      when: { tier: `t${index}` },
      pricing: { input_tokens: 1 },
    }));
    const entries = [{ ...line, when: { tier: "later" }, effective_from: at(3) }];
    await one.catalog.updateModel("m", { priceVariants: full }, null);
    await expectRefused(one, () => one.catalog.loadFeed({ version: "v", entries }, ADMIN), {
      code: "invalid_price_variants",
      param: "entries[0].when",
    });
    expect(one.logged()).toEqual([]);
    one.goTo(startUs + 4 * HOUR_US);
    for (const alias of ["m", "n"])
      expect((await inForce(alias)).variants?.map(({ when }) => when)).toEqual(full.map(({ when }) => when));
    expect(await one.audited()).not.toContain("pricing.drop v");
    await one.catalog.updateModel("n", { hidden: true }, null);
    await inForce("m");
    expect(one.logged()).toEqual([
      expect.objectContaining({ level: "warn", models: "m", prices: 1, effective_from: at(2) }),
    ]);
    expect((await one.audited()).filter((entry) => entry.startsWith("pricing."))).toEqual(["pricing.drop v"]);
    await one.catalog.updateModel("n", { hidden: false }, ADMIN);
    expect((await one.audited()).slice(-2)).toEqual(["pricing.drop v", "model.update n"]);
  });
});

describe("prices with a date that is past", () => {
  test("hold from now on, and what was known to hold since that date is superseded, but not what is scheduled after it", async () => {
    one.goTo(startUs + 2 * HOUR_US);
    await one.catalog.updateModel("m", { pricing: { input_tokens: 4, output_tokens: 2 } }, null);
    await one.catalog.updateModel("m", { pricing: { input_tokens: 99 }, effectiveFrom: at(50) }, null);
    one.goTo(startUs + 5 * HOUR_US);
    await one.catalog.updateModel(
      "m",
      { pricing: { input_tokens: 3, output_tokens: 2 }, effectiveFrom: at(1) },
      null,
    );
    expect((await inForce("n")).prices).toEqual({ input_tokens: 3e6, output_tokens: 2e6 });
    for (const name of ["m", "n"]) {
      const spans = (await one.store.readPriceSpans([name])).get(name) ?? [];
      expect(
        spans.map(({ fromUs, prices }) => [
          Math.round((fromUs - startUs) / HOUR_US),
          prices.prices.input_tokens,
        ]),
      ).toEqual([
        [0, 1e6],
        [1, 3e6],
        [50, 99e6],
      ]);
    }
    // Variants were not written.
    one.goTo(startUs + 51 * HOUR_US);
    expect((await inForce("n")).prices).toEqual({ input_tokens: 99e6 });
  });

  test.each([
    [{ pricing: { input_tokens: 1 }, effectiveFrom: "tomorrow" }, "invalid_date"],
    [{ hidden: true, effectiveFrom: "2030-01-01" }, "invalid_request"],
  ])("%j is refused, and nothing is changed", async (patch, code) => {
    await expectRefused(one, () => one.catalog.updateModel("m", patch, null), {
      code,
      param: "effective_from",
    });
  });
});
