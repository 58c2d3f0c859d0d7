import { type JsonObject, isJsonObject } from "#kernel/json.ts";
import { TellingSearch } from "./telling.ts";
import { TIER } from "./cost.ts";
import type { UsageAccumulator } from "./usage-accumulator.ts";

/** The response that an answer of the Responses API holds. */
export interface ToldResponse {
  readonly id: string;
  /** The status that was told last; null when none was told. */
  readonly status: string | null;
  /** True when its upstream works on after the answer. */
  readonly isBackground: boolean;
  /** True when its upstream keeps it, to be asked for by its id. */
  readonly isStored: boolean;
}

/** Where the responses of one wire dialect say what. */
export interface MeterDialect {
  /** Adds the usage of a unary body: of the places where it may stand, the first that holds a quantity. */
  addUsage(body: JsonObject, accumulator: UsageAccumulator): void;
  /** Adds the usage of one event of a stream, in the same way; true when it held a quantity. */
  addEventUsage(event: JsonObject, accumulator: UsageAccumulator): boolean;
  /** The model that a unary body, or an event of a stream, names; absent where that is not looked for. */
  findModel?(message: JsonObject): unknown;
  /** The response that a unary body, or an event of a stream, holds; absent where that is not looked for. */
  findResponse?(message: JsonObject): ToldResponse | null;
  /** The error, for `toErrorKind`, of a message that says elsewhere than others that it failed; null for any other. */
  findFailure?(message: JsonObject): JsonObject | null;
  /** True when the items of an array are counted: then all of them are kept (`PRUNED_BYTES_MAX` bounds them). */
  readonly countsItems?: true;
  /** True when the usage of this event is told before the answer; absent where none is. */
  beginsUsage?(event: JsonObject): boolean;
  /** True when the answer may be whole with this event of a stream, but for what is told of it. */
  endsAnswer(event: JsonObject): boolean;
  /** True when a reader of this event has had the whole answer; `[DONE]` ends every stream. */
  isLast(event: JsonObject): boolean;
  readonly defaultsToExclusive: boolean;
  /** True when its usage tells the searches that the provider made: `web_searches`. */
  readonly countsWebSearches?: true;
  /** Finds out which events cannot tell anything; made by `toTelling`. */
  readonly telling: TellingSearch;
}

/** Finds the events that name a usage, an error or one of `names`, wherever in them. */
function toTelling(...names: readonly string[]): TellingSearch {
  return new TellingSearch(["usage", "error", ...names], TIER);
}

/** The chat-completions dialect: chat, legacy completions and embeddings say it alike, streamed or not. */
const CHAT: MeterDialect = {
  addUsage: addChatUsage,
  addEventUsage: addChatUsage,
  endsAnswer: hasFinishReason,
  // `[DONE]` alone: a finish reason is followed by the event that holds the usage.
  isLast: () => false,
  defaultsToExclusive: false,
  telling: toTelling("finish_reason"),
};

/** Top level, else the first choice (Moonshot's streams), else `x_groq` (Groq's streams); nothing deeper. */
function addChatUsage(message: JsonObject, accumulator: UsageAccumulator): boolean {
  if (accumulator.add(message["usage"])) return true;
  const { choices, x_groq: groq } = message;
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  if (isJsonObject(choice) && accumulator.add(choice["usage"])) return true;
  return isJsonObject(groq) && accumulator.add(groq["usage"]);
}

/** Some send an empty one with every event. */
function hasFinishReason({ choices }: JsonObject): boolean {
  if (!Array.isArray(choices)) return false;
  return choices.some((choice: unknown) => {
    const reason = isJsonObject(choice) ? choice["finish_reason"] : null;
    return typeof reason === "string" && reason !== "";
  });
}

/** The events that end a stream, each with the whole response in it (`ResponseStreamEvent` of openai 7.57). */
const LAST_EVENTS: ReadonlySet<unknown> = new Set([
  "response.completed",
  "response.incomplete",
  "response.failed",
]);
/** Behind the last of them comes a last event, with the usage. */
const ITEM_END_TYPE = "response.output_item.done";

/**
 * The responses dialect: a response stands alone, or in the member `response` of the events with which a stream begins and
 * ends. Those between have no such member, and are passed over.
 */
