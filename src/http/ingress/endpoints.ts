import { Type } from "@sinclair/typebox";
import { ENDPOINT_NAMES, type EndpointName, toPaths, toRow } from "#catalog/endpoint.ts";
import type { Answer, AnswerHeader, Content, Route } from "#http/door/route.ts";
import { RELAY_PREFIX, type RelayMethod } from "./transparent.ts";
import { MODEL, RELAY_TOKEN } from "#http/schemas/examples.ts";
import { ProxyRequestBody } from "#http/schemas/requests.ts";
import { Foreign, oneOf } from "#http/schemas/shared.ts";
import type { ErrorCode } from "#kernel/errors.ts";

const EVENT_STREAM: Content = {
  type: "text/event-stream",
  schema: Type.String({ description: "Server-sent events of the upstream, unchanged." }),
};

/** JSON of the upstream, like this example of it. */
function toForeignJson(example: unknown): Content {
  return { type: "application/json", schema: Foreign, example };
}

/** The upstream's own answer, in one of these forms. */
function toForeignAnswer(contents: Answer["contents"], headers?: readonly AnswerHeader[]): Answer {
  return {
    status: 200,
    description: "what the upstream answered",
    contents,
    ...(headers !== undefined && { headers }),
  };
}

const COMPLETION = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1773230400,
  model: "gpt-5",
  choices: [{ index: 0, message: { role: "assistant", content: "Hello." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
};
const EMBEDDING = {
  object: "list",
  data: [{ object: "embedding", index: 0, embedding: [0.1, 0.2] }],
  model: "gpt-5",
  usage: { prompt_tokens: 4, total_tokens: 4 },
};

const RESPONSE = {
  id: "resp_1",
  object: "response",
  created_at: 1773230400,
  model: "gpt-5",
  status: "completed",
  output: [
    { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "Hello." }] },
  ],
  usage: { input_tokens: 9, output_tokens: 2, total_tokens: 11 },
};
const MESSAGE = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-sonnet-4-5",
  content: [{ type: "text", text: "Hello." }],
  stop_reason: "end_turn",
  usage: { input_tokens: 9, output_tokens: 2 },
};
const MESSAGES_EXAMPLE = { model: MODEL.alias, messages: [{ role: "user", content: "Say hello." }] };
const TRANSCRIPT = { text: "Hello.", usage: { type: "duration", seconds: 2 } };
const IMAGES = {
  created: 1773230400,
  data: [{ b64_json: "aGVsbG8=" }],
  usage: { input_tokens: 9, output_tokens: 272, total_tokens: 281 },
};
const FORM_EXAMPLE = { model: MODEL.alias, file: "hello.wav" };

const BY_ID = { params: { id: RESPONSE.id }, errors: ["response_not_found"] } as const;

interface Told {
  readonly summary: string;
  /** Absent without a body. */
  readonly example?: unknown;
  readonly params?: NonNullable<Route["params"]>;
  readonly query?: NonNullable<Route["query"]>;
  readonly contents: Answer["contents"];
  readonly errors?: readonly ErrorCode[];
}

const TOLD: { readonly [endpoint in EndpointName]: Told } = {
  chat: {
    summary: "Chat",
    example: MESSAGES_EXAMPLE,
    contents: [toForeignJson(COMPLETION), EVENT_STREAM],
  },
  completions: {
    summary: "Completions without messages",
    example: { model: MODEL.alias, prompt: "Once upon a time" },
    contents: [toForeignJson({ ...COMPLETION, object: "text_completion" }), EVENT_STREAM],
  },
  embeddings: {
    summary: "Embeddings",
    example: { model: MODEL.alias, input: "The quick brown fox" },
    contents: [toForeignJson(EMBEDDING)],
    errors: ["embedding_batch_too_large"],
  },
  responses: {
    summary: "Responses",
    example: { model: MODEL.alias, input: "Say hello." },
    contents: [toForeignJson(RESPONSE), EVENT_STREAM],
  },
  "responses/compact": {
    summary: "Shorten a conversation",
    example: { model: MODEL.alias, input: "Say hello." },
    contents: [toForeignJson({ ...RESPONSE, object: "response.compaction" })],
  },
  "responses/input_tokens": {
    summary: "Count the input tokens of a response",
    example: { model: MODEL.alias, input: "Say hello." },
    contents: [toForeignJson({ object: "response.input_tokens", input_tokens: 9 })],
  },
  "responses/retrieve": {
    ...BY_ID,
    summary: "A response by its id",
    query: [
      {
        name: "stream",
        schema: oneOf(["true"]),
        description: "Goes on with the stream of a response in the background.",
      },
    ],
    contents: [toForeignJson(RESPONSE), EVENT_STREAM],
  },
  "responses/delete": {
    ...BY_ID,
    summary: "Delete a response",
    contents: [toForeignJson({ id: RESPONSE.id, object: "response", deleted: true })],
  },
  "responses/cancel": {
    ...BY_ID,
    summary: "Cancel a response in the background",
    contents: [toForeignJson({ ...RESPONSE, status: "cancelled", background: true, output: [] })],
  },
  "responses/input_items": {
    ...BY_ID,
    summary: "What a response was asked",
    contents: [toForeignJson({ object: "list", data: [], has_more: false })],
  },
  messages: {
    summary: "Messages",
    example: { ...MESSAGES_EXAMPLE, max_tokens: 64 },
    contents: [toForeignJson(MESSAGE), EVENT_STREAM],
  },
  "messages/count_tokens": {
    summary: "Count the input tokens of messages",
    example: MESSAGES_EXAMPLE,
    contents: [toForeignJson({ input_tokens: 9 })],
  },
  transcription: {
    summary: "Speech to text",
    example: FORM_EXAMPLE,
    contents: [toForeignJson(TRANSCRIPT), EVENT_STREAM],
  },
  translation: {
    summary: "Speech to English text",
    example: FORM_EXAMPLE,
    contents: [toForeignJson({ text: "Hello.", duration: 2 })],
  },
  speech: {
    summary: "Text to speech",
    example: { model: MODEL.alias, input: "Hello.", voice: "alloy" },
    contents: [{ type: "audio/mpeg", schema: Type.String({ format: "binary" }) }, EVENT_STREAM],
  },
  images: {
    summary: "Make images",
    example: { model: MODEL.alias, prompt: "A lock on a quay" },
    contents: [toForeignJson(IMAGES), EVENT_STREAM],
  },
  "images/edits": {
    summary: "Change images",
    example: {
      model: MODEL.alias,
      prompt: "A lock on a quay",
      images: [{ image_url: "https://example.com/quay.png" }],
    },
    contents: [toForeignJson(IMAGES), EVENT_STREAM],
  },
  moderation: {
    summary: "Moderation",
    example: { model: MODEL.alias, input: "Hello." },
    contents: [toForeignJson({ id: "modr_1", model: "gpt-5", results: [{ flagged: false }] })],
  },
  rerank: {
    summary: "Rerank documents",
    example: { model: MODEL.alias, query: "Where is the lock?", documents: ["On the quay."] },
    contents: [
      toForeignJson({
        results: [{ index: 0, relevance_score: 0.9 }],
        meta: { billed_units: { search_units: 1 } },
      }),
    ],
  },
};

