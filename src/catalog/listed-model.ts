import { CAPABILITIES, isCapability, type Capability } from "./capability.ts";
import {
  guessByName,
  MODEL_KINDS,
  toCapabilities,
  type CapabilityGuess,
  type ModelKind,
} from "./capability-guess.ts";

/** An entry of a provider's list of models, of which only that it is an object is known. */
export type ListedModel = { readonly [field: string]: unknown };

/**
 * What a listed model can be bound as: by what its provider says of it, else by its name. Providers say it in five ways:
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

/** What a vendor serves a chat model by beside chat, where its list is the vendor's own: any other says chat and means no more. */
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
  const holder = isObject(entry["architecture"]) ? entry["architecture"] : entry;
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
  if (!isObject(flags)) return null;
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

function isObject(value: unknown): value is ListedModel {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
