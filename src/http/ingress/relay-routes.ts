import type { Route } from "#http/door/route.ts";
import { RELAY_TOKEN } from "#http/schemas/examples.ts";
import { Foreign } from "#http/schemas/shared.ts";
import { EVENT_STREAM, toForeignAnswer, toForeignJson } from "./endpoints.ts";
import { RELAY_PREFIX, type RelayMethod } from "./relay-target.ts";

const REQUEST = {
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
    ...(hasBody && { body: Foreign, example: REQUEST, isBodyOptional: true }),
    answer: toForeignAnswer(method === "HEAD" ? [] : [toForeignJson(MESSAGE), EVENT_STREAM], FROM_RELAY),
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
