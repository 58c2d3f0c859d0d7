import type { Quantities } from "#kernel/units.ts";
import { DIALECTS } from "#usage/dialects.ts";
import { toErrorKind, createMeter } from "#usage/meter.ts";
import { isJsonObject, type JsonObject, parseJson } from "#kernel/json.ts";
import { normaliseUsage } from "#usage/cost.ts";
import { createSseParser } from "#usage/sse.ts";
import { OWN_SERVER, refuse } from "./client.ts";
import { ApiFailure, incompleteAnswer, isAbort, toApiFailure, upstreamRedirect } from "./failure.ts";

export interface ChatMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/** The endpoints by which the page can ask a model. */
export type ChatEndpoint = "chat" | "responses" | "messages";

/** A question and the endpoint that it goes to. */
export interface ChatCall {
  /** Default: chat. */
  readonly endpoint?: ChatEndpoint;
  /** The alias. */
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  /** False for a model without `chat_stream`: the whole answer then comes as one delta. */
  readonly stream?: boolean;
  /** Further fields of the body, such as `temperature`; sent as they are but for `max_tokens`, which each endpoint names. */
  readonly settings?: { readonly [name: string]: unknown };
}

export interface ChatRequest extends ChatCall {
  /** `key:value`, for the reports; never sent upstream. */
  readonly tags?: readonly string[];
  readonly signal?: AbortSignal;
  /** Once, when an answer begins, also one that is a refusal. */
  readonly onHead?: (head: ChatHead) => void;
  readonly onDelta: (delta: ChatDelta) => void;
}

/** Who answers. */
export interface ChatHead {
  readonly status: number;
  /** Null when the proxy did not say. */
  readonly provider: string | null;
  /** The name that the alias resolved to. */
  readonly upstreamName: string | null;
  /** The id of its row in the request log, where it gets one. */
  readonly requestId: string | null;
}

export interface ChatEnding extends ChatHead {
  /** As reports count them and prices apply; null when the upstream reported nothing. */
  readonly usage: Quantities | null;
  /** Why the model stopped, in the upstream's word; null when it did not say. */
  readonly finishReason: string | null;
}

/**
 * One answer of a model, over the same route as any client's and with the session as credential. Throws `ApiFailure`: of the
 * proxy with its code, of the provider (`source: "upstream"`) with the kind of error that the request log gets as code, or
 * `upstream_redirect`, of the page `offline` and `incomplete_answer`; and the `AbortError` of a stopped one, whose deltas have been told.
 */
export async function streamChat(request: ChatRequest): Promise<ChatEnding> {
  const { endpoint = "chat", onHead, onDelta } = request;
  const response = await send(request);
  if (isRedirect(response)) throw upstreamRedirect(response.status);
  const head: ChatHead = {
    status: response.status,
    provider: response.headers.get("x-proxy-provider"),
    upstreamName: readUpstreamName(response.headers),
    requestId: response.headers.get("x-proxy-request-id"),
  };
  onHead?.(head);
  if (!response.ok) throw await toRefusal(response);

  const streamed = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const meter = createMeter(DIALECTS[endpoint], { streamed, statusCode: response.status });
  const reader = ENDPOINTS[endpoint].createReader({ streamed, status: response.status, onDelta });
  for await (const bytes of readBytes(response)) {
    meter.push(bytes);
    reader.push(bytes);
  }
  const { finishReason } = reader.finish();
  const { usage, complete } = meter.finish();
  if (!complete && finishReason === null) throw incompleteAnswer();
  return { ...head, usage: usage === null ? null : normaliseUsage(usage), finishReason };
}

