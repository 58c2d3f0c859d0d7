import { Type } from "@sinclair/typebox";
import { CAPABILITIES } from "#catalog/capability.ts";
import { ModelList } from "#http/schemas/catalog.ts";
import { oneOf } from "#http/schemas/shared.ts";
import { ProxyRequestBody } from "#http/schemas/requests.ts";
import { MODEL } from "./examples.ts";
import { json, type Content, type Operation, type QueryParam } from "./operation.ts";
import { EVENT_STREAM, toJson, upstreamError } from "./upstream-parts.ts";

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

const FROM_PROVIDER = ["x-proxy-provider", "x-proxy-model"] as const;

/** The three POST routes, under `/v1` and without the prefix. */
export const dataPlaneOperations: readonly Operation[] = ["/v1", ""].flatMap((prefix) => [
  ingress(`${prefix}/chat/completions`, {
    summary: "Chat",
    example: { model: "gpt", messages: [{ role: "user", content: "Say hello." }] },
    contents: [toJson(COMPLETION), EVENT_STREAM],
  }),
  ingress(`${prefix}/completions`, {
    summary: "Completions without messages",
    example: { model: "gpt", prompt: "Once upon a time" },
    contents: [toJson({ ...COMPLETION, object: "text_completion" }), EVENT_STREAM],
  }),
  ingress(`${prefix}/embeddings`, {
    summary: "Embeddings",
    example: { model: "gpt", input: "The quick brown fox" },
    contents: [toJson(EMBEDDING)],
    batches: true,
  }),
]);

interface IngressShape {
  readonly summary: string;
  readonly example: unknown;
  readonly contents: readonly Content[];
  readonly batches?: true;
}

function ingress(path: string, { summary, example, contents, batches }: IngressShape): Operation {
  return {
    method: "POST",
    path,
    access: "caller",
    tag: "Models",
    summary,
    description:
      "Forwarded to the provider of the alias; the header `x-proxy-tags` labels the usage (`key:value`, …).",
    body: { schema: ProxyRequestBody, example },
    answers: [
      { status: 200, description: "what the upstream answered", contents, headers: FROM_PROVIDER },
      upstreamError([...FROM_PROVIDER, "x-proxy-error-source"]),
    ],
    errors: [
      "model_required",
      "model_not_found",
      "endpoint_not_supported",
      ...(batches === true ? (["embedding_batch_too_large"] as const) : []),
      "provider_unreachable",
    ],
  };
}

const LIST_QUERY: readonly QueryParam[] = [
  {
    name: "endpoint",
    schema: oneOf(CAPABILITIES),
    description: "Only models with this capability.",
    example: "chat",
  },
  {
    name: "include_hidden",
    schema: oneOf(["1"]),
    description: "Hidden models too; needs a caller.",
    example: "1",
  },
  { name: "include_pricing", schema: oneOf(["1"]), description: "Prices too; needs a caller.", example: "1" },
];
const LIST_EXAMPLE = {
  object: "list",
  data: [
    {
      id: MODEL.alias,
      object: "model",
      created: 1773230400,
      owned_by: MODEL.provider,
      capabilities: MODEL.capabilities,
      alias_of: null,
      hidden: false,
      pricing: MODEL.pricing,
      pricing_inherited: false,
    },
  ],
};
const listModels = {
  method: "GET",
  access: "public",
  tag: "Models",
  summary: "The models that are served",
  query: LIST_QUERY,
  errors: ["invalid_endpoint", "missing_api_key", "invalid_api_key"],
} as const;
const LIST_ANSWER = json(200, ModelList, LIST_EXAMPLE);
const Page = Type.String({ description: "The web page." });

export const modelListOperations: readonly Operation[] = [
  { ...listModels, path: "/v1/models", answers: [LIST_ANSWER] },
  {
    ...listModels,
    path: "/models",
    description: "A browser that navigates here gets the web page.",
    answers: [{ ...LIST_ANSWER, contents: [...LIST_ANSWER.contents, { type: "text/html", schema: Page }] }],
  },
];
