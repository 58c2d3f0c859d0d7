import { toProviderNotFound } from "./provider.ts";
import type { Clock, InstantUs } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import { compareCodeUnits } from "#kernel/text.ts";
import type { CapabilityGuess } from "./capability-guess.ts";
import { guessListed, type ListedModel } from "./listed-model.ts";
import { isUpstreamName } from "./model-draft.ts";
import { parseProviderDraft, type ProviderDraft } from "./provider-draft.ts";
import { providerExists } from "./provider-plan.ts";
import { sealCredential, type Provider } from "./provider.ts";
import type { CatalogSnapshot } from "./snapshot.ts";

/** What a provider says that it has (specification, section 2.3), beside what is bound of it. */
export interface DiscoveredModels {
  readonly provider: string;
  readonly discoveredAtUs: InstantUs;
  /** By upstream name, each once. */
  readonly models: readonly DiscoveredModel[];
}

export interface DiscoveredModel {
  readonly upstreamName: string;
  /** The model that routes to it, of several the first by name; null when none does. */
  readonly boundAlias: string | null;
  /** What it would be bound as. */
  readonly guess: CapabilityGuess;
}

/** What a provider's models endpoint answered; the network's own words never go on, only their class. */
export type FetchedModels =
  | { readonly kind: "answered"; readonly body: Uint8Array }
  /** A status other than 2xx, redirects included. */
  | { readonly kind: "refused"; readonly status: number }
  | { readonly kind: "failed"; readonly error: "timeout" | "connection_error" | "response_too_large" };

export interface ModelsPage {
  /** Null for the first page, else the id that it comes after. */
  readonly afterId: string | null;
  readonly signal: AbortSignal;
}

/** One GET of `<base URL>/models`, bounded in time and size. Never throws. */
export type FetchModels = (provider: Provider, page: ModelsPage) => Promise<FetchedModels>;

export interface Discovery {
  /**
   * Asks a provider, disabled or not, and changes nothing. Throws `provider_not_found`, `provider_unreachable` naming the
   * class of the failure, and `discovery_failed` for an answer that is no list of models.
   */
  discover(providerName: string, signal: AbortSignal): Promise<DiscoveredModels>;
  /**
   * Asks a provider that is not stored, and stores nothing of it. Throws what making it would throw, before anything is sent,
   * and then what `discover` throws.
   */
  test(draft: ProviderDraft, signal: AbortSignal): Promise<DiscoveredModels>;
}

export interface DiscoveryDeps {
  readonly catalog: { snapshot(): Promise<CatalogSnapshot> };
  readonly fetchModels: FetchModels;
  readonly clock: Clock;
  readonly secrets: Pick<SecretBox, "seal">;
}

export function createDiscovery({ catalog, fetchModels, clock, secrets }: DiscoveryDeps): Discovery {
  return {
    async discover(providerName, signal) {
      const snapshot = await catalog.snapshot();
      const provider = snapshot.findProvider(providerName);
      if (provider === null) throw toProviderNotFound(snapshot, providerName);
      const listed = await list(provider, signal);
      const aliases = toBoundAliases(await catalog.snapshot(), provider.id);
      return {
        provider: provider.name,
        discoveredAtUs: clock.nowUs(),
        models: listed.map((model) => toDiscovered(model, aliases)),
      };
    },
    async test(draft, signal) {
      const provider = toUnstoredProvider(draft, { secrets, nowUs: clock.nowUs() });
      if ((await catalog.snapshot()).findProvider(provider.name) !== null) throw providerExists();
      const listed = await list(provider, signal);
      return {
        provider: provider.name,
        discoveredAtUs: clock.nowUs(),
        models: listed.map((model) => toDiscovered(model, NO_ALIASES)),
      };
    },
  };

  async function list(provider: Provider, signal: AbortSignal): Promise<readonly Listed[]> {
    const listed = new Map<string, CapabilityGuess>();
    const untilMs = clock.monotonicMs() + DISCOVERY_MS_MAX;
    let afterId: string | null = null;
    let count: number;
    do {
      if (clock.monotonicMs() > untilMs) throw unreachable("timeout");
      const answer: unknown = readAnswer(await fetchModels(provider, { afterId, signal }));
      count = listed.size;
      addListed(listed, answer);
      afterId = findNextPage(answer);
      // A server that does not know pages answers the same one for ever.
    } while (afterId !== null && listed.size > count);
    return [...listed].toSorted(([left], [right]) => compareCodeUnits(left, right));
  }
}

