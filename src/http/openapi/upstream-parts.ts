import { Type } from "@sinclair/typebox";
import type { Answer, AnswerHeader, Content } from "./operation.ts";

/** What comes of an upstream is the upstream's: nothing is said of its shape. */
export const Foreign = Type.Any({ description: "The upstream's own, unchanged." });
export const EVENT_STREAM: Content = {
  type: "text/event-stream",
  schema: Type.String({ description: "Server-sent events of the upstream, unchanged." }),
};

export function upstreamError(headers: readonly AnswerHeader[]): Answer {
  return {
    status: "default",
    description: "The upstream's own error, unchanged, with `x-proxy-error-source: upstream`.",
    contents: [{ type: "application/json", schema: Foreign }],
    headers,
  };
}

export function toJson(example: unknown): Content {
  return { type: "application/json", schema: Foreign, example };
}
