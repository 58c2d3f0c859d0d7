import { type Quantities, type Unit, UNITS } from "#kernel/units.ts";
import type { ReportedUsage } from "./event.ts";
import { type JsonObject, isJsonObject } from "#kernel/json.ts";
import { readCondition, readCost, type ToldConditions } from "./cost.ts";

/** A member of a usage object, or a member of that member. */
type Path = readonly [outer: string, inner?: string];

/** Every path that is read. Below, a path is named by its index in here. */
const PATHS: Path[] = [];

/**
 * The wire names of each quantity; the first that holds a positive number counts, else the first that holds a zero: some
 * gateways fill what they do not know with zeroes. Who says it so: `prompt_tokens` OpenAI and nearly
 * all who speak its dialect, `input_tokens` the messages and responses dialects, `prompt_cache_hit_tokens` DeepSeek,
 * `cached_tokens` Moonshot and Together, `num_cached_tokens` and `prompt_token_details` Mistral, `cache_read_input_tokens`
 * gateways before a messages upstream, `cache_write_tokens` OpenAI from GPT-5.6 on, and for the same `cache_creation_input_tokens`
 * Alibaba's Qwen and `cache_creation_tokens` LiteLLM, both in the details of the prompt.
 */
const INCLUSIVE_INPUT = toPlaces([["prompt_tokens"]]);
const OTHER_INPUT = toPlaces([["input_tokens"]]);
const INCLUSIVE_OUTPUT = toPlaces([["completion_tokens"]]);
const OTHER_OUTPUT = toPlaces([["output_tokens"]]);
const CACHED_IN_PROMPT = toPlaces([
  ["prompt_tokens_details", "cached_tokens"],
  ["prompt_token_details", "cached_tokens"],
]);
const CACHED_IN_INPUT = toPlaces([["input_tokens_details", "cached_tokens"]]);
const CACHED_INPUT = [
  ...CACHED_IN_PROMPT,
  ...CACHED_IN_INPUT,
  ...toPlaces([["prompt_cache_hit_tokens"], ["cached_tokens"], ["num_cached_tokens"]]),
];
const CACHE_READ = toPlaces([["cache_read_input_tokens"], ["cache_read_tokens"]]);
/** All cache writes, and those of them that Anthropic tells apart by how long the cache keeps them. */
const CACHE_WRITE = toPlaces([["cache_creation_input_tokens"], ["cache_creation_tokens"]]);
const CACHE_WRITE_5M = toPlaces([["cache_creation", "ephemeral_5m_input_tokens"]]);
const CACHE_WRITE_1H = toPlaces([["cache_creation", "ephemeral_1h_input_tokens"]]);
/**
 * Cache writes within the input, beside the cached part: of 2,600 input tokens with 2,000 cached and 400 written, 200 are
 * neither (developers.openai.com/api/docs/guides/prompt-caching; `CompletionUsage` and `ResponseUsage` of openai 7.55).
 */
const WRITTEN_WITHIN = toPlaces([
  ["prompt_tokens_details", "cache_write_tokens"],
  ["input_tokens_details", "cache_write_tokens"],
  ["prompt_tokens_details", "cache_creation_input_tokens"],
  ["prompt_tokens_details", "cache_creation_tokens"],
]);
/**
 * Parts of the input and of the output that some vendors sell at prices of their own (`CompletionUsage`,
 * `ImagesResponse.Usage` and `Transcription.Tokens` of openai 7.55, which calls its details `input_token_details`).
 */
const AUDIO_WITHIN = toPlaces([
  ["prompt_tokens_details", "audio_tokens"],
  ["input_tokens_details", "audio_tokens"],
  ["input_token_details", "audio_tokens"],
]);
const IMAGES_WITHIN = toPlaces([
  ["prompt_tokens_details", "image_tokens"],
  ["input_tokens_details", "image_tokens"],
]);
const AUDIO_OUT = toPlaces([
  ["completion_tokens_details", "audio_tokens"],
  ["output_tokens_details", "audio_tokens"],
]);
/** `ServerToolUsage` of @anthropic-ai/sdk 1.8: each search has a price, beside the tokens that it brings. */
const WEB_SEARCHES = toPlaces([["server_tool_use", "web_search_requests"]]);
/** The dialect has no one name for it; OpenAI-compatible transcribers and Mistral say these. */
const AUDIO = toPlaces([["audio_seconds"], ["prompt_audio_seconds"]]);
/** The cached part, beside the input or within it. */
const CACHED_BESIDE = [...CACHE_READ, ...CACHED_INPUT];
const CACHED_WITHIN = [...CACHED_INPUT, ...CACHE_READ];

