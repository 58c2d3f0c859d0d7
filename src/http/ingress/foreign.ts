import { Type } from "@sinclair/typebox";
import type { Answer, AnswerHeader, Content } from "#http/door/route.ts";
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
