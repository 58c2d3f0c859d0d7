import { type FeedEntry, parsePricePerUnit } from "#catalog/feed.ts";
import { isUpstreamName } from "#catalog/model.ts";
import { ProxyError } from "#kernel/errors.ts";
import { isJsonObject, type JsonObject } from "#kernel/json.ts";
import type { PriceConditions } from "#kernel/price-variants.ts";
import { isUnit, type PricePico, type Unit, UNIT_TABLE, UNITS } from "#kernel/units.ts";

/** A model of a price map that gives no price, or one of its prices that cannot be kept. */
export interface SkippedPrice {
  readonly name: string;
  readonly reason: string;
}

/** A field with prices for which there is no unit or no condition here: batches, sizes of images, weekdays. */
export interface UnreadField {
  readonly field: string;
  /** The models that have one. */
  readonly models: number;
}

/** What of LiteLLM's `model_prices_and_context_window.json` can be kept here. */
export interface PriceMapReading {
  readonly entries: readonly FeedEntry[];
  readonly skipped: readonly SkippedPrice[];
  /** Those of most models first. */
  readonly unread: readonly UnreadField[];
  /** Models that have cached input priced, but not under each of their conditions. */
  readonly uncachedCount: number;
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
/** Prices by the length of the input, as ranges. */
const RANGES_FIELD = "tiered_pricing";
/** Factors on all token prices, by the region of inference and for fast mode. */
const FACTORS_FIELD = "provider_specific_entry";
const FACTORS = { us: { geo: "us" }, fast: { tier: "fast" } } as const;
/** A price below this one ends with its tier, after a length such as `_above_272k_tokens`. */
const CONDITIONS_PATTERN = /^(.+?)(?:_above_(\d+)k_tokens)?(?:_(flex|balanced|priority|ultrafast))?$/;
/** The longer price of this provider begins at the length, and not above it. */
const INCLUSIVE_PROVIDER = "xai";
/** Fields that repeat another one, where the price is the same. */
const REPEATS: Readonly<Record<string, string>> = {
  output_cost_per_reasoning_token: "output_cost_per_token",
  input_cost_per_token_cache_hit: "cache_read_input_token_cost",
  output_cost_per_second: "input_cost_per_second",
};
/** A variant without these would leave most of a request without a price. */
const MAIN_UNITS = ["input_tokens", "output_tokens"] as const;
/** The entry that explains the others. */
const SAMPLE = "sample_spec";

/** Whether a parsed file looks like such a map: an object of objects of which one has a price per token. */
export function isPriceMap(value: unknown): value is JsonObject {
  if (!isJsonObject(value)) return false;
  return Object.values(value).some(
    (spec) => isJsonObject(spec) && Object.keys(spec).some((field) => Object.hasOwn(UNIT_OF_FIELD, field)),
  );
}

/**
 * Reads one model after the other; `finish` gives what came of them. A condition has the prices that the map names under it
 * and no standard price of a token: cached input without one is unpriced, and a part costs what its whole costs there. What is
 * billed by the call keeps its price. A condition that leaves input or output without a price is not read.
 */
export function createPriceMapReader() {
  const entries: FeedEntry[] = [];
  const skipped: SkippedPrice[] = [];
  const names = new Set<string>();
  const unread = new Map<string, number>();
  let uncachedCount = 0;

  function read(name: string, spec: unknown): void {
    if (name === SAMPLE) {
      skipped.push({ name, reason: "It explains the file and is no model." });
      return;
    }
    if (!isJsonObject(spec)) {
      skipped.push({ name, reason: "It is not an object of prices." });
      return;
    }
    if (!isUpstreamName(name)) {
      skipped.push({ name, reason: "Its name has control characters, or is too long." });
      return;
    }
    if (names.has(name)) {
      skipped.push({ name, reason: "It was priced already." });
      return;
    }
    names.add(name);
    const found = findPrices(name, spec);
    if (found.length === 0) skipped.push({ name, reason: "It has no price that has a unit here." });
    const { sets, incomplete } = toPriceSets(
      found.flatMap((price) => {
        const pricePico = parsePrice(name, price);
        return pricePico === null ? [] : [{ ...price, pricePico }];
      }),
    );
    for (const { when, prices } of withFactors(sets, spec[FACTORS_FIELD])) {
      for (const unit of UNITS) {
        const pricePico = prices[unit];
        if (pricePico === undefined) continue;
        entries.push({ name, unit, pricePico, ...(Object.keys(when).length > 0 && { when }) });
      }
    }
    if (lacksCached(sets)) uncachedCount += 1;
    const readFields = new Set(found.flatMap(({ field }) => (incomplete.has(field) ? [] : [field])));
    for (const field of findUnread(spec, readFields)) unread.set(field, (unread.get(field) ?? 0) + 1);
  }

  function parsePrice(name: string, { field, price }: MapPrice): PricePico | null {
    try {
      return parsePricePerUnit(price, field);
    } catch (failure) {
      if (!(failure instanceof ProxyError)) throw failure;
      skipped.push({ name, reason: `${field}: ${failure.message}` });
      return null;
    }
  }

  return {
    read,
    finish: (): PriceMapReading => ({
      entries,
      skipped,
      unread: [...unread]
        .map(([field, models]) => ({ field, models }))
        .toSorted((left, right) => right.models - left.models),
      uncachedCount,
    }),
  };
}

interface MapPrice {
  readonly field: string;
  readonly unit: Unit;
  /** No condition: a standard price. */
  readonly when: PriceConditions;
  readonly price: unknown;
}

function findPrices(name: string, spec: JsonObject): readonly MapPrice[] {
  const { mode, output_cost_per_token: textOutput } = spec;
  const isInclusive = spec["litellm_provider"] === INCLUSIVE_PROVIDER;
  const units: Readonly<Record<string, Unit>> = {
    ...UNIT_OF_FIELD,
    ...(typeof mode === "string" && UNITS_OF_MODE[mode]),
    ...(IMAGE_MODES.has(mode) &&
      textOutput === undefined && { [IMAGE_OUTPUT_FIELD]: "output_tokens" as const }),
  };
  const own = Object.entries(spec).flatMap(([field, price]): readonly MapPrice[] => {
    const [, base = field, length, tier] = CONDITIONS_PATTERN.exec(field) ?? [];
    const unit = Object.hasOwn(units, base) ? units[base] : undefined;
    if (unit === undefined) return [];
    const inputOver = length === undefined ? undefined : Number(length) * 1000 - (isInclusive ? 1 : 0);
    return [{ field, unit, when: toConditions({ tier, inputOver }), price }];
  });
  const search: readonly MapPrice[] = name.includes("claude")
    ? [{ field: SEARCH_FIELD, unit: "web_searches", when: {}, price: findSearchPrice(spec[SEARCH_FIELD]) }]
    : [];
  const ranges = findRangePrices(spec[RANGES_FIELD], units).filter(
    // The prices of the shortest inputs may stand beside the ranges, too.
    ({ when, unit }) => when.inputOver !== undefined || !own.some((price) => price.unit === unit),
  );
  return [...own, ...ranges, ...search].filter(({ price }) => price !== undefined && price !== null);
}

/** The whole request has the prices of the range that its input is in. */
function findRangePrices(ranges: unknown, units: Readonly<Record<string, Unit>>): readonly MapPrice[] {
  if (!Array.isArray(ranges)) return [];
  return ranges.filter(isJsonObject).flatMap(({ range, ...prices }) => {
    const over: unknown = Array.isArray(range) ? range[0] : undefined;
    if (typeof over !== "number") return [];
    const when = toConditions({ inputOver: over === 0 ? undefined : over });
    return Object.entries(prices).flatMap(([base, price]) => {
      const unit = Object.hasOwn(units, base) ? units[base] : undefined;
      return unit === undefined ? [] : [{ field: RANGES_FIELD, unit, when, price }];
    });
  });
}

function toConditions({
  tier,
  inputOver,
}: {
  readonly tier?: string | undefined;
  readonly inputOver?: number | undefined;
}): PriceConditions {
  return { ...(tier !== undefined && { tier }), ...(inputOver !== undefined && { inputOver }) };
}

/** Undefined where the price depends on how much a search brings. */
function findSearchPrice(bySize: unknown): unknown {
  const prices = isJsonObject(bySize) ? [...new Set(Object.values(bySize))] : [];
  return prices.length === 1 ? prices[0] : undefined;
}

interface ConditionedSet {
  readonly when: PriceConditions;
  readonly prices: { readonly [unit in Unit]?: PricePico };
}

interface ReadPrice extends MapPrice {
  readonly pricePico: PricePico;
}

/** The standard prices first; `incomplete` are the fields of conditions that do not price what a request mostly uses. */
function toPriceSets(prices: readonly ReadPrice[]): {
  readonly sets: readonly ConditionedSet[];
  readonly incomplete: ReadonlySet<string>;
} {
  const { standard = [], ...conditioned } = Object.groupBy(prices, ({ when }) =>
    Object.keys(when).length === 0 ? "standard" : JSON.stringify(when),
  );
  const standardPrices = toSet(standard);
  const byCall = Object.fromEntries(Object.entries(standardPrices).filter(([unit]) => !isTokenUnit(unit)));
  const sets: ConditionedSet[] = [{ when: {}, prices: standardPrices }];
  const incomplete = new Set<string>();
  for (const group of Object.values(conditioned)) {
    const [first] = group ?? [];
    if (group === undefined || first === undefined) continue;
    const named = toSet(group);
    const isComplete = MAIN_UNITS.every(
      (unit) => standardPrices[unit] === undefined || named[unit] !== undefined,
    );
    if (isComplete) sets.push({ when: first.when, prices: { ...byCall, ...named } });
    else for (const { field } of group) incomplete.add(field);
  }
  return { sets, incomplete };
}

function toSet(prices: readonly ReadPrice[]): ConditionedSet["prices"] {
  return Object.fromEntries(prices.map(({ unit, pricePico }) => [unit, pricePico]));
}

function isTokenUnit(unit: string): boolean {
  return isUnit(unit) && UNIT_TABLE[unit].measure === "tokens";
}

/** Each set, and what each factor makes of it: a factor holds for tokens of every kind, and together with another one. */
function withFactors(sets: readonly ConditionedSet[], factors: unknown): readonly ConditionedSet[] {
  const all = [...sets];
  for (const [word, conditions] of Object.entries(FACTORS)) {
    const factor = isJsonObject(factors) ? factors[word] : undefined;
    if (typeof factor !== "number" || !(factor > 0)) continue;
    const multiplied = all.flatMap(({ when, prices }): readonly ConditionedSet[] => {
      if ("tier" in conditions && when.tier !== undefined) return [];
      const { tier, inputOver, geo } = { ...when, ...conditions };
      return [
        {
          when: { ...toConditions({ tier, inputOver }), ...(geo !== undefined && { geo }) },
          prices: Object.fromEntries(
            Object.entries(prices).map(([unit, price]) => [
              unit,
              isTokenUnit(unit) ? Math.round(price * factor) : price,
            ]),
          ),
        },
      ];
    });
    all.push(...multiplied);
  }
  return all;
}

function lacksCached([standard, ...variants]: readonly ConditionedSet[]): boolean {
  const unit = "cached_input_tokens";
  return standard?.prices[unit] !== undefined && variants.some(({ prices }) => prices[unit] === undefined);
}

function findUnread(spec: JsonObject, readFields: ReadonlySet<string>): readonly string[] {
  return Object.entries(spec).flatMap(([field, value]) => {
    const repeated = REPEATS[field];
    if (readFields.has(field) || !/cost|pricing|multiplier/.test(field)) return [];
    if (repeated !== undefined && spec[repeated] === value) return [];
    return isPricing(value) ? [field] : [];
  });
}

/** A price above zero, or several of them. */
function isPricing(value: unknown): boolean {
  if (typeof value === "number") return value > 0;
  return typeof value === "object" && value !== null && Object.values(value).some(isPricing);
}
