import { type DetailUnit, type Unit, byUnit, UNITS } from "#kernel/units.ts";
import type { ReportedUsage } from "./event.ts";
import { type JsonObject, isJsonObject } from "./json.ts";

/** Gathers the usage objects of one response (decisions, "Usage and prices": merging and shape). */
export interface UsageAccumulator {
  /** Takes what numbers a usage object holds; false when it holds none that is metered. */
  add(usage: JsonObject): boolean;
  /** Null when no quantity was reported at all. */
  total(): ReportedUsage | null;
}

/** A member of a usage object, or a member of that member. */
type Path = readonly [outer: string, inner?: string];

/**
 * The wire names of each quantity; the first that holds a positive number counts, else the first that holds a zero: some
 * gateways fill what they do not know with zeroes. Who says it so: `prompt_tokens` OpenAI and nearly
 * all who speak its dialect, `input_tokens` the messages and responses dialects, `prompt_cache_hit_tokens` DeepSeek,
 * `cached_tokens` Moonshot and Together, `num_cached_tokens` and `prompt_token_details` Mistral, `cache_read_input_tokens`
 * gateways before a messages upstream.
 */
const INCLUSIVE_INPUT: readonly Path[] = [["prompt_tokens"]];
const OTHER_INPUT: readonly Path[] = [["input_tokens"]];
const INCLUSIVE_OUTPUT: readonly Path[] = [["completion_tokens"]];
const OTHER_OUTPUT: readonly Path[] = [["output_tokens"]];
const CACHED_INPUT: readonly Path[] = [
  ["prompt_tokens_details", "cached_tokens"],
  ["prompt_token_details", "cached_tokens"],
  ["input_tokens_details", "cached_tokens"],
  ["prompt_cache_hit_tokens"],
  ["cached_tokens"],
  ["num_cached_tokens"],
];
const CACHE_READ: readonly Path[] = [["cache_read_input_tokens"], ["cache_read_tokens"]];
/** All cache writes, and those of them that Anthropic tells apart by how long the cache keeps them. */
const CACHE_WRITE: readonly Path[] = [["cache_creation_input_tokens"], ["cache_creation_tokens"]];
const CACHE_WRITE_5M: readonly Path[] = [["cache_creation", "ephemeral_5m_input_tokens"]];
const CACHE_WRITE_1H: readonly Path[] = [["cache_creation", "ephemeral_1h_input_tokens"]];
/** The dialect has no one name for it; OpenAI-compatible transcribers and Mistral say these. */
const AUDIO: readonly Path[] = [["audio_seconds"], ["prompt_audio_seconds"]];
const PATHS: readonly Path[] = [
  ...AUDIO,
  ...INCLUSIVE_INPUT,
  ...OTHER_INPUT,
  ...INCLUSIVE_OUTPUT,
  ...OTHER_OUTPUT,
  ...CACHED_INPUT,
  ...CACHE_READ,
  ...CACHE_WRITE,
  ...CACHE_WRITE_5M,
  ...CACHE_WRITE_1H,
];

/**
 * Per wire field the last number wins; what is absent, null or no quantity resets nothing, and nothing is summed. Only the
 * whole tells the shape, so that it does not depend on the order in which a gateway sends its fields.
 * `defaultsToExclusive` is for the messages dialect: only prompt or completion tokens make it inclusive.
 */
export function createUsageAccumulator({
  defaultsToExclusive,
}: {
  readonly defaultsToExclusive: boolean;
}): UsageAccumulator {
  const numbers = new Map<Path, number>();
  const firstOf = (paths: readonly Path[]) => {
    let first: number | undefined;
    for (const path of paths) {
      const number = numbers.get(path);
      if (number !== undefined && number > 0) return number;
      first ??= number;
    }
    return first;
  };

  return {
    add(usage) {
      let hasQuantity = false;
      for (const path of PATHS) {
        const quantity = toQuantity(readMember(usage, path));
        if (quantity === null) continue;
        numbers.set(path, quantity);
        hasQuantity = true;
      }
      return hasQuantity;
    },
    total() {
      const prompt = firstOf(INCLUSIVE_INPUT);
      const completion = firstOf(INCLUSIVE_OUTPUT);
      const input = prompt ?? firstOf(OTHER_INPUT);
      const output = completion ?? firstOf(OTHER_OUTPUT);
      const cacheRead = firstOf(CACHE_READ);
      const cacheWrites = toCacheWrites(firstOf);
      const audio = firstOf(AUDIO);
      const isCacheBeside =
        input !== undefined && (cacheRead ?? cacheWrites.cache_write_tokens) !== undefined;
      const isExclusive = (prompt ?? completion) === undefined && (defaultsToExclusive || isCacheBeside);

      const cachedInput = firstOf(
        isExclusive ? [...CACHE_READ, ...CACHED_INPUT] : [...CACHED_INPUT, ...CACHE_READ],
      );
      const found: { readonly [unit in Unit]: number | undefined } = {
        input_tokens: input,
        output_tokens: output,
        cached_input_tokens: cachedInput,
        audio_seconds: audio,
        ...(isExclusive ? cacheWrites : NO_CACHE_WRITES),
      };
      const quantities = byUnit(UNITS, (unit) => found[unit]);
      if (Object.keys(quantities).length === 0) return null;
      return { shape: isExclusive ? "exclusive" : "inclusive", quantities };
    },
  };
}

type CacheWrites = { readonly [unit in DetailUnit]: number | undefined };

/** An inclusive prompt contains what was written to a cache, and does not say how much of it that is. */
const NO_CACHE_WRITES: CacheWrites = { cache_write_tokens: undefined, cache_write_1h_tokens: undefined };

/**
 * Cache writes by how long they are kept. Where the parts do not add up to the total that was reported, the total counts, and
 * as one-hour writes, which cost more, only what is left of it beside the five-minute ones.
 */
function toCacheWrites(firstOf: (paths: readonly Path[]) => number | undefined): CacheWrites {
  const fiveMinutes = firstOf(CACHE_WRITE_5M);
  const oneHour = firstOf(CACHE_WRITE_1H);
  const total = firstOf(CACHE_WRITE);
  if (total === undefined)
    return {
      cache_write_tokens: fiveMinutes ?? (oneHour === undefined ? undefined : 0),
      cache_write_1h_tokens: oneHour,
    };
  if (oneHour === undefined) return { cache_write_tokens: total, cache_write_1h_tokens: undefined };
  const counted = Math.min(oneHour, Math.max(0, total - (fiveMinutes ?? 0)));
  return { cache_write_tokens: total - counted, cache_write_1h_tokens: counted };
}

function readMember(usage: JsonObject, [outer, inner]: Path): unknown {
  const value = usage[outer];
  if (inner === undefined) return value;
  return isJsonObject(value) ? value[inner] : undefined;
}

function toQuantity(value: unknown): number | null {
  if (typeof value !== "number" || !(value >= 0) || value > Number.MAX_SAFE_INTEGER) return null;
  // JSON has a negative zero; a quantity does not.
  return value === 0 ? 0 : value;
}