/** Its bytes are percent-encoded where they are not ASCII; a name of ASCII may hold a percent sign of its own. */
function readUpstreamName(headers: Headers): string | null {
  const value = headers.get("x-proxy-model");
  if (value === null || !/%[89A-F][0-9A-F]/.test(value)) return value;
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

const ENDPOINTS = {
  chat: {
    path: "chat/completions",
    headers: {},
    toBody: ({ model, messages, stream = true, settings }: ChatCall) => ({
      ...settings,
      model,
      messages,
      ...(stream && { stream }),
    }),
    createReader: createChatReader,
  },
  responses: {
    path: "responses",
    headers: {},
    // The provider would keep the conversation; the page says that nothing does.
    toBody: ({
      model,
      messages,
      stream = true,
      settings: { max_tokens: most, ...settings } = {},
    }: ChatCall) => ({
      ...settings,
      ...(most !== undefined && { max_output_tokens: most }),
      model,
      input: messages,
      store: false,
      ...(stream && { stream }),
    }),
    createReader: createResponseReader,
  },
  messages: {
    path: "messages",
    headers: { "anthropic-version": "2023-06-01" },
    toBody: ({ model, messages, stream = true, settings }: ChatCall) => {
      const system = messages.find(({ role }) => role === "system")?.content;
      return {
        max_tokens: ANSWER_TOKENS_MAX,
        ...settings,
        model,
        ...(system !== undefined && { system }),
        messages: messages.filter(({ role }) => role !== "system"),
        ...(stream && { stream }),
      };
    },
    createReader: createMessagesReader,
  },
} as const;

/** The messages API needs a limit. */
const ANSWER_TOKENS_MAX = 4_096;

/** Path behind `/v1`, headers and body of a call, the same for the page and for a shell. */
export function toCall(call: ChatCall) {
  const { path, headers, toBody } = ENDPOINTS[call.endpoint ?? "chat"];
  return { path, headers, body: toBody(call) };
}

async function send({ tags, signal, ...call }: ChatRequest): Promise<Response> {
  const { path, headers, body } = toCall(call);
  return await fetch(`/v1/${path}`, {
    ...OWN_SERVER,
    // Not followed either, and told apart from a server that is gone.
    redirect: "manual",
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...headers,
      ...(tags !== undefined && { "x-proxy-tags": tags.join(",") }),
    },
    body: JSON.stringify(body),
    ...(signal !== undefined && { signal }),
  }).catch(refuse);
}

/** A browser shows nothing else of one, not even its status. */
function isRedirect({ type, status }: Response): boolean {
  return type === "opaqueredirect" || (status >= 300 && status < 400);
}

/** By hand: not every browser iterates over a stream. */
async function* readBytes({ body }: Response): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } catch (cause) {
    throw isAbort(cause) ? cause : incompleteAnswer(cause);
  } finally {
    // Also when what reads it gives up: else the upstream would go on, and be paid.
    await reader.cancel().catch(() => undefined);
  }
}

/** The proxy's own refusal, or what the provider said. */
async function toRefusal(response: Response): Promise<ApiFailure> {
  const { status, headers } = response;
  const text = await response.text().catch(() => "");
  const body = parseJson(text);
  if (headers.get("x-proxy-error-source") !== "upstream") return toApiFailure(status, body);
  return toUpstreamFailure(status, body, text);
}

/** A piece of an answer: its text, or what a model says of its thinking. */
export interface ChatDelta {
  readonly kind: "text" | "reasoning";
  readonly text: string;
}

interface ChatReaderOptions {
  /** Whether the answer is `text/event-stream`. */
  readonly streamed: boolean;
  readonly status: number;
  readonly onDelta: (delta: ChatDelta) => void;
}

/** Bytes of a chat answer in, its texts out, as they come. */
interface ChatReader {
  /** Throws the `ApiFailure` of an error within a stream. */
  push(bytes: Uint8Array): void;
  /** Called once, after the last byte. Throws as `push` does. */
  finish(): { readonly finishReason: string | null };
}

/** Providers disagree on the name of the thinking. */
const REASONING_FIELDS = ["reasoning_content", "reasoning"] as const;

/** Reads chat completions: deltas of `choices`, or the whole message. */
function createChatReader(options: ChatReaderOptions): ChatReader {
  const { status, onDelta } = options;
  let finishReason: string | null = null;
  const readMessage = (message: JsonObject) => {
    if (isJsonObject(message["error"])) {
      throw toUpstreamFailure(status, message, JSON.stringify(message));
    }
    const choices = message["choices"];
    const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
    if (!isJsonObject(choice)) return;
    const part = choice["delta"] ?? choice["message"];
    if (isJsonObject(part)) tellTexts(part, onDelta);
    if (typeof choice["finish_reason"] === "string") finishReason = choice["finish_reason"];
  };
  return createMessageReader(options, readMessage, () => finishReason);
}

/** Events that carry a piece of text, by what it is (`ResponseStreamEvent` of openai 7.57). */
const DELTA_KINDS: ReadonlyMap<unknown, ChatDelta["kind"]> = new Map([
  ["response.output_text.delta", "text"],
  ["response.refusal.delta", "text"],
  ["response.reasoning_text.delta", "reasoning"],
  ["response.reasoning_summary_text.delta", "reasoning"],
]);

