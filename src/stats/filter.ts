import type { InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { type Outcome, OUTCOMES, RELAY_PROVIDER } from "#usage/event.ts";
import { normaliseTag } from "#usage/tags.ts";

/** `since` inclusive, `until` exclusive; null is open. `since` ≥ `until` is an empty window. */
export interface Window {
  readonly sinceUs: InstantUs | null;
  readonly untilUs: InstantUs | null;
}

/** The filters of specification section 4.4; null or empty matches everything. */
export interface UsageFilter {
  readonly principal: string | null;
  readonly keyId: string | null;
  readonly provider: string | null;
  readonly model: string | null;
  /** A literal prefix of the stored User-Agent. */
  readonly clientPrefix: string | null;
  /** Normalised `key:value` pairs, four at most; all must match. */
  readonly tags: readonly string[];
  /** Any of these; null is all. */
  readonly outcomes: readonly Outcome[] | null;
}

/** What a provider filter means in the ledger: the catalog decides which ids a name stands for. */
export interface ProviderIds {
  readonly include: readonly string[] | null;
  readonly exclude: readonly string[];
}

/** Matches everything of any provider. */
export const NO_FILTER: Omit<UsageFilter, "provider"> = {
  principal: null,
  keyId: null,
  model: null,
  clientPrefix: null,
  tags: [],
  outcomes: null,
};
export const EVERY_PROVIDER: ProviderIds = { include: null, exclude: [] };

/** Filter tags in one query (specification, section 8). */
export const FILTER_TAGS_MAX = 4;
/** What the outcome filter takes: one outcome, or everything that is not `ok`. */
export const OUTCOME_FILTERS = [...OUTCOMES, "failed"] as const;
/** Stands for every provider that no longer exists. */
export const DELETED_PROVIDER = "(deleted)";

/**
 * The filters of specification section 4.4 from a query string. An empty one is ignored. Throws `invalid_outcome`, and
 * `invalid_request` with `param` `tag` for a fifth tag.
 */
export function parseUsageFilter(query: URLSearchParams): UsageFilter {
  return {
    principal: findText(query, "principal"),
    keyId: findText(query, "key"),
    provider: findText(query, "provider"),
    model: findText(query, "model"),
    clientPrefix: findText(query, "client"),
    tags: parseTags(query),
    outcomes: parseOutcomes(query),
  };
}

/**
 * What a provider's name means in the ledger, which keeps internal ids: `providers` is every provider that exists. A name
 * that no provider has matches nothing.
 */
export function toProviderIds(
  providerName: string | null,
  providers: readonly { readonly id: string; readonly name: string }[],
): ProviderIds {
  if (providerName === null) return EVERY_PROVIDER;
  if (providerName === RELAY_PROVIDER) return { include: [RELAY_PROVIDER], exclude: [] };
  if (providerName === DELETED_PROVIDER) {
    return { include: null, exclude: [...providers.map(({ id }) => id), RELAY_PROVIDER] };
  }
  return { include: providers.filter(({ name }) => name === providerName).map(({ id }) => id), exclude: [] };
}

function findText(query: URLSearchParams, param: string): string | null {
  return query.get(param) || null;
}

/** A pair that is none is no error of the interface's, but matches nothing. */
export function isTagPair(text: string): boolean {
  return normaliseTag(text) !== null;
}

function parseTags(query: URLSearchParams): readonly string[] {
  const given = query.getAll("tag").filter((pair) => pair.trim() !== "");
  if (given.length > FILTER_TAGS_MAX) {
    throw new ProxyError("invalid_request", `At most ${FILTER_TAGS_MAX} tags can be filtered by.`, {
      param: "tag",
    });
  }
  // A pair that is none stays as it is: no event carries it, so it matches nothing.
  return [...new Set(given.map((pair) => normaliseTag(pair) ?? pair))];
}

function parseOutcomes(query: URLSearchParams): readonly Outcome[] | null {
  const text = findText(query, "outcome");
  if (text === null) return null;
  if (text === "failed") return OUTCOMES.filter((outcome) => outcome !== "ok");
  const outcome = OUTCOMES.find((known) => known === text);
  if (outcome === undefined) {
    throw new ProxyError("invalid_outcome", `outcome must be one of ${OUTCOMES.join(", ")} or failed.`, {
      param: "outcome",
    });
  }
  return [outcome];
}
