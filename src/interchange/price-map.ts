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
  /** Models that have more prices than those: tiers, batches, images. */
  readonly partialCount: number;
}

/** LiteLLM's price fields that have a unit here; every price in them is one of a single unit. */
export const UNIT_OF_FIELD: Readonly<Record<string, Unit>> = {
  input_cost_per_token: "input_tokens",
  output_cost_per_token: "output_tokens",
  cache_read_input_token_cost: "cached_input_tokens",
  cache_creation_input_token_cost: "cache_write_tokens",
  cache_creation_input_token_cost_above_1hr: "cache_write_1h_tokens",
};
/** For a model that transcribes, the price of what it listens to. */
const LISTENING_FIELD = "input_cost_per_second";
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
    const prices = toPrices(spec);
    if (prices.length === 0) skipped.push({ name, reason: "It has no price per token." });
    if (hasMorePrices(spec)) partialCount += 1;
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

function toPrices(spec: JsonObject): readonly MapPrice[] {
  const prices = Object.entries(UNIT_OF_FIELD).map(([field, unit]) => ({ field, unit, price: spec[field] }));
  if (spec["mode"] === "audio_transcription") {
    prices.push({ field: LISTENING_FIELD, unit: "audio_seconds", price: spec[LISTENING_FIELD] });
  }
  return prices.filter(({ price }) => price !== undefined && price !== null);
}

function hasMorePrices(spec: JsonObject): boolean {
  return Object.entries(spec).some(
    ([field, value]) =>
      /cost/.test(field) && !Object.hasOwn(UNIT_OF_FIELD, field) && typeof value === "number" && value > 0,
  );
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
