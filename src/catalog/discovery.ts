import {
  isBoundAlike,
  toProviderNotFound,
  parseProviderDraft,
  parseProviderPatch,
  type ProviderDraft,
  type ProviderPatch,
  sealCredential,
  type Provider,
} from "./provider.ts";
import type { Clock, InstantUs } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import { isJsonObject } from "#kernel/json.ts";
import { compareCodeUnits } from "#kernel/text.ts";
import {
  type CapabilityGuess,
  guessByName,
  MODEL_KINDS,
  toCapabilities,
  type ModelKind,
  CAPABILITIES,
  isCapability,
  type Capability,
} from "./capability.ts";
import { isUpstreamName } from "./model.ts";
import { providerExists } from "./provider-plan.ts";
import type { CatalogSnapshot } from "./snapshot.ts";

/** The models that a provider says it has (specification, section 2.3), beside those that are bound. */
export interface DiscoveredModels {
  readonly provider: string;
  readonly discoveredAtUs: InstantUs;
  /** By upstream name, each once. */
  readonly models: readonly DiscoveredModel[];
}

/** The answer of a provider as a change would make it. */
export interface TestedProvider extends DiscoveredModels {
  /** False when it lists its models without the credential as well; null when none was sent. */
  readonly isCredentialChecked: boolean | null;
}

interface DiscoveredModel {
  readonly upstreamName: string;
  /** The model that routes to it, of several the first by name; null when none does. */
  readonly boundAlias: string | null;
  /** The binding that is proposed. */
  readonly guess: CapabilityGuess;
}

/** The answer of a provider's models endpoint; the network's own words never go on, only their class. */
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
  /**
   * Asks a stored provider as a change would make it, and stores nothing of it. Throws what the change would throw, before
   * anything is sent, `invalid_request` where the stored credential would go elsewhere, and then what `discover` throws.
   */
  testChange(providerName: string, patch: ProviderPatch, signal: AbortSignal): Promise<TestedProvider>;
}

interface DiscoveryDeps {
  readonly catalog: { snapshot(): Promise<CatalogSnapshot> };
  readonly fetchModels: FetchModels;
  readonly clock: Clock;
  readonly secrets: Pick<SecretBox, "seal">;
}

