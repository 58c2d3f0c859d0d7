import { ProxyError } from "#kernel/errors.ts";
import { describeCause } from "#kernel/log.ts";
import { lowerThreadPriority } from "./lower-priority.ts";
import type { AnswerOf, Asked, QuestionKind, ReaderCommand, ReaderReply } from "./messages.ts";

declare const self: Worker;

/** What an engine's reader Worker does. */
export interface ReaderSteps<Place extends object> {
  /** One question at a time. `hasLeft`: no asker waits for the answer any more, and what is thrown from then on is no failure. */
  readonly answer: (
    asked: Asked<QuestionKind>,
    place: Place,
    hasLeft: () => boolean,
  ) => AnswerOf<QuestionKind> | Promise<AnswerOf<QuestionKind>>;
  readonly close: () => void | Promise<void>;
}

/** The Worker's end of `ReaderThread`: takes its commands, and answers each question once. */
export function serveReader<Place extends object>({ answer, close }: ReaderSteps<Place>): void {
  let start: Extract<ReaderCommand<Place>, { kind: "start" }> | null = null;
  const hasLeft = () => start !== null && Atomics.load(start.left, 0) === 1;

  const ask = async (id: number, asked: Asked<QuestionKind>): Promise<void> => {
    try {
      if (start === null) throw new Error("the reader was not started");
      const found = await answer(asked, start, hasLeft);
      reply({ kind: "answer", id, answer: found }, listBuffers(found));
    } catch (cause) {
      reply(hasLeft() ? { kind: "interrupted", id } : toFailure(id, cause));
    }
  };
  const end = async (): Promise<void> => {
    await close();
    reply({ kind: "closed" });
  };

  lowerThreadPriority();
  self.addEventListener("message", (event: MessageEvent<ReaderCommand<Place>>) => {
    const command = event.data;
    switch (command.kind) {
      case "start":
        start = command;
        reply({ kind: "ready" });
        return;
      case "close":
        void end();
        return;
      case "ask":
        void ask(command.id, command.asked);
    }
  });
}

function reply(message: ReaderReply, transfer: ArrayBuffer[] = []): void {
  self.postMessage(message, transfer);
}

/** The reply to a question that could not be answered: a refusal with its words, anything else with its class and code. */
function toFailure(id: number, cause: unknown): ReaderReply {
  return cause instanceof ProxyError
    ? { kind: "refused", id, code: cause.code, message: cause.message, param: cause.param }
    : { kind: "failed", id, fields: describeCause(cause) };
}

/** What is handed over instead of being copied: megabytes would be copied on the serving thread. */
function listBuffers(found: AnswerOf<QuestionKind>): ArrayBuffer[] {
  return "chunks" in found ? [...new Set(found.chunks.map(({ buffer }) => buffer))] : [];
}
