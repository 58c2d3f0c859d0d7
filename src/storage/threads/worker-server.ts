import { constants, getPriority, setPriority } from "node:os";
import { type ErrorCode, ProxyError } from "#kernel/errors.ts";
import { describeCause, type Log, type LogFields } from "#kernel/log.ts";

declare const self: Worker;

/** A Worker is this many steps behind the rest of the process: on a full core it gets about a third (sched(7)). */
const NICENESS_STEPS = 5;

/** A message to a Worker. The first one is `start`; each `ask` is answered once. */
export type WorkerCommand<Start, Question> =
  | { readonly kind: "start"; readonly start: Start }
  | { readonly kind: "ask"; readonly id: number; readonly name: string; readonly question: Question }
  | { readonly kind: "close" };

export type WorkerReply<Event, Answer> =
  | { readonly kind: "ready" }
  | { readonly kind: "answer"; readonly id: number; readonly answer: Answer }
  /** A ProxyError: its class is lost on the way. */
  | {
      readonly kind: "refused";
      readonly id: number;
      readonly code: ErrorCode;
      readonly message: string;
      readonly param: string | null;
    }
  | { readonly kind: "failed"; readonly id: number; readonly fields: LogFields }
  | { readonly kind: "event"; readonly event: Event }
  | {
      readonly kind: "log";
      readonly level: keyof Log;
      readonly message: string;
      readonly fields: LogFields;
    }
  | { readonly kind: "closed" };

/** The tasks of a Worker by name. Each takes one question at most, and answers at once or later. */
export type Tasks<Names extends PropertyKey = string> = {
  readonly [Name in Names]: (question: never) => unknown;
};

export interface WorkerParts {
  readonly tasks: Tasks;
  /** Lets go of everything; awaited before the thread ends. */
  readonly close: () => void | Promise<void>;
  /** Lists the memory of an answer that is handed over instead of being copied. */
  readonly listBuffers?: (answer: unknown) => ArrayBuffer[];
}

/** Carries what a Worker tells the thread that started it, unasked. */
export interface WorkerChannel<Event> {
  readonly tell: (event: Event) => void;
  readonly log: Log;
}

/** Serves a `WorkerClient`: opens with the options of the first message, and answers each question by the task of its name. */
export function serveWorker(open: (start: never, channel: WorkerChannel<unknown>) => WorkerParts): void {
  const reply = (message: WorkerReply<unknown, unknown>, transfer: ArrayBuffer[] = []) =>
    self.postMessage(message, transfer);
  const logAt =
    (level: keyof Log) =>
    (message: string, fields: LogFields = {}) =>
      reply({ kind: "log", level, message, fields });
  const log = { debug: logAt("debug"), info: logAt("info"), warn: logAt("warn"), error: logAt("error") };
  let parts: WorkerParts | null = null;

  const answer = async (id: number, name: string, question: never): Promise<void> => {
    try {
      const task = parts?.tasks[name];
      if (task === undefined) throw new TypeError(`this Worker has no task ${name}`);
      const found = await task(question);
      reply({ kind: "answer", id, answer: found }, parts?.listBuffers?.(found));
    } catch (cause) {
      reply(
        cause instanceof ProxyError
          ? { kind: "refused", id, code: cause.code, message: cause.message, param: cause.param }
          : { kind: "failed", id, fields: describeCause(cause) },
      );
    }
  };
  const end = async (): Promise<void> => {
    await parts?.close();
    reply({ kind: "closed" });
  };

  lowerThreadPriority();
  self.addEventListener("message", (message: MessageEvent<WorkerCommand<never, never>>) => {
    const command = message.data;
    switch (command.kind) {
      case "start":
        parts = open(command.start, { tell: (event) => reply({ kind: "event", event }), log });
        reply({ kind: "ready" });
        return;
      case "ask":
        void answer(command.id, command.name, command.question);
        return;
      case "close":
        void end();
    }
  });
}

/**
 * Puts the calling thread behind the one that serves requests, wherever both want one core. Linux alone keeps a priority
 * for each thread (setpriority(2), "BUGS"); elsewhere the whole process would step back.
 */
function lowerThreadPriority(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(0, Math.min(getPriority(0) + NICENESS_STEPS, constants.priority.PRIORITY_LOW));
  } catch {
    // A sandbox may forbid the call, and nothing but the pace depends on it.
  }
}
