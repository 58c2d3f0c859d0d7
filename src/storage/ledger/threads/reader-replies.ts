import { ProxyError } from "#kernel/errors.ts";
import { describeCause } from "#kernel/log.ts";
import type { AnswerOf, QuestionKind, ReaderReply } from "./messages.ts";

/** The reply to a question that could not be answered: a refusal with its words, anything else with its class and code. */
export function toFailure(id: number, cause: unknown): ReaderReply {
  return cause instanceof ProxyError
    ? { kind: "refused", id, code: cause.code, message: cause.message, param: cause.param }
    : { kind: "failed", id, fields: describeCause(cause) };
}

/** What is handed over instead of being copied: megabytes would be copied on the serving thread. */
export function listBuffers(found: AnswerOf<QuestionKind>): ArrayBuffer[] {
  return "chunks" in found ? [...new Set(found.chunks.map(({ buffer }) => buffer))] : [];
}
