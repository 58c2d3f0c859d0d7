import { findWordOfAddress } from "./litellm-upstreams.ts";
import { isJsonObject, type JsonObject } from "./price-map.ts";

/** A model of the catalog, as far as its price can be looked up. */
export interface PricedModel {
  readonly alias: string;
  readonly upstreamName: string;
  /** Null for a name for another model, which takes its target's prices. */
  readonly baseUrl: string | null;
}

/** Which name of a price list gives the prices that are kept here under a name. */
export interface PriceSource {
  readonly name: string;
  readonly listed: string;
}

/**
 * The names of a public price list that are in use here. A list prices names of providers and prices here are found by the
 * alias first, so that none is kept under an alias which stands for another model. `others` are names without a model, such
 * as those that the relay passes on.
 */
export function findPricesInUse(
  models: readonly PricedModel[],
  others: readonly string[],
  find: (model: { readonly upstreamName: string; readonly word: string | null }) => string | null,
): readonly PriceSource[] {
  const bound = models.flatMap(({ alias, upstreamName, baseUrl }) => {
    if (baseUrl === null) return [];
    const listed = find({ upstreamName, word: findWordOfAddress(baseUrl) });
    return listed === null ? [] : [{ alias, upstreamName, listed }];
  });
  const foreign = new Set(
    models
      .filter(({ alias, upstreamName, baseUrl }) => baseUrl === null || alias !== upstreamName)
      .map(({ alias }) => alias),
  );
  const sources = new Map<string, string>();
  for (const { alias, upstreamName, listed } of bound) {
    const isShared = bound.some((other) => other.upstreamName === upstreamName && other.listed !== listed);
    sources.set(isShared || foreign.has(upstreamName) ? alias : upstreamName, listed);
  }
  const taken = new Set(models.flatMap(({ alias, upstreamName }) => [alias, upstreamName]));
  for (const name of others) {
    const listed = taken.has(name) ? null : find({ upstreamName: name, word: null });
    if (listed !== null) sources.set(name, listed);
  }
  return [...sources].map(([name, listed]) => ({ name, listed }));
}

/** Of LiteLLM's map: `groq/<name>` for a model at Groq, and a plain name where it is that provider's, or nobody's known here. */
export function createMapLookup(map: JsonObject): Parameters<typeof findPricesInUse>[2] {
  return ({ upstreamName, word }) => {
    // Google lists its models below this word.
    const name = upstreamName.replace(/^models\//, "");
    const prefixed = word === null ? name : `${word}/${name}`;
    if (Object.hasOwn(map, prefixed)) return prefixed;
    if (!Object.hasOwn(map, name)) return null;
    const spec = map[name];
    const isOwn = word === null || (isJsonObject(spec) && spec["litellm_provider"] === word);
    return isOwn ? name : null;
  };
}