const NO_ALIASES: ReadonlyMap<string, string> = new Map();

function toDiscovered([upstreamName, guess]: Listed, aliases: ReadonlyMap<string, string>): DiscoveredModel {
  return { upstreamName, boundAlias: aliases.get(upstreamName) ?? null, guess };
}

/** Stored providers have ids that are UUIDs. The credential is sealed as theirs are: the call upstream opens it. */
const UNSTORED_ID = "";

function toUnstoredProvider(
  draft: ProviderDraft,
  { secrets, nowUs }: { readonly secrets: Pick<SecretBox, "seal">; readonly nowUs: InstantUs },
): Provider {
  const { fields, apiKey } = parseProviderDraft(draft);
  const provider = { ...fields, id: UNSTORED_ID, createdAtUs: nowUs };
  return {
    ...provider,
    sealedCredential: apiKey === null ? null : sealCredential(secrets, provider, apiKey),
  };
}

/** The largest public catalogs list some hundreds; no admin would choose from more. */
export const DISCOVERED_MODELS_MAX = 10_000;

/** A page that began in time may take its own time limit more. */
export const DISCOVERY_MS_MAX = 30_000;

type Listed = readonly [upstreamName: string, guess: CapabilityGuess];

function readAnswer(answer: FetchedModels): unknown {
  if (answer.kind === "failed") throw unreachable(answer.error);
  if (answer.kind === "refused") {
    throw failed(`The provider's models endpoint answered with status ${answer.status}.`);
  }
  return parseJson(answer.body);
}

/** `{data: [{id}, …]}`, each id once; an entry whose id could not be bound as an upstream name is left out. */
function addListed(listed: Map<string, CapabilityGuess>, answer: unknown): void {
  const entries = findEntries(answer);
  if (entries === null) throw failed("The provider's models endpoint answered without a data array.");
  for (const entry of entries) {
    if (!isObject(entry)) continue;
    const { id } = entry;
    if (typeof id !== "string" || !isUpstreamName(id) || listed.has(id)) continue;
    listed.set(id, guessListed(id, entry));
    if (listed.size > DISCOVERED_MODELS_MAX)
      throw failed(`The provider lists more than ${DISCOVERED_MODELS_MAX} models.`);
  }
}

/**
 * The id that the next page comes after; null on the last page. Anthropic lists 20 models a page
 * (platform.claude.com/docs/en/api/models-list): without the next ones the newest alone would be found.
 */
function findNextPage(answer: unknown): string | null {
  if (!isObject(answer) || answer["has_more"] !== true) return null;
  const { last_id: lastId } = answer;
  return typeof lastId === "string" && isUpstreamName(lastId) ? lastId : null;
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    throw failed("The provider's models endpoint did not answer with JSON (a compressed answer is none).");
  }
}

function findEntries(answer: unknown): readonly unknown[] | null {
  // Together lists its models without the object around them.
  if (Array.isArray(answer)) return answer.some(isModelObject) ? answer : null;
  return isObject(answer) && Array.isArray(answer["data"]) ? answer["data"] : null;
}

function isModelObject(entry: unknown): boolean {
  return isObject(entry) && entry["object"] === "model" && typeof entry["id"] === "string";
}

function isObject(value: unknown): value is ListedModel {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Names for a target are left out: their target routes to the same upstream model. */
function toBoundAliases(snapshot: CatalogSnapshot, providerId: string): ReadonlyMap<string, string> {
  const aliases = new Map<string, string>();
  for (const { model } of snapshot.models) {
    const { alias, route } = model;
    if (route.kind !== "binding" || route.providerId !== providerId) continue;
    if (!aliases.has(route.upstreamName)) aliases.set(route.upstreamName, alias);
  }
  return aliases;
}

function unreachable(error: string): ProxyError {
  return new ProxyError("provider_unreachable", `The provider did not answer: ${error}.`);
}

function failed(message: string): ProxyError {
  return new ProxyError("discovery_failed", message);
}
