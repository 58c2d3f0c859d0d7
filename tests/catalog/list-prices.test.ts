import { expect, test } from "bun:test";
import { findDifferences } from "../../contrib/prices/list-prices.ts";
import { isListVersion, parseFeed } from "#catalog/feed.ts";
import { readListPrices } from "#catalog/list-prices.ts";
import { parsePriceVariants } from "#catalog/variant-list.ts";
import { toConditionWords } from "#kernel/price-variants.ts";
import type { PriceSet, Unit } from "#kernel/units.ts";
import { choosePrices } from "#usage/cost.ts";
import { toListPricesView } from "#views/pricing.ts";
import map from "./price-map.json" with { type: "json" };

/** The prices of a listed model: the standard ones, and those of each variant by its conditions. */
function pricesOf(name: string): { readonly [conditions: string]: { readonly [unit in Unit]?: number } } {
  const entries = readListPrices().entries.filter((entry) => entry.name === name);
  const sets = Map.groupBy(entries, ({ when }) => (when === undefined ? "standard" : toConditionWords(when)));
  return Object.fromEntries(
    [...sets].map(([words, set]) => [
      words,
      Object.fromEntries(set.map(({ unit, pricePico }) => [unit, pricePico / 1e6])),
    ]),
  );
}

test("the list prices are a feed with a source and its day: each model has a price of what it is asked for, every text model one of its output", () => {
  const { version, source, sourceUrl, sources, asOf, entries } = readListPrices();
  expect([version, isListVersion(version), isListVersion("list"), isListVersion(null)]).toEqual([
    `list prices ${asOf}`,
    true,
    false,
    false,
  ]);
  expect(asOf).toMatch(/^20\d\d-\d\d-\d\d$/);
  expect(source).not.toBe("");
  for (const url of [sourceUrl, ...sources]) expect(new URL(url).protocol).toBe("https:");
  expect(sources.length).toBeGreaterThanOrEqual(6);
  const standard = entries.filter(({ when }) => when === undefined);
  const units = Map.groupBy(standard, ({ name }) => name);
  expect(units.size).toBeGreaterThanOrEqual(60);
  for (const [name, priced] of units) {
    const found = new Map(priced.map(({ unit, pricePico }) => [unit, pricePico]));
    const asked = /rerank/.test(name)
      ? "search_units"
      : /whisper/.test(name)
        ? "audio_seconds"
        : "input_tokens";
    expect({ name, input: (found.get(asked) ?? 0) > 0 }).toEqual({ name, input: true });
    if (!/embed|rerank|whisper/.test(name)) {
      expect({ name, output: (found.get("output_tokens") ?? 0) > 0 }).toEqual({ name, output: true });
    }
    // A cached read that costs more than reading is a slip of the pen.
    const cached = found.get("cached_input_tokens") ?? 0;
    expect({ name, cheaper: cached <= (found.get("input_tokens") ?? 0) }).toEqual({ name, cheaper: true });
  }
});

test("what OpenAI writes to its cache costs 1.25 times the input from GPT-5.6 on, under every condition, and has no price of its own before", () => {
  const names = new Set(
    readListPrices()
      .entries.map(({ name }) => name)
      .filter((name) => /^gpt-\d/.test(name)),
  );
  const isLater = (name: string) => /^gpt-(?:5\.[6-9]|[6-9])/.test(name);
  expect([...names].filter(isLater).length).toBeGreaterThanOrEqual(9);
  for (const name of names) {
    for (const [words, { input_tokens: input = 0, cache_write_tokens: write }] of Object.entries(
      pricesOf(name),
    )) {
      expect([name, words, write]).toEqual([name, words, isLater(name) ? input * 1.25 : undefined]);
    }
  }
});

test("the list says what LiteLLM's map says of the same models; a difference is printed", () => {
  expect(findDifferences(map)).toEqual([]);
  const changed = { ...map, "gpt-5": { ...map["gpt-5"], output_cost_per_token_flex: 6e-6 } };
  expect(findDifferences(changed)).toEqual([
    'gpt-5 {"tier":"flex"} output_tokens: 5 in the list, 6 in the map',
  ]);
});

