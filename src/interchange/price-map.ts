import type { FeedEntry } from "#catalog/feed.ts";
import { createEntryParser } from "#catalog/feed.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Unit } from "#kernel/units.ts";

/** A parsed JSON object. */
export type JsonObject = { readonly [field: string]: unknown };

/** A model of a price map that gives no price, or one of its prices that cannot be kept. */
export interface SkippedPrice {
  readonly name: string;
  readonly reason: string;
}

/** What of LiteLLM's `model_prices_and_context_window.json` can be kept here. */
export interface PriceMapReading {
  readonly entries: readonly FeedEntry[];
  readonly skipped: readonly SkippedPrice[];
  /** Models that have more prices than those: tiers, batches, sizes of images. */
  readonly partialCount: number;
}

/** LiteLLM's price fields that have a unit here; every price in them is one of a single unit. */
export const UNIT_OF_FIELD: Readonly<Record<string, Unit>> = {
  input_cost_per_token: "input_tokens",
  output_cost_per_token: "output_tokens",
  cache_read_input_token_cost: "cached_input_tokens",
  cache_creation_input_token_cost: "cache_write_tokens",
  cache_creation_input_token_cost_above_1hr: "cache_write_1h_tokens",
  input_cost_per_audio_token: "input_audio_tokens",
  output_cost_per_audio_token: "output_audio_tokens",
  input_cost_per_image_token: "input_image_tokens",
  input_cost_per_request: "requests",
};

/** Fields whose price is one of a unit here for some models only: those of a mode. */
const UNITS_OF_MODE: Readonly<Record<string, Readonly<Record<string, Unit>>>> = {
  audio_transcription: { input_cost_per_second: "audio_seconds" },
  image_generation: { output_cost_per_image: "images" },
  image_edit: { output_cost_per_image: "images" },
  rerank: { input_cost_per_query: "search_units" },
};
const IMAGE_MODES: ReadonlySet<unknown> = new Set(["image_generation", "image_edit"]);
/** A model that gives images alone has no other output: without a price of text, this is the one of its output. */
const IMAGE_OUTPUT_FIELD = "output_cost_per_image_token";
/** Only the messages dialect tells its searches, which Claude speaks: its price is one whatever a search brings. */
const SEARCH_FIELD = "search_context_cost_per_query";
/** The entry that explains the others. */
const SAMPLE = "sample_spec";

/** Whether a parsed file looks like such a map: an object of objects of which one has a price per token. */
export function isPriceMap(value: unknown): value is JsonObject {
  if (!isJsonObject(value)) return false;
  return Object.values(value).some(
    (spec) => isJsonObject(spec) && Object.keys(spec).some((field) => Object.hasOwn(UNIT_OF_FIELD, field)),
  );
}

/** Reads one model after the other; `finish` gives what came of them. */
export function createPriceMapReader() {
  const parse = createEntryParser();
  const entries: FeedEntry[] = [];
  const skipped: SkippedPrice[] = [];
  let partialCount = 0;

  function read(name: string, spec: unknown): void {
    if (name === SAMPLE) {
      skipped.push({ name, reason: "It explains the file and is no model." });
      return;
    }
    if (!isJsonObject(spec)) {
      skipped.push({ name, reason: "It is not an object of prices." });
      return;
    }
    const prices = toPrices(name, spec);
    if (prices.length === 0) skipped.push({ name, reason: "It has no price that has a unit here." });
    if (hasMorePrices(spec, prices)) partialCount += 1;
    for (const { field, unit, price } of prices) {
      try {
        entries.push(parse({ model: name, unit, price_per_unit: price }, entries.length));
      } catch (failure) {
        if (!(failure instanceof ProxyError)) throw failure;
        skipped.push({ name, reason: `${field}: ${failure.message}` });
      }
    }
  }

  return { read, finish: (): PriceMapReading => ({ entries, skipped, partialCount }) };
}

interface MapPrice {
  readonly field: string;
  readonly unit: Unit;
  readonly price: unknown;
}

function toPrices(name: string, spec: JsonObject): readonly MapPrice[] {
  const { mode, output_cost_per_token: textOutput } = spec;
  const ofMode = typeof mode === "string" ? (UNITS_OF_MODE[mode] ?? {}) : {};
  const prices: MapPrice[] = Object.entries({ ...UNIT_OF_FIELD, ...ofMode }).map(([field, unit]) => ({
    field,
    unit,
    price: spec[field],
  }));
  if (IMAGE_MODES.has(mode) && textOutput === undefined) {
    prices.push({ field: IMAGE_OUTPUT_FIELD, unit: "output_tokens", price: spec[IMAGE_OUTPUT_FIELD] });
  }
  if (name.includes("claude")) {
    prices.push({ field: SEARCH_FIELD, unit: "web_searches", price: findSearchPrice(spec[SEARCH_FIELD]) });
  }
  return prices.filter(({ price }) => price !== undefined && price !== null);
}

/** Undefined where the price depends on how much a search brings. */
function findSearchPrice(bySize: unknown): unknown {
  const prices = isJsonObject(bySize) ? [...new Set(Object.values(bySize))] : [];
  return prices.length === 1 ? prices[0] : undefined;
}

function hasMorePrices(spec: JsonObject, prices: readonly MapPrice[]): boolean {
  return Object.entries(spec).some(
    ([field, value]) =>
      /cost/.test(field) &&
      !prices.some((price) => price.field === field) &&
      typeof value === "number" &&
      value > 0,
  );
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
