import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  type CostTerms,
  type CostWindow,
  explainCost,
  foldModels,
  type ModelCost,
} from "#stats/cost-change.ts";
import { byUnit, type PriceSet, type Quantities, REPORT_UNITS, UNITS } from "#kernel/units.ts";
import { type BilledQuantities, priceUsage } from "#usage/cost.ts";

interface Used {
  readonly requests: number;
  readonly failed?: number;
  readonly unpricedRequests?: number;
  /** What the totals say; what was billed adds up to it where absent. */
  readonly costPico?: bigint;
  readonly billed?: readonly BilledQuantities[];
}

const bill = (quantities: Quantities, prices: PriceSet): BilledQuantities => ({ quantities, prices });
const costOf = (billed: readonly BilledQuantities[]) =>
  billed.reduce(
    (sum, { quantities, prices }) =>
      sum + (priceUsage({ shape: "exclusive", quantities }, prices).costPico ?? 0n),
    0n,
  );

function toModel(
  model: string,
  { requests, failed = 0, unpricedRequests = 0, costPico, billed = [] }: Used,
): ModelCost {
  return {
    model,
    requests,
    failed,
    unpricedRequests,
    costPico: costPico ?? costOf(billed),
    units: byUnit(REPORT_UNITS, (unit) =>
      billed.reduce((sum, { quantities }) => sum + (quantities[unit] ?? 0), 0),
    ),
    billed,
  };
}

function toWindow(
  models: { readonly [model: string]: Used },
  rows: CostWindow["rows"] = "exact",
): CostWindow {
  return {
    window: { sinceUs: 0, untilUs: 1 },
    models: Object.entries(models).map(([model, used]) => toModel(model, used)),
    rows,
  };
}

const NONE: CostTerms = {
  volume: 0n,
  models: 0n,
  tokens: 0n,
  cache: 0n,
  unpriced: 0n,
  price: 0n,
  unexplained: 0n,
};
const PRICES = { input_tokens: 10, output_tokens: 40, cached_input_tokens: 1 };
const explain = (before: { [model: string]: Used }, now: { [model: string]: Used }) =>
  explainCost(toWindow(before), toWindow(now));
const sum = (terms: CostTerms) => Object.values(terms).reduce((total, term) => total + term, 0n);

describe("the difference of two costs is", () => {
  const use = (requests: number, quantities: Quantities, prices: PriceSet = PRICES): Used => ({
    requests,
    billed: [bill(quantities, prices)],
  });
  const before = { big: use(10, { input_tokens: 100, output_tokens: 10 }) };

  test("volume alone where there are more requests like those of before", () => {
    const change = explain(before, { big: use(30, { input_tokens: 300, output_tokens: 30 }) });
    expect(change.differencePico).toBe(2_800n);
    expect(change.terms).toEqual({ ...NONE, volume: 2_800n });
  });

  test("tokens alone where each request uses more", () => {
    const change = explain(before, { big: use(10, { input_tokens: 250, output_tokens: 10 }) });
    expect(change.terms).toEqual({ ...NONE, tokens: 1_500n });
  });

  test("cache alone where the same prompts are read from it no longer", () => {
    const cached = { big: use(10, { input_tokens: 20, cached_input_tokens: 80, output_tokens: 10 }) };
    const change = explain(cached, before);
    expect(change.terms).toEqual({ ...NONE, cache: 720n });
  });

  test("cache, and not price, where prompts are written to it for more than input costs", () => {
    // Nothing was written before, so that the price of writing is that of now.
    const prices = { ...PRICES, cache_write_tokens: 15 };
    const written = use(10, { input_tokens: 20, cache_write_tokens: 80, output_tokens: 10 }, prices);
    expect(explain(before, { big: written }).terms).toEqual({ ...NONE, cache: 400n });
  });

  test("price alone where the same usage got dearer", () => {
    const dearer = { ...PRICES, output_tokens: 100 };
    const change = explain(before, { big: use(10, { input_tokens: 100, output_tokens: 10 }, dearer) });
    expect(change.terms).toEqual({ ...NONE, price: 600n });
  });

  test("models alone where as many requests went to a dearer one", () => {
    const dear = { input_tokens: 100, output_tokens: 400 };
    const half = use(5, { input_tokens: 50, output_tokens: 5 });
    const change = explain(
      { ...before, huge: use(10, { input_tokens: 100, output_tokens: 10 }, dear) },
      { big: half, huge: use(15, { input_tokens: 150, output_tokens: 15 }, dear) },
    );
    expect(change.differencePico).toBe(6_300n);
    expect(change.terms).toEqual({ ...NONE, models: 6_300n });
    expect(change.models.map(({ model, differencePico }) => [model, differencePico])).toEqual([
      ["huge", 7_000n],
      ["big", -700n],
    ]);
  });

  test("unpriced, and not price, where usage without a price got one", () => {
    const unpriced = { ...use(10, { input_tokens: 100, output_tokens: 10 }, {}), unpricedRequests: 10 };
    const change = explain({ big: unpriced }, before);
    expect(change.terms).toEqual({ ...NONE, unpriced: 1_400n });
  });

  test("no volume where only failures became more", () => {
    const failing = { big: { ...use(60, { input_tokens: 100, output_tokens: 10 }), failed: 50 } };
    const change = explain(before, failing);
    expect(change.terms).toEqual(NONE);
  });

  test("models where one is new, which there is nothing to compare with, and volume where there was nothing at all", () => {
    expect(explain({ ...before, small: use(0, {}) }, { ...before, small: use(0, {}) }).terms).toEqual(NONE);
    const change = explain(before, { ...before, new: use(10, { input_tokens: 1 }) });
    expect(change.terms).toMatchObject({ volume: 1_400n, models: 10n - 1_400n });
    expect(explain({}, before).terms).toEqual({ ...NONE, volume: 1_400n });
    expect(explain(before, {}).terms).toEqual({ ...NONE, volume: -1_400n });
  });

  test("unexplained, but for volume and models, where rows are not read: nothing is guessed", () => {
    const now = { big: use(20, { input_tokens: 400, output_tokens: 20 }, { ...PRICES, output_tokens: 50 }) };
    for (const rows of ["too_many_requests", "rows_removed"] as const) {
      const change = explainCost(toWindow(before, rows), toWindow(now));
      expect(change.terms).toEqual({ ...NONE, volume: 1_400n, unexplained: 5_000n - 2_800n });
    }
  });

  test("unexplained by what the totals have beyond what was billed, and by nothing else", () => {
    const used = use(10, { input_tokens: 100, output_tokens: 10 });
    const change = explain({ big: { ...used, costPico: 1_403n } }, { big: { ...used, costPico: 1_390n } });
    expect(change.terms).toEqual({ ...NONE, unexplained: -13n });
  });
});

