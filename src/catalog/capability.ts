/** The capabilities that an admin declares of a model (specification, section 2.2, and its endpoints); never probed. */
export const CAPABILITIES = [
  "chat",
  "chat_stream",
  "completions",
  "embeddings",
  "transcription",
  "vision",
  "responses",
  "messages",
  "speech",
  "images",
  "moderation",
  "rerank",
] as const;
export type Capability = (typeof CAPABILITIES)[number];

export const CAPABILITIES_DEFAULT: readonly Capability[] = ["chat", "chat_stream"];

export function isCapability(value: unknown): value is Capability {
  return CAPABILITIES.some((capability) => capability === value);
}

/** The purpose of a model, as far as it can be guessed. The last three have no endpoint. */
export const MODEL_KINDS = [
  "chat",
  "completions",
  "embeddings",
  "transcription",
  "responses",
  "messages",
  "speech",
  "image",
  "moderation",
  "rerank",
  "realtime",
  "video",
  "other",
] as const;
export type ModelKind = (typeof MODEL_KINDS)[number];

/** The ground of a guess: the provider's own words on the model, its name, or neither, when it is taken for chat. */
export const GUESS_SOURCES = ["provider", "name", "default"] as const;

/** Capabilities are declared by an admin, never probed: this is what is proposed for a model that a provider lists. */
export interface CapabilityGuess {
  readonly kind: ModelKind;
  /** Empty when no endpoint serves it. */
  readonly capabilities: readonly Capability[];
  readonly from: (typeof GUESS_SOURCES)[number];
}

const CAPABILITIES_OF: { readonly [kind in ModelKind]: readonly Capability[] } = {
  chat: CAPABILITIES_DEFAULT,
  completions: ["completions"],
  embeddings: ["embeddings"],
  transcription: ["transcription"],
  responses: ["responses"],
  messages: ["messages"],
  speech: ["speech"],
  image: ["images"],
  moderation: ["moderation"],
  rerank: ["rerank"],
  realtime: [],
  video: [],
  other: [],
};

export function toCapabilities(kind: ModelKind): readonly Capability[] {
  return CAPABILITIES_OF[kind];
}

/** True when there is an endpoint for it. */
export function isServable({ capabilities }: Pick<CapabilityGuess, "capabilities">): boolean {
  return capabilities.length > 0;
}

/** Models that judge a text are asked through chat, whatever lists call them: `/moderations` has none of them. */
const GUARD_PATTERN = /llama-guard|prompt-guard|shieldgemma|nemoguard/;

/**
 * In this order, since names hold several of these words: `bge-reranker` is no embedding model, `gemini-2.5-flash-preview-tts`
 * and `gpt-realtime-whisper` are no chat. The names are those of the providers' lists and of LiteLLM's price map.
 */
const NAMES: readonly (readonly [kind: ModelKind, pattern: RegExp])[] = [
  ["rerank", /rerank|llama-rank/],
  ["moderation", /(?:^|[/_-])moderation/],
  ["moderation", GUARD_PATTERN],
  ["transcription", /whisper|transcri|\basr\b|parakeet/],
  ["realtime", /realtime|native-audio|-live(?:-|$)|-voice-(?:\d|latest)/],
  ["speech", /(?:^|[/_.-])tts(?:[/_.-]|$)|text-to-speech|orpheus|kokoro|playai-|lyria/],
  ["embeddings", /embed|(?:^|[/_.-])(?:bge|gte|e5|voyage|stella|minilm)(?:[-_.]|$)|all-minilm/],
  [
    "image",
    /dall-e|-image(?:-|$)|(?:^|\/)imagen-|nano-banana|stable-diffusion|\bsdxl|(?:^|[/._-])flux[._-]|seedream|ideogram|recraft|hidream/,
  ],
  ["video", /(?:^|[/_-])(?:sora|veo|kling|seedance|cogvideo)[._-]|-video(?:-|$)|[_-][ti]2v(?:[_-]|$)/],
  ["other", /(?:^|\/)mistral-ocr|^aqa$/],
  // OpenAI and xAI serve these on /v1/responses alone; others resell them, under longer names, on chat as well.
  [
    "responses",
    /^(?:o\d-pro|gpt-5[\d.]*-pro|gpt-5[\d.]*-codex|o\d[a-z-]*-deep-research|codex-mini|computer-use-preview|grok-[\d.]+-multi-agent)/,
  ],
  ["completions", /^(?:gpt-3\.5-turbo-instruct|davinci-002|babbage-002)/],
];

/** By the name alone, whatever its case; a name that says nothing is taken for chat. */
export function guessByName(upstreamName: string): CapabilityGuess {
  const name = upstreamName.toLowerCase().replace(/^models\//, "");
  const kind = NAMES.find(([, pattern]) => pattern.test(name))?.[0];
  if (kind === undefined) return { kind: "chat", capabilities: CAPABILITIES_DEFAULT, from: "default" };
  return { kind, capabilities: GUARD_PATTERN.test(name) ? [] : toCapabilities(kind), from: "name" };
}
