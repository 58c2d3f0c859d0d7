import { describe, expect, test } from "bun:test";
import type { Capability } from "#catalog/capability.ts";
import { findMissedUnits, isPriceMissed } from "#catalog/missed-prices.ts";
import { UNITS, type Unit } from "#kernel/units.ts";

type Case = readonly [
  what: string,
  capabilities: readonly Capability[],
  pricing: { readonly [unit in Unit]?: number },
  missed: readonly Unit[],
  shown: readonly Unit[],
];

const WRITES = ["cache_write_tokens", "cache_write_1h_tokens"] as const;

const CASES: readonly Case[] = [
  [
    "a chat model without a price misses input and output, and no rare unit",
    ["chat", "chat_stream"],
    {},
    ["input_tokens", "output_tokens"],
    ["input_tokens", "output_tokens", "cached_input_tokens", ...WRITES],
  ],
  [
    "a chat model with both",
    ["chat"],
    { input_tokens: 1, output_tokens: 0 },
    [],
    ["cached_input_tokens", ...WRITES],
  ],
  ["an embedding model", ["embeddings"], {}, ["input_tokens"], ["input_tokens"]],
  [
    "an image model without a price may be told in images or in tokens",
    ["images"],
    {},
    ["images"],
    ["input_tokens", "output_tokens", "input_image_tokens", "images"],
  ],
  ["an image model by the image misses no token", ["images"], { images: 40_000 }, [], []],
  ["an image model by the token misses no image", ["images"], { input_tokens: 5, output_tokens: 40 }, [], []],
  ["a transcriber by the second", ["transcription"], { audio_seconds: 100 }, [], []],
  ["speech by the request", ["speech"], { requests: 100 }, [], []],
  ["a reranker by the search", ["rerank"], { search_units: 2000 }, [], []],
  ["a reranker without a price", ["rerank"], {}, ["search_units"], ["input_tokens", "search_units"]],
  ["moderation, which tells nothing", ["moderation"], {}, [], []],
];

describe("a price is missed", () => {
  test.each(CASES)("or not: %s", (_, capabilities, pricing, missed, shown) => {
    expect(findMissedUnits({ capabilities, pricing })).toEqual(missed);
    const isPart = (unit: Unit) => /_(?:audio|image)_tokens$/.test(unit);
    const found = UNITS.filter((unit) => isPriceMissed({ capabilities, pricing }, unit));
    expect(found.filter((unit) => !isPart(unit))).toEqual(shown.filter((unit) => !isPart(unit)));
  });
});