/** Reads the Responses API: events of a stream, whose last ones hold the whole response, or that response alone. */
function createResponseReader(options: ChatReaderOptions): ChatReader {
  const { streamed, status, onDelta } = options;
  let finishReason: string | null = null;
  const readResponse = (response: JsonObject) => {
    const { error, status: ended, incomplete_details: details } = response;
    if (isJsonObject(error) || ended === "failed") {
      throw toUpstreamFailure(status, { error }, JSON.stringify(response));
    }
    if (typeof ended !== "string" || ended === "in_progress" || ended === "queued") return;
    const reason = isJsonObject(details) ? details["reason"] : null;
    finishReason = typeof reason === "string" ? reason : ended;
  };
  const readMessage = (message: JsonObject) => {
    const { type, delta, response } = message;
    if (type === "error" || (type === undefined && isJsonObject(message["error"]))) {
      throw toUpstreamFailure(status, message, JSON.stringify(message));
    }
    const kind = DELTA_KINDS.get(type);
    if (kind !== undefined && typeof delta === "string" && delta !== "") onDelta({ kind, text: delta });
    if (isJsonObject(response)) readResponse(response);
    if (streamed || !Array.isArray(message["output"])) return;
    for (const text of toOutputTexts(message["output"])) onDelta(text);
    readResponse(message);
  };
  return createMessageReader(options, readMessage, () => finishReason);
}

/** Reads the messages API: events of a stream (`RawMessageStreamEvent` of @anthropic-ai/sdk 1.8), or the whole message. */
function createMessagesReader(options: ChatReaderOptions): ChatReader {
  const { status, onDelta } = options;
  let finishReason: string | null = null;
  const tellBlock = (block: unknown) => {
    if (!isJsonObject(block)) return;
    for (const [kind, text] of [
      ["reasoning", block["thinking"]],
      ["text", block["text"]],
    ] as const)
      if (typeof text === "string" && text !== "") onDelta({ kind, text });
  };
  const readMessage = (message: JsonObject) => {
    const { type, delta, content } = message;
    if (type === "error") throw toUpstreamFailure(status, message, JSON.stringify(message));
    if (type === "content_block_delta") tellBlock(delta);
    if (type === "message" && Array.isArray(content)) for (const block of content) tellBlock(block);
    const { stop_reason: reason } = type === "message_delta" && isJsonObject(delta) ? delta : message;
    if (typeof reason === "string") finishReason = reason;
  };
  return createMessageReader(options, readMessage, () => finishReason);
}

/** The texts of a whole response, in its order. */
function toOutputTexts(output: readonly unknown[]): readonly ChatDelta[] {
  return output.flatMap((item: unknown): readonly ChatDelta[] => {
    if (!isJsonObject(item)) return [];
    const isReasoning = item["type"] === "reasoning";
    const parts = item[isReasoning ? "summary" : "content"];
    if (!Array.isArray(parts)) return [];
    return parts.flatMap((part: unknown): readonly ChatDelta[] => {
      const text = isJsonObject(part) ? (part["text"] ?? part["refusal"]) : null;
      return typeof text === "string" && text !== ""
        ? [{ kind: isReasoning ? "reasoning" : "text", text }]
        : [];
    });
  });
}

/** Hands on each event, or the one body at its end, as a JSON object. */
function createMessageReader(
  { streamed }: ChatReaderOptions,
  readMessage: (message: JsonObject) => void,
  findReason: () => string | null,
): ChatReader {
  const read = (text: string) => {
    const message = parseJson(text);
    if (isJsonObject(message)) readMessage(message);
  };
  if (streamed) {
    const parser = createSseParser({ take: ({ data }) => read(data) });
    return {
      push: (bytes) => parser.push(bytes),
      finish() {
        parser.finish();
        return { finishReason: findReason() };
      },
    };
  }
  const decoder = new TextDecoder();
  let text = "";
  return {
    push(bytes) {
      text += decoder.decode(bytes, { stream: true });
    },
    finish() {
      read(text + decoder.decode());
      return { finishReason: findReason() };
    },
  };
}

function tellTexts(part: JsonObject, onDelta: (delta: ChatDelta) => void): void {
  const reasoning = REASONING_FIELDS.map((name) => part[name]).find((value) => typeof value === "string");
  if (typeof reasoning === "string" && reasoning !== "") onDelta({ kind: "reasoning", text: reasoning });
  const text = part["content"];
  if (typeof text === "string" && text !== "") onDelta({ kind: "text", text });
}

/** The most characters that are kept: an error is a sentence, anything longer is a web page of a proxy in between. */
const DETAIL_LENGTH_MAX = 4_000;

/**
 * What a provider said of its own failure, in its own words where it has some; `code` is the kind of error that the
 * request log gets. `text` is the answer as it came, `body` what was read in it.
 */
function toUpstreamFailure(status: number, body: unknown, text: string): ApiFailure {
  const error = isJsonObject(body) && isJsonObject(body["error"]) ? body["error"] : body;
  const message = isJsonObject(error) ? error["message"] : null;
  return new ApiFailure({
    code: toErrorKind(status, body),
    status,
    message: typeof message === "string" ? message : `The provider answered HTTP ${status}.`,
    source: "upstream",
    detail: text.length > DETAIL_LENGTH_MAX ? `${text.slice(0, DETAIL_LENGTH_MAX)}…` : text,
  });
}
