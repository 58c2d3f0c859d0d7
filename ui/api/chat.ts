import type { Quantities } from "#kernel/units.ts";
import { parseJson } from "#usage/json.ts";
import { createChatMeter } from "#usage/meter-chat.ts";
import { createResponsesMeter } from "#usage/meter-responses.ts";
import { normaliseUsage } from "#usage/normalise.ts";
import { OWN_SERVER, refuse } from "./client.ts";
import { type ChatDelta, createChatReader, createResponseReader, toUpstreamFailure } from "./chat-reader.ts";
import { type ApiFailure, incompleteAnswer, isAbort, toApiFailure, upstreamRedirect } from "./failure.ts";

export interface ChatMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string | readonly ChatPart[];
}

export type ChatPart =
  | { readonly type: "text"; readonly text: string }
  /** A `data:` URL; the page's policy lets nothing else be shown. */
  | { readonly type: "image_url"; readonly image_url: { readonly url: string } };

/** The endpoints by which the page can ask a model. */
export type ChatEndpoint = "chat" | "responses";

export interface ChatRequest {
  /** Default: chat. */
  readonly endpoint?: ChatEndpoint;
  /** The alias. */
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  /** False for a model without `chat_stream`: the whole answer then comes as one delta. */
  readonly stream?: boolean;
  /** Further fields of the body, such as `temperature`; sent as they are but for `max_tokens`, which each endpoint names. */
  readonly settings?: { readonly [name: string]: unknown };
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
  const { path, toBody, createMeter, createReader } = DIALECTS[endpoint];
  const body = JSON.stringify(toBody(request));
  const response = await send(path, body, request);
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
  const meter = createMeter({ streamed, statusCode: response.status });
  const reader = createReader({ streamed, status: response.status, onDelta });
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

const DIALECTS = {
  chat: {
    path: "/v1/chat/completions",
    toBody: ({ model, messages, stream = true, settings }: ChatRequest) => ({
      ...settings,
      model,
      messages,
      ...(stream && { stream }),
    }),
    createMeter: createChatMeter,
    createReader: createChatReader,
  },
  responses: {
    path: "/v1/responses",
    // The provider would keep the conversation; the page says that nothing does.
    toBody: ({
      model,
      messages,
      stream = true,
      settings: { max_tokens: most, ...settings } = {},
    }: ChatRequest) => ({
      ...settings,
      ...(most !== undefined && { max_output_tokens: most }),
      model,
      input: messages.map(({ role, content }) => ({ role, content: toInput(content) })),
      store: false,
      ...(stream && { stream }),
    }),
    createMeter: createResponsesMeter,
    createReader: createResponseReader,
  },
} as const;

/** `ResponseInputContent` of openai 7.57. */
function toInput(content: ChatMessage["content"]) {
  if (typeof content === "string") return content;
  return content.map((part) =>
    part.type === "text"
      ? { type: "input_text", text: part.text }
      : { type: "input_image", image_url: part.image_url.url },
  );
}

async function send(
  path: string,
  body: string,
  { tags, signal }: Pick<ChatRequest, "tags" | "signal">,
): Promise<Response> {
  return await fetch(path, {
    ...OWN_SERVER,
    // Not followed either, and told apart from a server that is gone.
    redirect: "manual",
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(tags !== undefined && { "x-proxy-tags": tags.join(",") }),
    },
    body,
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