const RESPONSES: MeterDialect = {
  addUsage: ({ usage }, accumulator) => void accumulator.add(usage),
  addEventUsage: ({ type, response }, accumulator) =>
    LAST_EVENTS.has(type) && isJsonObject(response) && accumulator.add(response["usage"]),
  findResponse: (message) => toTold(toResponse(message)),
  findFailure,
  endsAnswer: ({ type }) => type === ITEM_END_TYPE,
  isLast: ({ type }) => LAST_EVENTS.has(type),
  defaultsToExclusive: false,
  telling: toTelling("response", ITEM_END_TYPE),
};

const TERMINAL: ReadonlySet<string | null> = new Set(["completed", "failed", "incomplete", "cancelled"]);

/** True when nothing more comes of a response with this status (`ResponseStatus` of openai 7.57). */
export function isTerminal(status: string | null): boolean {
  return TERMINAL.has(status);
}

/** A body is one itself; a compacted one is another object, and has no id by which it is asked for. */
function toResponse(message: JsonObject): JsonObject | null {
  const response = message["object"] === "response" ? message : message["response"];
  return isJsonObject(response) && response["object"] === "response" ? response : null;
}

/** `Response` of openai 7.57; `store` is told by the answer, and is true where it is not told. */
function toTold(response: JsonObject | null): ToldResponse | null {
  if (response === null) return null;
  const { id, status, background, store } = response;
  if (typeof id !== "string" || id === "") return null;
  return {
    id,
    status: typeof status === "string" ? status : null,
    isBackground: background === true,
    isStored: store !== false,
  };
}

/** `ResponseError` of openai 7.57: its code, which is one of a list, comes before its type. */
function findFailure(message: JsonObject): JsonObject | null {
  const isFailedEvent = message["type"] === "response.failed";
  // The event's own name says what it holds, also to the usage: a response in it need not name itself one.
  const response = toObject(isFailedEvent ? message["response"] : toResponse(message));
  if (response["status"] !== "failed" && !isFailedEvent) return null;
  const told = response["error"];
  const error: JsonObject = isJsonObject(told) ? told : {};
  return { type: "error", code: error["code"] ?? error["type"] ?? "failed" };
}

const FIRST_EVENT_TYPE = "message_start";
const LAST_EVENT_TYPE = "message_stop";
/** With the reason of the stop: nothing of the answer comes behind it. */
const DELTA_TYPE = "message_delta";
/** The last of them is followed by `message_delta`, with the reason of the stop and the usage in one. */
const BLOCK_END_TYPE = "content_block_stop";

/** The messages dialect: cache reads and cache writes are counted beside the input, never in it. */
const MESSAGES: MeterDialect = {
  addUsage: ({ usage }, accumulator) => void accumulator.add(usage),
  addEventUsage: addMessageUsage,
  findModel: findMessageModel,
  beginsUsage: ({ type }) => type === FIRST_EVENT_TYPE,
  endsAnswer: ({ type }) => type === BLOCK_END_TYPE,
  isLast: ({ type, delta }) => type === LAST_EVENT_TYPE || (type === DELTA_TYPE && hasStopReason(delta)),
  defaultsToExclusive: true,
  countsWebSearches: true,
  telling: toTelling(LAST_EVENT_TYPE, BLOCK_END_TYPE, "stop_reason"),
};

/** Counting tokens uses none, whatever its answer holds. */
const COUNTING: MeterDialect = {
  ...MESSAGES,
  addUsage: () => undefined,
  addEventUsage: () => false,
  endsAnswer: () => false,
};

/** A stream names it where it begins. */
function findMessageModel({ type, message, model }: JsonObject): unknown {
  return type === FIRST_EVENT_TYPE && isJsonObject(message) ? message["model"] : model;
}

/** Usage stands in the first event of a stream and in its delta at the end; other events hold content. */
function addMessageUsage({ type, message, usage }: JsonObject, accumulator: UsageAccumulator): boolean {
  if (type === FIRST_EVENT_TYPE) return accumulator.add(isJsonObject(message) ? message["usage"] : undefined);
  return type === DELTA_TYPE && accumulator.add(usage);
}

function hasStopReason(delta: unknown): boolean {
  return isJsonObject(delta) && typeof delta["stop_reason"] === "string";
}

/** Each holds the whole text, or ends the audio (`TranscriptionTextDoneEvent` of openai 7.57, and its API reference for speech). */
const TEXT_DONE_TYPE = "transcript.text.done";
const AUDIO_DONE_TYPE = "speech.audio.done";