test("list prices have tiers, long inputs, both together, regions and fast mode as their vendors publish them, and nothing for batches", () => {
  expect(pricesOf("gpt-5")).toEqual({
    standard: { input_tokens: 1.25, output_tokens: 10, cached_input_tokens: 0.125 },
    flex: { input_tokens: 0.625, output_tokens: 5, cached_input_tokens: 0.0625 },
    priority: { input_tokens: 2.5, output_tokens: 20, cached_input_tokens: 0.25 },
  });
  expect(Object.keys(pricesOf("gpt-6-sol")).toSorted()).toEqual([
    "flex",
    "flex, input over 272,000",
    "input over 272,000",
    "priority",
    "priority, input over 272,000",
    "standard",
  ]);
  const sol = pricesOf("gpt-6-sol");
  const ofStandard = (words: string, unit: Unit) =>
    (sol[words]?.[unit] ?? 0) / (sol["standard"]?.[unit] ?? 0);
  expect(ofStandard("input over 272,000", "input_tokens")).toBe(2);
  expect(ofStandard("input over 272,000", "output_tokens")).toBe(1.5);
  expect(ofStandard("flex, input over 272,000", "input_tokens")).toBe(1);
  const opus = pricesOf("claude-opus-5-5");
  expect(opus["region us"]).toEqual({
    input_tokens: 4.4,
    output_tokens: 22,
    cached_input_tokens: 0.22,
    cache_write_tokens: 5.5,
    cache_write_1h_tokens: 8.8,
    // A search is billed by the call, wherever it is made.
    web_searches: 10_000,
  });
  expect(opus["fast, region us"]?.output_tokens).toBe(44);
  expect(Object.keys(opus).toSorted()).toEqual(["fast", "fast, region us", "region us", "standard"]);
  expect(Object.keys(pricesOf("claude-sonnet-4-5"))).toEqual(["standard"]);
});

test("each variant of the list is a complete price set: whatever a standard price names has one there, or costs what its whole costs", () => {
  for (const name of new Set(readListPrices().entries.map((entry) => entry.name))) {
    const { standard = {}, ...variants } = pricesOf(name);
    const needed = Object.keys(standard).filter(
      (unit) => !/^input_audio|^input_image|^output_audio/.test(unit),
    );
    for (const [words, prices] of Object.entries(variants)) {
      expect([name, words, needed.filter((unit) => !(unit in prices))]).toEqual([name, words, []]);
    }
  }
});

test("a long flex request of a listed model is priced by the variant that names both, and a tier that no list names by none", () => {
  const { entries } = readListPrices();
  const view = toListPricesView(readListPrices()).entries;
  expect(parseFeed({ version: "v", entries: view }).entries).toEqual([...entries]);
  const variants = parsePriceVariants(
    Object.values(
      Object.groupBy(
        view.filter(({ model, when }) => model === "gpt-6-sol" && when !== undefined),
        ({ when }) => JSON.stringify(when),
      ),
    ).map((set = []) => ({
      when: set[0]?.when,
      pricing: Object.fromEntries(set.map((entry) => [entry.unit, entry.price_per_million])),
    })),
  );
  const choose = (tier: string | undefined, input: number): PriceSet & { readonly lacks?: string } =>
    choosePrices(
      { prices: { input_tokens: 2_000_000 }, variants },
      { tier, usage: { shape: "inclusive", quantities: { input_tokens: input } }, endedAtUs: 0 },
    );
  expect(choose(undefined, 272_000).input_tokens).toBe(2_000_000);
  expect(choose(undefined, 272_001).input_tokens).toBe(4_000_000);
  expect(choose("flex", 272_000).input_tokens).toBe(1_000_000);
  expect(choose("flex", 272_001).input_tokens).toBe(2_000_000);
  expect(choose("scale", 1)).toEqual({ lacks: "tier" });
});

test("a unit that stands in for another one has a price where it differs, such as audio beside text, and a search of Claude has one", () => {
  expect(pricesOf("gpt-audio")["standard"]).toEqual({
    input_tokens: 2.5,
    output_tokens: 10,
    input_audio_tokens: 32,
    output_audio_tokens: 64,
  });
  expect(pricesOf("gpt-image-1")["standard"]).toEqual({
    input_tokens: 5,
    output_tokens: 40,
    input_image_tokens: 10,
  });
  expect(pricesOf("whisper-1")["standard"]).toEqual({ audio_seconds: 100 });
  expect(pricesOf("rerank-v3.5")["standard"]).toEqual({ search_units: 2000 });
  expect(pricesOf("claude-sonnet-5-5")["standard"]).toMatchObject({ web_searches: 10_000 });
});
