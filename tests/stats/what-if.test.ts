import { describe, expect, test } from "bun:test";
import type { BilledUse, ModelUse } from "#stats/store.ts";
import { compareModels, type OtherModel, toRequestBounds } from "#stats/what-if.ts";

const QUANTITIES = { input_tokens: 10, output_tokens: 2 };
/** A use of ten tokens in and two out with its prices, in the lowest band and hour. */
const billed = (given: Partial<BilledUse> = {}): BilledUse => ({
  prices: { input_tokens: 3, output_tokens: 10 },
  quantities: QUANTITIES,
  costPico: 50n,
  inputTokens: 0,
  endedAtUs: 0,
  ...given,
});
const use = (given: Partial<ModelUse>): ModelUse => ({
  model: "big",
  tier: null,
  geo: null,
  requests: 1,
  unpricedRequests: 0,
  costPico: 50n,
  units: QUANTITIES,
  billed: [billed()],
  ...given,
});
const asSmall = (prices: OtherModel["prices"]): OtherModel => ({ from: "big", to: "small", prices });
const SMALL = { prices: { input_tokens: 1, output_tokens: 4 }, variants: [] };

describe("usage at another model's prices", () => {
  test("costs its quantities times these prices, by unit and in sum", () => {
    const { units, models, total } = compareModels([use({})], [asSmall(SMALL)]);
    expect(units.map((unit) => [unit.unit, unit.costPico, unit.otherCostPico, unit.differencePico])).toEqual([
      ["input_tokens", 30n, 10n, -20n],
      ["output_tokens", 20n, 8n, -12n],
    ]);
    for (const sum of [models[0], total])
      expect(sum).toMatchObject({ costPico: 50n, otherCostPico: 18n, differencePico: -32n });
  });

  test("has no difference where the other model lacks a price, which is named and never taken as zero", () => {
    const { units, models, total } = compareModels(
      [use({})],
      [asSmall({ prices: { input_tokens: 1 }, variants: [] })],
    );
    expect(units[1]).toMatchObject({
      unit: "output_tokens",
      otherCostPico: null,
      differencePico: null,
      unpricedReason: "no price",
    });
    expect(units[0]?.differencePico).toBe(-20n);
    for (const sum of [models[0], total])
      expect(sum).toMatchObject({ otherCostPico: 10n, differencePico: null });
  });

  test("has no difference where some of its requests were recorded without a price", () => {
    const [model] = compareModels([use({ unpricedRequests: 1 })], [asSmall(SMALL)]).models;
    expect(model).toMatchObject({ costPico: 50n, otherCostPico: 18n, differencePico: null });
  });

  test("of a tier has the prices that name the tier, and never the standard ones", () => {
    const flex = { input_tokens: 3, output_tokens: 5, when: { tier: "flex" } };
    const tiers = [use({}), use({ tier: "flex" }), use({ tier: "priority" })];
    const { units, models } = compareModels(tiers, [asSmall({ ...SMALL, variants: [flex] })]);
    expect(
      units
        .filter(({ unit }) => unit === "input_tokens")
        .map(({ tier, otherCostPico, unpricedReason }) => [tier, otherCostPico, unpricedReason]),
    ).toEqual([
      [null, 10n, null],
      ["flex", 30n, null],
      ["priority", null, "tier: priority"],
    ]);
    expect(models[0]?.differencePico).toBeNull();
  });

  test("in a region has the prices that name the region, and never the standard ones", () => {
    const inEurope = { input_tokens: 3, output_tokens: 5, when: { geo: "eu" } };
    const regions = [use({ geo: "eu" }), use({ geo: "us" })];
    const { units } = compareModels(regions, [asSmall({ ...SMALL, variants: [inEurope] })]);
    expect(
      units.map(({ geo, otherCostPico, unpricedReason }) => [geo, otherCostPico, unpricedReason]),
    ).toEqual([
      ["eu", 30n, null],
      ["eu", 10n, null],
      ["us", null, "geo: us"],
      ["us", null, "geo: us"],
    ]);
  });

  test("leaves out conditions that depend on each request where rows were not read, and says which", () => {
    const long = { input_tokens: 900, output_tokens: 900, when: { inputOver: 1 } };
    const night = { input_tokens: 900, output_tokens: 900, when: { hours: "00:00-24:00" } };
    const [model] = compareModels(
      [use({ billed: null })],
      [asSmall({ ...SMALL, variants: [long, night] })],
    ).models;
    expect(model).toMatchObject({ otherCostPico: 18n, conditionsLeftOut: ["input_over", "hours"] });
    expect(compareModels([use({ billed: null })], [asSmall(SMALL)]).models[0]?.conditionsLeftOut).toEqual([]);
  });

  test("counts cache writes at the price of input where rows were not read, and says so", () => {
    const prices = { prices: { ...SMALL.prices, cache_write_tokens: 7 }, variants: [] };
    const [model] = compareModels([use({ billed: null })], [asSmall(prices)]).models;
    expect(model).toMatchObject({ otherCostPico: 18n, areDetailsLeftOut: true });
  });

  test("that nobody used differs by nothing, and leaves the sum of the others as it is", () => {
    const others = [asSmall(SMALL), { ...asSmall(SMALL), from: "unused" }];
    const { models, total } = compareModels([use({})], others);
    expect(models[1]).toMatchObject({ requests: 0, costPico: null, otherCostPico: null, differencePico: 0n });
    expect(total.differencePico).toBe(-32n);
  });

  test("that cost nothing and used nothing of a unit without a price differs by what is priced", () => {
    const units = { input_tokens: 10, output_tokens: 0 };
    const zero = use({ units, billed: [billed({ prices: { input_tokens: 5 }, quantities: units })] });
    const [model] = compareModels([zero], [asSmall({ prices: { input_tokens: 1 }, variants: [] })]).models;
    expect(model).toMatchObject({ otherCostPico: 10n, differencePico: -40n });
  });

  test("is priced by each request's own length, hour and parts where rows were read", () => {
    const long = { input_tokens: 900, output_tokens: 900, when: { inputOver: 272_000 } };
    const night = { input_tokens: 5, output_tokens: 5, when: { hours: "22:00-02:30" } };
    const prices = { prices: { ...SMALL.prices, cache_write_tokens: 7 }, variants: [long, night] };
    expect(toRequestBounds([prices])).toEqual({ inputOver: [272_000], minutes: [150, 1320] });
    const parts = [
      billed({ quantities: { input_tokens: 6, cache_write_tokens: 4 }, endedAtUs: 150 * 60e6 }),
      billed({ quantities: { output_tokens: 1 }, inputTokens: 272_001, endedAtUs: 150 * 60e6 }),
      billed({ quantities: { output_tokens: 1 } }),
    ];
    const { models, units } = compareModels([use({ billed: parts })], [asSmall(prices)]);
    expect(units.map(({ otherCostPico }) => otherCostPico)).toEqual([6n + 28n, 905n]);
    expect(models[0]).toMatchObject({
      otherCostPico: 939n,
      differencePico: 889n,
      areDetailsLeftOut: false,
      conditionsLeftOut: [],
    });
  });

  test("against itself differs by nothing, also where each request was rounded by itself", () => {
    const rounded = billed({
      prices: { audio_seconds: 3 },
      quantities: { audio_seconds: 1.5 },
      costPico: 6n,
    });
    const whole = use({ costPico: 6n, units: { audio_seconds: 1.5 }, billed: [rounded] });
    const itself = asSmall({ prices: { audio_seconds: 3 }, variants: [] });
    expect(compareModels([whole], [itself]).total).toMatchObject({ otherCostPico: 6n, differencePico: 0n });
    // Another price has no such remainder.
    const other = asSmall({ prices: { audio_seconds: 4 }, variants: [] });
    expect(compareModels([whole], [other]).total).toMatchObject({ otherCostPico: 6n });
    const partial = { when: { inputOver: 7 }, input_tokens: 1 };
    const uses = [use({ billed: [billed(), billed({ inputTokens: 8 })] })];
    const { units, total } = compareModels(uses, [asSmall({ ...SMALL, variants: [partial] })]);
    expect(units[1]).toMatchObject({ unpricedReason: "no price", otherCostPico: 8n, differencePico: null });
    expect(total.differencePico).toBeNull();
  });
});