/** Transcriptions and translations. */
const TRANSCRIPTION: MeterDialect = {
  addUsage(body, accumulator) {
    if (addTranscriptionUsage(body, accumulator)) return;
    // `TranscriptionVerbose.duration`: seconds of the audio, as its `usage.seconds` are where that is told.
    accumulator.addQuantity("audio_seconds", body["duration"]);
  },
  addEventUsage: (event, accumulator) =>
    event["type"] === TEXT_DONE_TYPE && addTranscriptionUsage(event, accumulator),
  endsAnswer: () => false,
  isLast: ({ type }) => type === TEXT_DONE_TYPE,
  defaultsToExclusive: false,
  telling: toTelling(TEXT_DONE_TYPE),
};

/** Speech: audio tells nothing, and a stream of events tells it with its last. */
const SPEECH: MeterDialect = {
  addUsage: () => undefined,
  addEventUsage: ({ type, usage }, accumulator) => type === AUDIO_DONE_TYPE && accumulator.add(usage),
  endsAnswer: () => false,
  isLast: ({ type }) => type === AUDIO_DONE_TYPE,
  defaultsToExclusive: false,
  telling: toTelling(AUDIO_DONE_TYPE),
};

/**
 * `Transcription.Tokens` or `Transcription.Duration` of openai 7.57, by its `type`; usage without one is read by its fields
 * (Mistral's has tokens and `prompt_audio_seconds`).
 */
function addTranscriptionUsage({ usage }: JsonObject, accumulator: UsageAccumulator): boolean {
  if (!isJsonObject(usage)) return false;
  const { type, seconds } = usage;
  accumulator.addFacts(usage);
  const hasSeconds = type !== "tokens" && accumulator.addQuantity("audio_seconds", seconds);
  const hasTokens = type !== "duration" && accumulator.add(usage);
  return hasSeconds || hasTokens;
}

/** Each holds an image (`ImageGenCompletedEvent`, `ImageEditCompletedEvent` of openai 7.57); partial ones are none. */
const COMPLETED_TYPES = ["image_generation.completed", "image_edit.completed"] as const;
const COMPLETED: ReadonlySet<unknown> = new Set(COMPLETED_TYPES);

/**
 * Generations and edits of images: GPT's tell tokens (`ImagesResponse.Usage`), all others are counted, also where a gateway tells
 * zeroes of them (LiteLLM): no image is made of no token, and it would be free.
 */
const IMAGES: MeterDialect = {
  addUsage({ usage, data }, accumulator) {
    accumulator.add(usage);
    if (Array.isArray(data)) accumulator.countUntold("images", data.length);
  },
  addEventUsage({ type, usage }, accumulator) {
    if (!COMPLETED.has(type)) return false;
    accumulator.add(usage);
    accumulator.countUntold("images", 1);
    return true;
  },
  endsAnswer: () => false,
  isLast: ({ type }) => COMPLETED.has(type),
  countsItems: true,
  defaultsToExclusive: false,
  telling: toTelling(...COMPLETED_TYPES),
};

/** Rerank is never streamed: an event of a stream tells its error alone. */
const RERANK: MeterDialect = {
  addUsage(body, accumulator) {
    // `ApiMetaBilledUnits` and `ApiMetaTokens` of cohere-ai 8.1. Voyage and Jina tell `usage.total_tokens`, all of it input, and
    // OpenRouter search units before it (`CreateRerankUsage` of its SDK).
    const meta = toObject(body["meta"]);
    const usage = toObject(body["usage"]);
    accumulator.addFacts(usage);
    if (accumulator.addQuantity("search_units", toObject(meta["billed_units"])["search_units"])) return;
    if (accumulator.addQuantity("search_units", usage["search_units"])) return;
    if (accumulator.addQuantity("input_tokens", usage["total_tokens"])) return;
    accumulator.addQuantity("input_tokens", toObject(meta["tokens"])["input_tokens"]);
  },
  addEventUsage: () => false,
  endsAnswer: () => false,
  isLast: () => false,
  defaultsToExclusive: false,
  telling: toTelling(),
};

const NOTHING: JsonObject = {};

function toObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : NOTHING;
}

/** The dialect of each kind of answer (decisions, "Usage and prices"). `counting`: the request only counted tokens. */
export const DIALECTS = {
  chat: CHAT,
  responses: RESPONSES,
  messages: MESSAGES,
  transcription: TRANSCRIPTION,
  speech: SPEECH,
  images: IMAGES,
  rerank: RERANK,
  counting: COUNTING,
} as const;