const price = fc.constantFrom(0, 1, 3, 7, 250_000, 1_250_000, 999_999_999);
const prices = fc
  .dictionary(fc.constantFrom(...UNITS), fc.oneof(price, fc.constant(null)), { maxKeys: 8 })
  .map((set): PriceSet => set);
const quantities = fc
  .dictionary(fc.constantFrom(...UNITS), fc.oneof(fc.nat(3), fc.nat(10 ** 9)), { maxKeys: 8 })
  .map((set): Quantities => set);
const used = fc.record({
  requests: fc.integer({ min: 1, max: 10 ** 6 }),
  failed: fc.constant(0),
  billed: fc.array(fc.record({ quantities, prices }), { maxLength: 3 }),
});
const models = fc.dictionary(fc.constantFrom("a", "b", "c", "d", "e"), used);

describe("on any two windows", () => {
  test("terms add up to the difference to the pico, of each model, of the whole and of what is folded", () => {
    fc.assert(
      fc.property(models, models, (before, now) => {
        const change = explain(before, now);
        const [had, has] = [before, now].map((window) =>
          Object.values(window).reduce((total, { billed }) => total + costOf(billed), 0n),
        );
        expect(change.differencePico).toBe((has ?? 0n) - (had ?? 0n));
        expect(sum(change.terms)).toBe(change.differencePico);
        for (const model of change.models) expect(sum(model.terms)).toBe(model.differencePico);
        const rest = foldModels(change.models, 1);
        const parts = [...change.models.slice(0, 1), ...(rest === null ? [] : [rest])];
        expect(parts.reduce((total, part) => total + sum(part.terms), 0n)).toBe(change.differencePico);
      }),
    );
  });

  // The sum would hide a wrong term: what is left over has a bound of its own.
  test("whole quantities leave nothing unexplained, and the same windows no term at all", () => {
    fc.assert(
      fc.property(models, models, (before, now) => {
        for (const { terms } of explain(before, now).models) expect(terms.unexplained).toBe(0n);
        expect(explain(now, now).terms).toEqual(NONE);
      }),
    );
  });

  test("what differs in one thing alone has no other term", () => {
    fc.assert(
      fc.property(models, fc.integer({ min: 2, max: 9 }), (before, times) => {
        const grow = (billed: readonly BilledQuantities[]) =>
          billed.map((each) =>
            bill(
              byUnit(UNITS, (unit) => scale(each.quantities[unit], times)),
              each.prices,
            ),
          );
        const all = Object.entries(before);
        const more = Object.fromEntries(
          all.map(([name, { requests, billed }]) => [
            name,
            { requests: requests * times, billed: grow(billed) },
          ]),
        );
        const ofVolume = explain(before, more);
        expect(ofVolume.terms).toEqual({ ...NONE, volume: ofVolume.differencePico });
        const longer = Object.fromEntries(
          all.map(([name, { requests, billed }]) => [name, { requests, billed: grow(billed) }]),
        );
        const ofTokens = explain(before, longer);
        expect(ofTokens.terms).toEqual({ ...NONE, tokens: ofTokens.differencePico });
      }),
    );
  });
});

const scale = (quantity: number | undefined, times: number) =>
  quantity === undefined ? undefined : quantity * times;
