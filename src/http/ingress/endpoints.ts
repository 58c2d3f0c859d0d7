import type { ServedEndpoint } from "#catalog/capability.ts";
import { ENDPOINT_PATHS } from "./endpoint-paths.ts";
import type { Answer, Route, AnswerHeader, Content } from "#http/door/route.ts";
import { MODEL } from "#http/schemas/examples.ts";
import { ProxyRequestBody } from "#http/schemas/requests.ts";
import type { ErrorCode } from "#kernel/errors.ts";
import { Type } from "@sinclair/typebox";
import { Foreign } from "#http/schemas/shared.ts";

export const EVENT_STREAM: Content = {
  type: "text/event-stream",
  schema: Type.String({ description: "Server-sent events of the upstream, unchanged." }),
};

/** JSON of the upstream, like this example of it. */
export function toForeignJson(example: unknown): Content {
  return { type: "application/json", schema: Foreign, example };
}

/** The upstream's own answer, in one of these forms. */
export function toForeignAnswer(contents: Answer["contents"], headers?: readonly AnswerHeader[]): Answer {
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

interface Told {
  readonly summary: string;
  readonly example: unknown;
  readonly contents: Answer["contents"];
  readonly errors?: readonly ErrorCode[];
}

const TOLD: { readonly [endpoint in ServedEndpoint]: Told } = {
  chat: {
    summary: "Chat",
    example: { model: MODEL.alias, messages: [{ role: "user", content: "Say hello." }] },
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
};

const FROM_PROVIDER = ["x-proxy-provider", "x-proxy-model", "x-proxy-request-id"] as const;

/** The POST routes of the data plane, as they are documented. */
export const ENDPOINT_ROUTES: readonly Route[] = Array.from(ENDPOINT_PATHS, ([path, endpoint]): Route => {
  const { summary, example, contents, errors = [] } = TOLD[endpoint];
  return {
    method: "POST",
    path,
    access: "caller",
    tag: "Models",
    summary,
    description:
      "Forwarded to the provider of the alias; the header `x-proxy-tags` labels the usage (`key:value`, …).",
    body: ProxyRequestBody,
    example,
    answer: toForeignAnswer(contents, FROM_PROVIDER),
    upstreamErrorHeaders: [...FROM_PROVIDER, "x-proxy-error-source"],
    errors: [
      "model_required",
      "model_not_found",
      "endpoint_not_supported",
      ...errors,
      "limit_exceeded",
      "busy",
      "provider_unreachable",
    ],
  };
});
