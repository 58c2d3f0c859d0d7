import { describe, expect, test } from "bun:test";
import { createPriceMapReader } from "#interchange/price-map.ts";

function read(name: string, spec: object) {
  const reader = createPriceMapReader();
  reader.read(name, spec);
  const { entries, skipped, partialCount } = reader.finish();
  const prices = Object.fromEntries(entries.map(({ unit, pricePico }) => [unit, pricePico / 1e6]));
  return { prices, skipped: skipped.length, partialCount };
}

type Case = readonly [
  name: string,
  spec: object,
  prices: { readonly [unit: string]: number },
  isPartial: boolean,
];

/** Entries of `model_prices_and_context_window.json` of LiteLLM 1.109.1, without what is no price. */
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
    false,
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
    false,
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
    true,
  ],
  ["aiml/dall-e-3", { mode: "image_generation", output_cost_per_image: 0.052 }, { images: 52_000 }, false],
  // The price of an image that a chat model answers with: it is told in tokens.
  [
    "chat-with-images",
    { mode: "chat", input_cost_per_token: 1e-6, output_cost_per_image: 0.03 },
    { input_tokens: 1 },
    true,
  ],
  [
    "rerank-v3.5",
    { mode: "rerank", input_cost_per_query: 0.002, input_cost_per_token: 0, output_cost_per_token: 0 },
    { input_tokens: 0, output_tokens: 0, search_units: 2000 },
    false,
  ],
  [
    "embed",
    { mode: "embedding", input_cost_per_token: 1e-7, input_cost_per_query: 7e-5 },
    { input_tokens: 0.1 },
    true,
  ],
  [
    "whisper-1",
    { mode: "audio_transcription", input_cost_per_second: 0.0001 },
    { audio_seconds: 100 },
    false,
  ],
  [
    "pplx",
    { mode: "chat", input_cost_per_token: 1e-6, input_cost_per_request: 0.005 },
    { input_tokens: 1, requests: 5000 },
    false,
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
    false,
  ],
  [
    "claude-by-size",
    {
      mode: "chat",
      input_cost_per_token: 2e-6,
      search_context_cost_per_query: { search_context_size_high: 0.02, search_context_size_low: 0.01 },
    },
    { input_tokens: 2 },
    false,
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
    false,
  ],
];

describe("an entry of LiteLLM's price map", () => {
  test.each(SPECS)(
    "%s gives the prices that have a unit here, and no other",
    (name, spec, prices, isPartial) => {
      expect(read(name, spec)).toEqual({ prices, skipped: 0, partialCount: isPartial ? 1 : 0 });
    },
  );

  test("without a price that has a unit is skipped with the reason", () => {
    expect(read("tts-1", { mode: "audio_speech", input_cost_per_character: 1.5e-5 })).toEqual({
      prices: {},
      skipped: 1,
      partialCount: 1,
    });
  });
});
