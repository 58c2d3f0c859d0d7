import { expect, test } from "bun:test";
import { toKnownCost } from "../../ui/pages/models/repricing/change-table.tsx";
import {
  findPlanFaults,
  findPrices,
  type TodaysPrices,
  toPlanForm,
  toRepricingDraft,
} from "../../ui/pages/models/repricing/plan-form.ts";
import { readRepricingSearch } from "../../ui/search/pages.ts";

const FLEX = { when: { tier: "flex" }, pricing: { input_tokens: 1 } };
const TODAY: TodaysPrices = {
  models: [
    { alias: "best", pricing: { input_tokens: 2, output_tokens: 4 }, price_variants: [FLEX] },
    { alias: "bare", pricing: {} },
  ],
  pricing: {
    entries: [
      { model: "relayed", unit: "input_tokens", price_per_unit: 3e-6, price_per_million: 3, version: null },
      { model: "best", unit: "input_tokens", price_per_unit: 9e-6, price_per_million: 9, version: null },
    ],
    variants: [{ model: "relayed", ...FLEX, version: null }],
  },
};

test("a plan has the prices in force of a model, and those that are kept for a name that no model has", () => {
  expect(findPrices("best", TODAY)).toEqual({
    pricing: { input_tokens: 2, output_tokens: 4 },
    price_variants: [FLEX],
  });
  expect(findPrices("relayed", TODAY)).toEqual({ pricing: { input_tokens: 3 }, price_variants: [FLEX] });
  expect(findPrices("bare", TODAY)).toBeNull();
  expect(findPrices("nobody", TODAY)).toBeNull();
});

test("a plan is a dry run of what the address and the fields ask for, and none where a name has no price to give", () => {
  const form = toPlanForm(
    readRepricingSearch({ plan: "1", of: ["best", "best"], since: "2026-03-01", unpriced: "1" }),
  );
  expect(toRepricingDraft({ ...form, typedModel: "relayed" }, TODAY)).toEqual({
    since: "2026-03-01",
    prices: {
      best: { pricing: { input_tokens: 2, output_tokens: 4 }, price_variants: [FLEX] },
      relayed: { pricing: { input_tokens: 3 }, price_variants: [FLEX] },
    },
    unpriced_only: true,
    dry_run: true,
  });
  // Prices as they held are the server's to know.
  expect(toRepricingDraft({ ...form, at: "history", isUnpricedOnly: false }, TODAY)).toEqual({
    since: "2026-03-01",
    filters: { model: ["best"] },
    prices: "history",
    dry_run: true,
  });
  expect(() => toRepricingDraft({ ...form, models: ["best", "bare"] }, TODAY)).toThrow(
    "bare has no price today",
  );
});

test("moments that are none, that are in the wrong order, and no model at all are told at their fields", () => {
  const form = toPlanForm({});
  expect(Object.keys(findPlanFaults(form)).filter((path) => findPlanFaults(form)[path])).toEqual(["models"]);
  expect(findPlanFaults({ ...form, at: "history" })["models"]).toBeUndefined();
  const named = { ...form, typedModel: "best" };
  expect(findPlanFaults({ ...named, since: "2026-02-30" })["since"]).toStartWith("Enter a date");
  expect(findPlanFaults({ ...named, since: "2026-03-01 12:00", until: "2026-03-01" })["until"]).toBe(
    "Enter a moment after the first one",
  );
  expect(
    findPlanFaults({ ...named, since: "2026-03-01", until: "2026-03-01T00:01" })["until"],
  ).toBeUndefined();
});

test("a cost of which no request had a price is unpriced, and one of nothing but free requests is $0", () => {
  expect(toKnownCost({ requests: 2, cost: 0, unpriced: 2 })).toBeNull();
  expect(toKnownCost({ requests: 2, cost: 0, unpriced: 1 })).toBe(0);
  expect(toKnownCost({ requests: 2, cost: 0, unpriced: 0 })).toBe(0);
  // Another unit of the same requests was priced.
  expect(toKnownCost({ requests: 2, cost: 0.5, unpriced: 2 })).toBe(0.5);
});