export function createDiscovery({ catalog, fetchModels, clock, secrets }: DiscoveryDeps): Discovery {
  return {
    discover: async (providerName, signal) => discoverStored(await getProvider(providerName), signal),
    async testChange(providerName, patch, signal) {
      const provider = toChangedProvider(await getProvider(providerName), patch, secrets);
      const discovered = await discoverStored(provider, signal);
      if (provider.sealedCredential === null) return { ...discovered, isCredentialChecked: null };
      const anonymous = await fetchModels({ ...provider, sealedCredential: null }, { afterId: null, signal });
      return { ...discovered, isCredentialChecked: !isList(anonymous) };
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

  async function getProvider(name: string): Promise<Provider> {
    const snapshot = await catalog.snapshot();
    const provider = snapshot.findProvider(name);
    if (provider === null) throw toProviderNotFound(snapshot, name);
    return provider;
  }

  async function discoverStored(provider: Provider, signal: AbortSignal): Promise<DiscoveredModels> {
    const listed = await list(provider, signal);
    const aliases = toBoundAliases(await catalog.snapshot(), provider.id);
    return {
      provider: provider.name,
      discoveredAtUs: clock.nowUs(),
      models: listed.map((model) => toDiscovered(model, aliases)),
    };
  }

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

/**
 * A stored provider as a change would make it. The stored credential stays where it is: sent to an address that was only typed, it
 * could be read there, and no audit entry would tell of it.
 */
function toChangedProvider(
  before: Provider,
  patch: ProviderPatch,
  secrets: Pick<SecretBox, "seal">,
): Provider {
  const { fields, apiKey } = parseProviderPatch(patch);
  const provider = { ...before, ...fields };
  if (apiKey === null) return { ...provider, sealedCredential: null };
  if (apiKey !== undefined)
    return { ...provider, sealedCredential: sealCredential(secrets, provider, apiKey) };
  if (before.sealedCredential === null || isBoundAlike(before, provider)) return provider;
  throw new ProxyError(
    "invalid_request",
    "The stored credential was given for the stored address and TLS settings, and is not sent anywhere else for a test: give it again to test it with these.",
    { param: "api_key" },
  );
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
    if (!isJsonObject(entry)) continue;
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
  if (!isJsonObject(answer) || answer["has_more"] !== true) return null;
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

/** True for a list of models; what else was answered tells nothing. */
function isList(answer: FetchedModels): boolean {
  if (answer.kind !== "answered") return false;
  try {
    return findEntries(parseJson(answer.body)) !== null;
  } catch {
    return false;
  }
}

function findEntries(answer: unknown): readonly unknown[] | null {
  // Together lists its models without the object around them.
  if (Array.isArray(answer)) return answer.some(isModelObject) ? answer : null;
  return isJsonObject(answer) && Array.isArray(answer["data"]) ? answer["data"] : null;
}

function isModelObject(entry: unknown): boolean {
  return isJsonObject(entry) && entry["object"] === "model" && typeof entry["id"] === "string";
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

/** An entry of a provider's list of models, of which only that it is an object is known. */
type ListedModel = { readonly [field: string]: unknown };

/**
 * Guesses the binding of a listed model: by what its provider says of it, else by its name. Providers say it in five ways:
 * modalities (OpenRouter, Hugging Face), a type (Together, Vercel, LM Studio, Novita), flags (Mistral, Azure), Fireworks'
 * `supports_chat`, and our own capabilities where the provider is another Lockport. OpenAI, Groq, vLLM and Ollama say nothing.
 */
export function guessListed(upstreamName: string, entry: ListedModel): CapabilityGuess {
  const own = findOwnCapabilities(entry);
  if (own !== null) return own;
  const byName = guessByName(upstreamName);
  const told =
    findByModalities(entry) ?? findByType(entry) ?? findByFlags(entry, byName.kind) ?? findBySupport(entry);
  if (told === null) return withServedBeside(byName, upstreamName, entry);
  // It does not chat, and its name does not say what it does instead.
  if (told.kind === "other" && byName.from === "name" && byName.kind !== "chat") return byName;
  if (told.kind === "moderation" && byName.kind === "moderation") return { ...byName, from: "provider" };
  return withServedBeside(told, upstreamName, entry);
}

/** Words of OpenAI's own list for who owns a model; a reseller's list names itself, or the vendor in other words. */
const OPENAI_OWNERS: ReadonlySet<unknown> = new Set(["openai", "openai-internal", "system"]);
/** Chat models of OpenAI are on `/v1/responses` too, but for those that search or speak (its model pages). */
const OPENAI_RESPONSES_PATTERN = /^(?:gpt-\d|o\d|chatgpt-)(?!.*-(?:audio|search))/;

/** The endpoints that a vendor serves a chat model by beside chat, where its list is the vendor's own: any other says chat and means no more. */
function withServedBeside(
  guess: CapabilityGuess,
  upstreamName: string,
  { owned_by: owner, type }: ListedModel,
): CapabilityGuess {
  if (guess.kind !== "chat") return guess;
  const beside: Capability | null =
    OPENAI_OWNERS.has(owner) && OPENAI_RESPONSES_PATTERN.test(upstreamName)
      ? "responses"
      : type === "model" && upstreamName.startsWith("claude-")
        ? "messages"
        : null;
  return beside === null
    ? guess
    : { ...guess, capabilities: inOrder([...guess.capabilities, beside]), from: "provider" };
}

function inOrder(capabilities: readonly Capability[]): readonly Capability[] {
  return CAPABILITIES.filter((capability) => capabilities.includes(capability));
}

function toGuess(kind: ModelKind, { vision = false }: { readonly vision?: boolean } = {}): CapabilityGuess {
  const capabilities = toCapabilities(kind);
  return {
    kind,
    capabilities: vision && kind === "chat" ? [...capabilities, "vision"] : capabilities,
    from: "provider",
  };
}

/** `capabilities: ["chat", "vision"]`: another Lockport's words, and those of servers that list words like them. */
function findOwnCapabilities({ capabilities }: ListedModel): CapabilityGuess | null {
  if (!Array.isArray(capabilities)) return null;
  const known = capabilities.filter(isCapability);
  const kind = MODEL_KINDS.find((each) => toCapabilities(each).some((one) => known.includes(one)));
  return kind === undefined ? null : { kind, capabilities: known, from: "provider" };
}

/** `architecture: {input_modalities, output_modalities}`, also without the `architecture`, or `modality: "text+image->text"`. */
function findByModalities(entry: ListedModel): CapabilityGuess | null {
  const holder = isJsonObject(entry["architecture"]) ? entry["architecture"] : entry;
  const [from = "", to = ""] = toText(holder["modality"]).split("->");
  const input = toWords(holder["input_modalities"], from);
  const output = toWords(holder["output_modalities"], to);
  if (output.length === 0) return null;
  if (output.includes("text")) {
    const hearsOnly = input.length > 0 && input.every((word) => word === "audio");
    return hearsOnly ? toGuess("transcription") : toGuess("chat", { vision: input.includes("image") });
  }
  const kind = output.map((word) => KINDS.get(word)).find((each) => each !== undefined);
  return toGuess(kind ?? "other");
}

function toWords(list: unknown, joined: string): readonly string[] {
  const words = Array.isArray(list) && list.length > 0 ? list : joined.split("+");
  return words.flatMap((word: unknown) =>
    typeof word === "string" && word !== "" ? [word.trim().toLowerCase()] : [],
  );
}

/** The words of `type`, `model_type`, `task` and of output modalities, in small letters with hyphens. */
const KINDS: ReadonlyMap<string, ModelKind> = new Map([
  ["chat", "chat"],
  ["language", "chat"],
  ["llm", "chat"],
  ["vlm", "chat"],
  ["code", "chat"],
  ["text-generation", "chat"],
  ["image-text-to-text", "chat"],
  ["completion", "completions"],
  ["embedding", "embeddings"],
  ["embeddings", "embeddings"],
  ["text-embedding", "embeddings"],
  ["feature-extraction", "embeddings"],
  ["sentence-similarity", "embeddings"],
  ["transcribe", "transcription"],
  ["transcription", "transcription"],
  ["audio-transcription", "transcription"],
  ["automatic-speech-recognition", "transcription"],
  ["audio", "speech"],
  ["speech", "speech"],
  ["audio-speech", "speech"],
  ["text-to-speech", "speech"],
  ["image", "image"],
  ["image-generation", "image"],
  ["text-to-image", "image"],
  ["video", "video"],
  ["video-generation", "video"],
  ["text-to-video", "video"],
  ["moderation", "moderation"],
  ["rerank", "rerank"],
  ["reranker", "rerank"],
  ["text-ranking", "rerank"],
  ["realtime", "realtime"],
  ["responses", "responses"],
]);

const TYPE_FIELDS = ["type", "model_type", "task", "mode"] as const;

/** A word that means nothing here, such as Anthropic's `type: "model"`, says nothing. */
function findByType(entry: ListedModel): CapabilityGuess | null {
  for (const field of TYPE_FIELDS) {
    const word = toText(entry[field]).toLowerCase().replaceAll("_", "-");
    const kind = KINDS.get(word);
    if (kind === undefined) continue;
    // Together calls a model without a chat template `language`; Vercel calls every model for chat so.
    if (word === "language" && "organization" in entry) return toGuess("completions");
    return toGuess(kind, { vision: word === "vlm" || word === "image-text-to-text" });
  }
  return null;
}

/** Flags of Mistral, whose moderation and OCR models answer chat as well, and of Azure; GitHub's hold a type. */
const FLAGS: readonly (readonly [flag: string, kind: ModelKind])[] = [
  ["completion_chat", "chat"],
  ["chat_completion", "chat"],
  ["embeddings", "embeddings"],
  ["audio_transcription", "transcription"],
  ["audio_transcription_realtime", "transcription"],
  ["audio_speech", "speech"],
  ["moderation", "moderation"],
  ["completion", "completions"],
];

function findByFlags({ capabilities: flags }: ListedModel, byName: ModelKind): CapabilityGuess | null {
  if (!isJsonObject(flags)) return null;
  const typed = findByType({ type: flags["type"] });
  if (typed !== null) return typed;
  if (!FLAGS.some(([flag]) => typeof flags[flag] === "boolean")) return null;
  if (byName === "moderation" || byName === "other") return toGuess(byName);
  const kind = FLAGS.find(([flag]) => flags[flag] === true)?.[1] ?? "other";
  const guess = toGuess(kind, { vision: flags["vision"] === true });
  const alsoCompletes = kind === "chat" && flags["completion"] === true;
  return alsoCompletes ? { ...guess, capabilities: inOrder([...guess.capabilities, "completions"]) } : guess;
}

function findBySupport(entry: ListedModel): CapabilityGuess | null {
  const supportsChat = entry["supports_chat"];
  if (typeof supportsChat !== "boolean") return null;
  return supportsChat
    ? toGuess("chat", { vision: entry["supports_image_input"] === true })
    : toGuess("other");
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