/** The number of a path that no usage object held. */
const UNTOLD = -1;
const NOTHING_TOLD: readonly number[] = PATHS.map(() => UNTOLD);

interface AccumulatorOptions {
  readonly defaultsToExclusive: boolean;
  readonly countsWebSearches?: boolean | undefined;
}

/**
 * Gathers the usage objects of one response (decisions, "Usage and prices": merging and shape). Per wire field the last number
 * wins; what is absent, null or no quantity resets nothing, and nothing is summed. Only the whole tells the shape, so that it
 * does not depend on the order in which a gateway sends its fields.
 */
export class UsageAccumulator implements ToldConditions {
  #options: AccumulatorOptions;
  /** Quantities from `addQuantity`; null until then. */
  #told: { [unit in Unit]?: number } | null = null;
  /** Quantities that `countUntold` counted; null until then. */
  #untold: Quantities | null = null;
  /** By place; null until the first quantity, which most streams tell in their last event. */
  #numbers: number[] | null = null;
  /** The conditions that usage objects told last. */
  tier: string | null = null;
  speed: string | null = null;
  geo: string | null = null;
  /** The cost that a usage object told last, in currency units; null when none did. */
  cost: number | null = null;

  /** Both options are for the messages dialect: only prompt or completion tokens make it inclusive, and it tells its searches. */
  constructor(options: AccumulatorOptions) {
    this.#options = options;
  }

  /** Forgets everything, for another response. */
  reset(options: AccumulatorOptions): void {
    this.#options = options;
    this.#told = null;
    this.#untold = null;
    this.#numbers?.fill(UNTOLD);
    this.tier = null;
    this.speed = null;
    this.geo = null;
    this.cost = null;
  }

  /** Takes a quantity that no usage object holds; of each unit the last one counts. False for what is no quantity. */
  addQuantity(unit: Unit, value: unknown): boolean {
    const quantity = toNumber(value);
    if (quantity === UNTOLD) return false;
    this.#told ??= {};
    this.#told[unit] = quantity;
    return true;
  }

  /** Adds up what is counted where no usage object tells more than zeroes: images. */
  countUntold(unit: Unit, count: number): void {
    this.#untold = { ...this.#untold, [unit]: (this.#untold?.[unit] ?? 0) + count };
  }

  /** Takes what a usage object tells beside its numbers. */
  addFacts(usage: JsonObject): void {
    this.tier = readCondition(usage["service_tier"]) ?? this.tier;
    this.speed = readCondition(usage["speed"]) ?? this.speed;
    this.geo = readCondition(usage["inference_geo"]) ?? this.geo;
    this.cost = readCost(usage) ?? this.cost;
  }

  /** Takes what numbers a usage object holds; false when it is none, or holds none that is metered. */
  add(usage: unknown): boolean {
    if (!isJsonObject(usage)) return false;
    this.addFacts(usage);
    let hasQuantity = false;
    for (let place = 0; place < PATHS.length; place += 1) {
      const path = PATHS[place];
      const value = path === undefined ? undefined : usage[path[0]];
      if (path === undefined || value === undefined) continue;
      const number = toNumber(path[1] === undefined ? value : isJsonObject(value) ? value[path[1]] : null);
      if (number === UNTOLD) continue;
      this.#numbers ??= NOTHING_TOLD.slice();
      this.#numbers[place] = number;
      hasQuantity = true;
    }
    return hasQuantity;
  }

  /** Null when no quantity was reported at all. */
  total(): ReportedUsage | null {
    const reported = this.#numbers === null ? null : this.#toReported(this.#numbers);
    const told = this.#told ?? (this.#untold === null || isUsed(reported) ? null : this.#untold);
    if (told === null) return reported;
    return {
      shape: reported?.shape ?? "inclusive",
      quantities: { ...reported?.quantities, ...told },
    };
  }

