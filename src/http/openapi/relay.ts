import { RELAY_TOKEN } from "./examples.ts";
import type { Answer, Operation } from "./operation.ts";
import { EVENT_STREAM, Foreign, toJson, upstreamError } from "./upstream-parts.ts";

const MESSAGES_EXAMPLE = {
  model: "claude-sonnet-4-5",
  max_tokens: 64,
  messages: [{ role: "user", content: "Say hello." }],
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

/** Every method goes the same way; only HEAD and OPTIONS leave no usage behind. */
export const relayOperations: readonly Operation[] = [
  relay("DELETE", "v1/files/file_1"),
  relay("GET", "v1/models"),
  relay("HEAD", "v1/models"),
  relay("OPTIONS", "v1/messages"),
  relay("PATCH", "v1/files/file_1"),
  relay("POST", "v1/messages"),
  relay("PUT", "v1/files/file_1"),
];

function relay(method: string, path: string): Operation {
  const answer: Answer = {
    status: 200,
    description: "what the upstream answered",
    contents: method === "HEAD" ? [] : [toJson(MESSAGE), EVENT_STREAM],
  };
  const hasBody = method === "POST" || method === "PUT" || method === "PATCH";
  return {
    method,
    path: "/transparent/messages/:token/*",
    access: "relay",
    tag: "Relay",
    summary: `Relay a ${method} to the messages API`,
    description:
      "Method, path, query, headers and body go on as they came; the token only attributes the usage. The path may have any number of segments.",
    params: { token: RELAY_TOKEN, path },
    ...(hasBody && { body: { schema: Foreign, example: MESSAGES_EXAMPLE, optional: true } }),
    answers: [answer, upstreamError(["x-proxy-error-source"])],
    errors: [
      "transparent_relay_disabled",
      "unknown_relay_token",
      "unknown_endpoint",
      "invalid_request",
      // These two are relayed without a body.
      ...(method === "GET" || method === "HEAD" ? [] : (["request_too_large"] as const)),
      "provider_unreachable",
    ],
  };
}
