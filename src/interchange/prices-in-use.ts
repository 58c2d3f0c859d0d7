import { findWordOfAddress } from "./litellm-upstreams.ts";
import { isJsonObject, type JsonObject } from "#kernel/json.ts";

/** A model of the catalog, as far as its price can be looked up. */
export interface PricedModel {
  readonly alias: string;
  readonly upstreamName: string;
  /** Null for a name for another model, which takes its target's prices. */
  readonly baseUrl: string | null;
}

/** The name that a list has for a model; null when it has none. `word` is LiteLLM's for the provider, null when it is not known. */
export type PriceLookup = (model: {
  readonly upstreamName: string;
  readonly word: string | null;
}) => string | null;

interface CatalogModel {
  readonly alias: string;
  readonly target: string | null;
  readonly provider: string;
  readonly upstream_name: string;
}

/** Models of the admin API, as far as their prices can be looked up. */
export function toPricedModels(
  models: readonly CatalogModel[],
  providers: readonly { readonly name: string; readonly base_url: string }[],
): readonly PricedModel[] {
  const baseUrls = new Map(providers.map(({ name, base_url: url }) => [name, url]));
  return models.map(({ alias, target, provider, upstream_name: upstreamName }) => ({
    alias,
    upstreamName,
    baseUrl: target === null ? (baseUrls.get(provider) ?? null) : null,
  }));
}

/** Names that prices are wanted for. */
export interface NamesInUse {
  readonly models: readonly PricedModel[];
  /** Names without a model, such as those that the relay passes on. */
  readonly others: readonly string[];
}

/** Which name of a price list gives the prices that are kept here under a name. */
export interface PriceSource {
  readonly name: string;
  readonly listed: string;
}

/**
 * The names of a public price list that are in use here. A list prices names of providers and prices here are found by the
 * alias first, so that none is kept under an alias which stands for another model.
 */
export function findPricesInUse({ models, others }: NamesInUse, find: PriceLookup): readonly PriceSource[] {
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

/** Finds a model by its name alone: list prices name no providers. */
export function createListLookup(listed: Iterable<string>): PriceLookup {
  const names = new Set(listed);
  return ({ upstreamName }) => (names.has(upstreamName) ? upstreamName : null);
}

/** Looks names up in LiteLLM's map: `groq/<name>` for a model at Groq; a plain name where its provider is that one, or unknown here. */
export function createMapLookup(map: JsonObject): PriceLookup {
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
