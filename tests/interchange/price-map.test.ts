import { describe, expect, test } from "bun:test";
import { createPriceMapReader } from "#interchange/price-map.ts";
import type { PriceConditions } from "#kernel/price-variants.ts";

function read(name: string, spec: object) {
  const reader = createPriceMapReader();
  reader.read(name, spec);
  const { entries, skipped, unread, uncachedCount } = reader.finish();
  const sets = Map.groupBy(entries, ({ when }) => (when === undefined ? "" : toWords(when)));
  const { "": prices = {}, ...variants } = Object.fromEntries(
    [...sets].map(([words, set]) => [
      words,
      Object.fromEntries(set.map(({ unit, pricePico }) => [unit, pricePico / 1e6])),
    ]),
  );
  return {
    prices,
    variants,
    skipped: skipped.length,
    unread: unread.map(({ field }) => field),
    uncachedCount,
  };
}

/** In the order of the conditions, which a variant's have, too. */
function toWords(when: PriceConditions): string {
  return Object.values(when).join(" ");
}

type Case = readonly [
  name: string,
  spec: object,
  prices: { readonly [unit: string]: number },
  unread: readonly string[],
];

/** Entries of `model_prices_and_context_window.json` of LiteLLM, without what is no price. */
const SPECS: readonly Case[] = [
  [
    "gpt-audio",
    {
      mode: "chat",
      input_cost_per_token: 2.5e-6,
      output_cost_per_token: 1e-5,
      input_cost_per_audio_token: 3.2e-5,
      output_cost_per_audio_token: 6.4e-5,
    },
    { input_tokens: 2.5, output_tokens: 10, input_audio_tokens: 32, output_audio_tokens: 64 },
    [],
  ],
  [
    "gpt-image-2",
    {
      mode: "image_generation",
      input_cost_per_token: 5e-6,
      input_cost_per_image_token: 8e-6,
      output_cost_per_image_token: 3e-5,
    },
    { input_tokens: 5, output_tokens: 30, input_image_tokens: 8 },
    [],
  ],
  [
    // Its output may be text or images, and no answer tells how much of each.
    "gpt-image-1.5",
    {
      mode: "image_generation",
      input_cost_per_token: 5e-6,
      output_cost_per_token: 1e-5,
      output_cost_per_image_token: 3.2e-5,
    },
    { input_tokens: 5, output_tokens: 10 },
    ["output_cost_per_image_token"],
  ],
  ["aiml/dall-e-3", { mode: "image_generation", output_cost_per_image: 0.052 }, { images: 52_000 }, []],
  // The price of an image that a chat model answers with: it is told in tokens.
  [
    "chat-with-images",
    { mode: "chat", input_cost_per_token: 1e-6, output_cost_per_image: 0.03 },
    { input_tokens: 1 },
    ["output_cost_per_image"],
  ],
  [
    "rerank-v3.5",
    { mode: "rerank", input_cost_per_query: 0.002, input_cost_per_token: 0, output_cost_per_token: 0 },
    { input_tokens: 0, output_tokens: 0, search_units: 2000 },
    [],
  ],
  [
    "embed",
    { mode: "embedding", input_cost_per_token: 1e-7, input_cost_per_query: 7e-5 },
    { input_tokens: 0.1 },
    ["input_cost_per_query"],
  ],
  ["whisper-1", { mode: "audio_transcription", input_cost_per_second: 0.0001 }, { audio_seconds: 100 }, []],
  [
    "pplx",
    { mode: "chat", input_cost_per_token: 1e-6, input_cost_per_request: 0.005 },
    { input_tokens: 1, requests: 5000 },
    [],
  ],
  [
    "claude-sonnet-5-5",
    {
      mode: "chat",
      input_cost_per_token: 2e-6,
      cache_creation_input_token_cost: 2.5e-6,
      cache_creation_input_token_cost_above_1hr: 4e-6,
      search_context_cost_per_query: {
        search_context_size_high: 0.01,
        search_context_size_low: 0.01,
        search_context_size_medium: 0.01,
      },
    },
    { input_tokens: 2, cache_write_tokens: 2.5, cache_write_1h_tokens: 4, web_searches: 10_000 },
    [],
  ],
  [
    "claude-by-size",
    {
      mode: "chat",
      input_cost_per_token: 2e-6,
      search_context_cost_per_query: { search_context_size_high: 0.02, search_context_size_low: 0.01 },
    },
    { input_tokens: 2 },
    ["search_context_cost_per_query"],
  ],
  // No dialect but Claude's tells its searches, so that the price would hold for nothing.
  [
    "gemini-2.5-flash",
    {
      mode: "chat",
      input_cost_per_token: 3e-7,
      search_context_cost_per_query: { search_context_size_high: 0.035, search_context_size_low: 0.035 },
    },
    { input_tokens: 0.3 },
    ["search_context_cost_per_query"],
  ],
];