  #toReported(numbers: readonly number[]): ReportedUsage | null {
    const prompt = findFirst(numbers, INCLUSIVE_INPUT);
    const completion = findFirst(numbers, INCLUSIVE_OUTPUT);
    const input = prompt ?? findFirst(numbers, OTHER_INPUT);
    const output = completion ?? findFirst(numbers, OTHER_OUTPUT);
    const cacheWrites = toCacheWrites(numbers);
    const isCacheBeside =
      input !== undefined && (findFirst(numbers, CACHE_READ) ?? cacheWrites.cache_write_tokens) !== undefined;
    const written = findFirst(numbers, WRITTEN_WITHIN);
    // Details of the input are contained in it: an answer of the responses API through the relay.
    const isDetailed = (written ?? findFirst(numbers, CACHED_IN_INPUT)) !== undefined;
    const isExclusive =
      (prompt ?? completion) === undefined &&
      (isCacheBeside || (this.#options.defaultsToExclusive && !isDetailed));
    // A detail of an inclusive input that other gateways tell beside it may be in it or not.
    const hasInput = !isExclusive && input !== undefined;
    const hasOutput = !isExclusive && output !== undefined;
    const found = FOUND;
    found.input_tokens = input;
    found.output_tokens = output;
    found.cached_input_tokens = findFirst(numbers, isExclusive ? CACHED_BESIDE : CACHED_WITHIN);
    found.audio_seconds = findFirst(numbers, AUDIO);
    const within = hasInput ? written : undefined;
    found.cache_write_tokens = isExclusive ? cacheWrites.cache_write_tokens : within;
    found.cache_write_1h_tokens = isExclusive ? cacheWrites.cache_write_1h_tokens : undefined;
    found.input_audio_tokens = hasInput ? findAny(numbers, AUDIO_WITHIN) : undefined;
    found.input_image_tokens = hasInput ? findAny(numbers, IMAGES_WITHIN) : undefined;
    found.output_audio_tokens = hasOutput ? findAny(numbers, AUDIO_OUT) : undefined;
    const { countsWebSearches } = this.#options;
    found.web_searches = countsWebSearches === true ? findAny(numbers, WEB_SEARCHES) : undefined;
    const quantities = toQuantities(found);
    return quantities === null ? null : { shape: isExclusive ? "exclusive" : "inclusive", quantities };
  }
}

function isUsed(reported: ReportedUsage | null): boolean {
  return reported !== null && Object.values(reported.quantities).some((quantity) => quantity > 0);
}

const NO_WRITES = { cache_write_tokens: undefined, cache_write_1h_tokens: undefined };

type Found = { -readonly [unit in Unit]?: number | undefined };
/** One for all usage objects, each of which is read in one step. */
const FOUND: Found = {};

/** Null when nothing was found. */
function toQuantities(found: Readonly<Found>): Quantities | null {
  const quantities: { [unit in Unit]?: number } = {};
  let isEmpty = true;
  for (const unit of UNITS) {
    const quantity = found[unit];
    if (quantity === undefined) continue;
    quantities[unit] = quantity;
    isEmpty = false;
  }
  return isEmpty ? null : quantities;
}

/**
 * Cache writes by how long they are kept. Where the parts do not add up to the total that was reported, the total counts, and
 * as one-hour writes, which cost more, only what is left of it beside the five-minute ones.
 */
function toCacheWrites(
  numbers: readonly number[],
): Pick<Found, "cache_write_tokens" | "cache_write_1h_tokens"> {
  const fiveMinutes = findFirst(numbers, CACHE_WRITE_5M);
  const oneHour = findFirst(numbers, CACHE_WRITE_1H);
  const total = findFirst(numbers, CACHE_WRITE);
  if (total === undefined && fiveMinutes === undefined && oneHour === undefined) return NO_WRITES;
  if (total === undefined)
    return {
      cache_write_tokens: fiveMinutes ?? (oneHour === undefined ? undefined : 0),
      cache_write_1h_tokens: oneHour,
    };
  if (oneHour === undefined) return { cache_write_tokens: total, cache_write_1h_tokens: undefined };
  const counted = Math.min(oneHour, Math.max(0, total - (fiveMinutes ?? 0)));
  return { cache_write_tokens: total - counted, cache_write_1h_tokens: counted };
}

function findFirst(numbers: readonly number[], places: readonly number[]): number | undefined {
  let first: number | undefined;
  for (const place of places) {
    const number = numbers[place] ?? UNTOLD;
    if (number > 0) return number;
    if (number === 0) first = 0;
  }
  return first;
}

/** A unit that is rare is absent where none was used: most answers tell a zero for each. */
function findAny(numbers: readonly number[], places: readonly number[]): number | undefined {
  const found = findFirst(numbers, places);
  return found === 0 ? undefined : found;
}

function toPlaces(paths: readonly Path[]): readonly number[] {
  return paths.map((path) => PATHS.push(path) - 1);
}

function toNumber(value: unknown): number {
  if (typeof value !== "number" || !(value >= 0) || value > Number.MAX_SAFE_INTEGER) return UNTOLD;
  // JSON has a negative zero; a quantity does not.
  return value === 0 ? 0 : value;
}