const FROM_PROVIDER = ["x-proxy-provider", "x-proxy-model", "x-proxy-request-id"] as const;

/** The routes of the data plane, as they are documented. */
export const ENDPOINT_ROUTES: readonly Route[] = ENDPOINT_NAMES.flatMap((name) =>
  toPaths(name).map((path) => toRoute(name, path)),
);

function toRoute(name: EndpointName, path: string): Route {
  const { method, capability, isAlwaysOpen, body } = toRow(name);
  const { contents, errors = [], ...told } = TOLD[name];
  const isOpening = isAlwaysOpen !== true;
  const isPageElse = method === "GET" && !path.startsWith("/v1/");
  return {
    method,
    path,
    access: "caller",
    scope: "inference",
    tag: "Models",
    ...told,
    description: `Forwarded to the provider of ${body === null ? "the response" : "the alias"}; the header \`x-proxy-tags\` labels the usage (\`key:value\`, …).${isOpening ? ` Served as soon as a model has the capability \`${capability}\`; until then ${isPageElse ? "the web page, which a browser that navigates here gets in any case" : "`unknown_endpoint`"}.` : ""}`,
    ...(isOpening && { opensWith: capability }),
    ...(body !== null && { body: ProxyRequestBody }),
    ...(body === "form" && { bodyType: "multipart/form-data" as const }),
    answer: toForeignAnswer(contents, [...FROM_PROVIDER, "x-proxy-cost"]),
    upstreamErrorHeaders: [...FROM_PROVIDER, "x-proxy-error-source"],
    errors: [
      ...(isOpening && !isPageElse ? (["unknown_endpoint"] as const) : []),
      ...(body === "json" || body === null ? [] : (["invalid_multipart"] as const)),
      ...(body === null ? [] : (["model_required"] as const)),
      "model_not_found",
      ...(body === null ? [] : (["endpoint_not_supported"] as const)),
      ...errors,
      "limit_exceeded",
      ...(body === null ? [] : (["busy"] as const)),
      "provider_unreachable",
    ],
  };
}

const FROM_RELAY = ["x-proxy-provider", "x-proxy-request-id"] as const;

const EXAMPLE_PATHS: { readonly [method in RelayMethod]: string } = {
  DELETE: "v1/files/file_1",
  GET: "v1/models",
  HEAD: "v1/models",
  OPTIONS: "v1/messages",
  PATCH: "v1/files/file_1",
  POST: "v1/messages",
  PUT: "v1/files/file_1",
};

const RELAYED = {
  model: "claude-sonnet-4-5",
  max_tokens: 64,
  messages: [{ role: "user", content: "Say hello." }],
};

/** Every method goes the same way; only HEAD and OPTIONS leave no usage behind. */
export const RELAY_ROUTES: readonly Route[] = Object.entries(EXAMPLE_PATHS).map(([method, path]) =>
  toRelayRoute(method, path),
);

function toRelayRoute(method: string, path: string): Route {
  const hasBody = method === "POST" || method === "PUT" || method === "PATCH";
  // The runtime's client sends no body with these two.
  const isBodyless = method === "GET" || method === "HEAD";
  return {
    method,
    path: `${RELAY_PREFIX}:token/*`,
    access: "relay",
    tag: "Relay",
    summary: `Relay a ${method} to the messages API`,
    description:
      "Method, path, query, headers and body go on as they came; the token only attributes the usage. The path may have any number of segments.",
    params: { token: RELAY_TOKEN, path },
    ...(hasBody && { body: Foreign, example: RELAYED, isBodyOptional: true }),
    answer: toForeignAnswer(method === "HEAD" ? [] : [toForeignJson(MESSAGE), EVENT_STREAM], [
      ...FROM_RELAY,
      "x-proxy-cost",
    ]),
    upstreamErrorHeaders: [...FROM_RELAY, "x-proxy-error-source"],
    errors: [
      "transparent_relay_disabled",
      "unknown_relay_token",
      "unknown_endpoint",
      "invalid_request",
      ...(isBodyless ? [] : (["request_too_large", "busy"] as const)),
      // The two that leave no usage are never limited.
      ...(method === "HEAD" || method === "OPTIONS" ? [] : (["limit_exceeded"] as const)),
      "provider_unreachable",
    ],
  };
}