describe("an entry of LiteLLM's price map", () => {
  test.each(SPECS)(
    "%s gives the prices that have a unit here, names the fields of the others, and gives nothing else",
    (name, spec, prices, unread) => {
      expect(read(name, spec)).toEqual({
        prices,
        variants: {},
        skipped: 0,
        unread: [...unread],
        uncachedCount: 0,
      });
    },
  );

  test("without a price that has a unit is skipped with the reason", () => {
    expect(read("tts-1", { mode: "audio_speech", input_cost_per_character: 1.5e-5 })).toMatchObject({
      prices: {},
      skipped: 1,
      unread: ["input_cost_per_character"],
    });
  });
});

/** Standard prices of the entries below. */
const STANDARD = {
  mode: "chat",
  input_cost_per_token: 2e-6,
  output_cost_per_token: 1e-5,
  cache_read_input_token_cost: 2e-7,
};

describe("prices under conditions in LiteLLM's price map", () => {
  test("are one variant for each tier, each length, and both together, with cache writes of each kind, and none for batches", () => {
    const suffixes = ["", "_flex", "_priority", "_ultrafast", "_batches"];
    const bands = ["", "_above_272k_tokens"];
    const bases = [
      "input_cost_per_token",
      "output_cost_per_token",
      "cache_read_input_token_cost",
      "cache_creation_input_token_cost",
      "cache_creation_input_token_cost_above_1hr",
    ];
    const fields = suffixes.flatMap((tier) =>
      bands.flatMap((band) => bases.map((base) => base + band + tier)),
    );
    const spec = Object.fromEntries(fields.map((field, index) => [field, index / 1e6]));
    const { prices, variants, unread } = read("m", { mode: "chat", ...spec });
    const set = (first: number) => ({
      input_tokens: first,
      output_tokens: first + 1,
      cached_input_tokens: first + 2,
      cache_write_tokens: first + 3,
      cache_write_1h_tokens: first + 4,
    });
    expect(prices).toEqual(set(0));
    expect(variants).toEqual({
      "272000": set(5),
      flex: set(10),
      "flex 272000": set(15),
      priority: set(20),
      "priority 272000": set(25),
      ultrafast: set(30),
      "ultrafast 272000": set(35),
    });
    expect(unread.toSorted()).toEqual(fields.filter((field) => field.endsWith("_batches")).toSorted());
  });

  test.each([
    ["_above_128k_tokens", {}, "128000"],
    ["_above_1000k_tokens", {}, "1000000"],
    // "From 200k on", where the others say "above".
    ["_above_200k_tokens", { litellm_provider: "xai" }, "199999"],
  ])("%s holds for the whole input of any such length", (suffix, more, words) => {
    const band = { [`input_cost_per_token${suffix}`]: 4e-6, [`output_cost_per_token${suffix}`]: 1.5e-5 };
    expect(read("m", { ...STANDARD, ...more, ...band }).variants).toEqual({
      [words]: { input_tokens: 4, output_tokens: 15 },
    });
  });

  test("name nothing that the map does not: cached input has then no price, counted once a model, and what is billed by the call keeps its price", () => {
    const flex = { input_cost_per_token_flex: 1e-6, output_cost_per_token_flex: 5e-6 };
    const priority = { input_cost_per_token_priority: 4e-6, output_cost_per_token_priority: 2e-5 };
    const found = read("m", {
      ...STANDARD,
      ...flex,
      ...priority,
      input_cost_per_audio_token: 3e-6,
      input_cost_per_request: 0.005,
    });
    expect(found.variants).toEqual({
      flex: { input_tokens: 1, output_tokens: 5, requests: 5000 },
      priority: { input_tokens: 4, output_tokens: 20, requests: 5000 },
    });
    expect(found.uncachedCount).toBe(1);
  });

  test("that leave input or output without a price are not read and named, so that the tier is unpriced and not half priced", () => {
    const { variants, unread } = read("m", {
      ...STANDARD,
      input_cost_per_token_flex: 1e-6,
      cache_read_input_token_cost_flex: 1e-7,
      input_cost_per_audio_token_above_200k_tokens: 1e-6,
    });
    expect(variants).toEqual({});
    expect(unread.toSorted()).toEqual([
      "cache_read_input_token_cost_flex",
      "input_cost_per_audio_token_above_200k_tokens",
      "input_cost_per_token_flex",
    ]);
  });

  test("of a model that gives no output, such as an embedding, need none of it", () => {
    const spec = { mode: "embedding", input_cost_per_token: 1e-6, input_cost_per_token_flex: 5e-7 };
    expect(read("m", spec).variants).toEqual({ flex: { input_tokens: 0.5 } });
  });

  test("as factors of a region and of fast mode hold for tokens of every kind, for long inputs and together, and for no search", () => {
    const { prices, variants, unread } = read("claude-x", {
      mode: "chat",
      input_cost_per_token: 1e-7,
      output_cost_per_token: 5e-7,
      cache_creation_input_token_cost: 1.25e-7,
      input_cost_per_token_above_100k_tokens: 5e-7,
      output_cost_per_token_above_100k_tokens: 2.5e-6,
      search_context_cost_per_query: { search_context_size_high: 0.01, search_context_size_low: 0.01 },
      provider_specific_entry: { us: 1.1, fast: 2, realtime_ga_only: 1 },
    });
    const set = (input: number, output: number, write?: number) => ({
      input_tokens: input,
      output_tokens: output,
      ...(write !== undefined && { cache_write_tokens: write }),
      web_searches: 10_000,
    });
    expect(prices).toEqual(set(0.1, 0.5, 0.125));
    expect(variants).toEqual({
      "100000": set(0.5, 2.5),
      us: set(0.11, 0.55, 0.1375),
      "100000 us": set(0.55, 2.75),
      fast: set(0.2, 1, 0.25),
      "fast 100000": set(1, 5),
      "fast us": set(0.22, 1.1, 0.275),
      "fast 100000 us": set(1.1, 5.5),
    });
    expect(unread).toEqual([]);
  });

  test("as ranges of the input's length begin above the end of the range before, and the first has the standard prices", () => {
    const ranges = [
      { range: [0, 32_000], input_cost_per_token: 1e-6, output_cost_per_token: 5e-6 },
      { range: [32_000, 128_000], input_cost_per_token: 2e-6, output_cost_per_token: 6e-6 },
      { range: [128_000, 256_000], input_cost_per_token: 4e-6, output_cost_per_token: 7e-6 },
    ];
    expect(read("m", { mode: "chat", tiered_pricing: ranges })).toEqual({
      prices: { input_tokens: 1, output_tokens: 5 },
      variants: {
        "32000": { input_tokens: 2, output_tokens: 6 },
        "128000": { input_tokens: 4, output_tokens: 7 },
      },
      skipped: 0,
      unread: [],
      uncachedCount: 0,
    });
  });

  test("that no condition here can say, such as weekdays or a longer cache, are named with how many models have them", () => {
    const reader = createPriceMapReader();
    const offPeak = { input_cost_per_token: 1e-6, windows: [{ hours_utc: "00:00-00:00", weekdays: [6, 7] }] };
    reader.read("a", {
      ...STANDARD,
      off_peak_pricing: offPeak,
      regional_processing_uplift_multiplier_eu: 1.1,
    });
    reader.read("b", {
      ...STANDARD,
      cache_creation_input_token_cost_above_12hr: 5e-6,
      regional_processing_uplift_multiplier_eu: 1.1,
      // Says the same twice, or nothing.
      output_cost_per_reasoning_token: 1e-5,
      input_cost_per_token_cache_hit: 2e-7,
      input_cost_per_token_batches: 0,
    });
    expect(reader.finish().unread).toEqual([
      { field: "regional_processing_uplift_multiplier_eu", models: 2 },
      { field: "off_peak_pricing", models: 1 },
      { field: "cache_creation_input_token_cost_above_12hr", models: 1 },
    ]);
  });
});
