import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { ProxyError } from "#kernel/errors.ts";
import type { Log, LogFields } from "#kernel/log.ts";
import { withinLimit } from "#kernel/timer.ts";
import type { Tasks, WorkerCommand, WorkerReply } from "./worker-server.ts";

/** A Worker that dies is started again after a pause that doubles up to the longest. */
const RESTART_PAUSE_MS_MIN = 50;
const RESTART_PAUSE_MS_MAX = 30_000;
/** A Worker that lived this long starts again with the shortest pause. */
const HEALTHY_AFTER_MS = 60_000;
/** More than a Worker and its connection stay open with (4, measured). */
const WORKER_FILES_MAX = 16;
const STOP_WAIT_MS_MAX = 5_000;
const TERMINATE_WAIT_MS_MAX = 1_000;

export interface WorkerClientOptions<Start, Event> {
  readonly name: string;
  /** `new URL("./x-worker.ts", import.meta.url)`: the build lays every `*-worker.ts` beside the program. */
  readonly url: URL;
  readonly log: Log;
  /** The Worker opens with it, after each restart as well. */
  readonly start: Start;
  readonly onEvent?: (event: Event) => void;
  /** Called when the Worker has died: it may have done something of which no message came. */
  readonly onEnded?: () => void;
  /** Called when the Worker was started again, before unanswered questions are repeated. */
  readonly onRestart?: () => void;
}

/** Tells that a task threw something that is no refusal, with what may be logged of it. */
export class TaskFailedError extends Error {
  override readonly name = "TaskFailedError";
  readonly fields: LogFields;

  constructor(fields: LogFields) {
    super("a task of a Worker failed");
    this.fields = fields;
  }
}

/** Tells that no answer comes: the Worker has died, or was stopped. */
export class WorkerEndedError extends Error {
  override readonly name = "WorkerEndedError";
}

interface Waiting {
  readonly command: WorkerCommand<never, unknown>;
  readonly isRepeated: boolean;
  readonly resolve: (answer: never) => void;
  readonly reject: (cause: unknown) => void;
}

type TaskQuestion<Task> = Task extends (...question: infer Question) => unknown ? Question : never;
type TaskAnswer<Task> = Task extends (question: never) => infer Answer ? Awaited<Answer> : never;

/** A Worker that is started when it is first asked, and kept alive from then on, until it is stopped. */
export class WorkerClient<All extends Tasks<keyof All>, Start, Event = never> {
  readonly #options: WorkerClientOptions<Start, Event>;
  readonly #ready = Promise.withResolvers<void>();
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #worker: Worker | null = null;
  #wasReady = false;
  #startedMs = 0;
  #pauseMs = RESTART_PAUSE_MS_MIN;
  #restartTimer: ReturnType<typeof setTimeout> | null = null;
  #stopped: PromiseWithResolvers<void> | null = null;

  constructor(options: WorkerClientOptions<Start, Event>) {
    this.#options = options;
    // A Worker that dies before a caller waits for it must not end the process.
    this.#ready.promise.catch(() => {});
  }

  /** Starts the Worker. Rejects when its file cannot be loaded at all. */
  async ready(): Promise<void> {
    this.#worker ??= this.#spawn();
    return this.#ready.promise;
  }

  /** False between a death and the restart, and before the first start. */
  get isRunning(): boolean {
    return this.#worker !== null;
  }

  /** True once it was ready, also between a death and the restart. */
  get wasReady(): boolean {
    return this.#wasReady;
  }

  /** True when a question would be asked now: not between a death and the restart, nor while too few files may be opened. */
  get isUsable(): boolean {
    return this.#worker !== null || (this.#canStart && hasRoomForWorker());
  }

  /** Rejects with a refusal of the task, `TaskFailedError`, `WorkerEndedError`, and what cannot be sent. */
  ask<Name extends keyof All & string>(
    name: Name,
    ...question: TaskQuestion<All[Name]>
  ): Promise<TaskAnswer<All[Name]>> {
    return this.#ask(name, question, false);
  }

  /**
   * Asks like `ask`, and again after each restart until an answer comes: the task may be done twice. Once the client is
   * stopped no answer comes, and no rejection.
   */
  askUntilAnswered<Name extends keyof All & string>(
    name: Name,
    ...question: TaskQuestion<All[Name]>
  ): Promise<TaskAnswer<All[Name]>> {
    return this.#ask(name, question, true);
  }

  /** Asks without waiting for an answer. The question is lost between a death and the restart. */
  tell<Name extends keyof All & string>(name: Name, ...question: TaskQuestion<All[Name]>): void {
    this.#worker?.postMessage(this.#toCommand(name, question));
  }

  /** Asks the Worker to finish, and ends it when it does not in time: what it has committed by then is whole. */
  async stop(waitMsMax = STOP_WAIT_MS_MAX): Promise<void> {
    this.#stopped = Promise.withResolvers();
    if (this.#restartTimer !== null) clearTimeout(this.#restartTimer);
    const worker = this.#worker;
    if (worker !== null) {
      worker.postMessage({ kind: "close" });
      await withinLimit(this.#stopped.promise, waitMsMax, () => {});
      await terminate(worker);
    }
    this.#rejectWaiting();
  }

  get #canStart(): boolean {
    return this.#stopped === null && this.#restartTimer === null;
  }

  #ask<Answer>(name: string, question: readonly unknown[], isRepeated: boolean): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const command = this.#toCommand(name, question);
    try {
      if (this.#worker === null && this.#canStart && hasRoomForWorker()) this.#worker = this.#spawn();
      if (this.#worker === null && !isRepeated)
        throw new WorkerEndedError(`${this.#options.name} is not there`);
      this.#worker?.postMessage(command);
      this.#waiting.set(command.id, { command, isRepeated, resolve, reject });
    } catch (cause) {
      reject(cause);
    }
    return promise;
  }

  #toCommand(name: string, [question]: readonly unknown[]) {
    this.#lastId += 1;
    return { kind: "ask" as const, id: this.#lastId, name, question };
  }

  #spawn(): Worker {
    const { url, start } = this.#options;
    const worker = new Worker(url.href);
    worker.postMessage({ kind: "start", start });
    this.#startedMs = performance.now();
    worker.addEventListener("message", (event: MessageEvent<WorkerReply<Event, never>>) =>
      this.#onReply(event.data),
    );
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.#options.log.error(`${this.#options.name}: failed`, describeWorkerFailure(event.message));
    });
    worker.addEventListener("close", () => this.#onClose());
    return worker;
  }

  #onReply(reply: WorkerReply<Event, never>): void {
    switch (reply.kind) {
      case "ready":
        this.#wasReady = true;
        this.#ready.resolve();
        return;
      case "answer":
        this.#take(reply.id)?.resolve(reply.answer);
        return;
      case "refused": {
        const { id, code, message, param } = reply;
        this.#take(id)?.reject(new ProxyError(code, message, param === null ? {} : { param }));
        return;
      }
      case "failed":
        this.#take(reply.id)?.reject(new TaskFailedError(reply.fields));
        return;
      case "event":
        this.#options.onEvent?.(reply.event);
        return;
      case "log":
        this.#options.log[reply.level](reply.message, reply.fields);
        return;
      case "closed":
        this.#stopped?.resolve();
    }
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  /** Restarts a Worker that has died. One that was never ready stays dead until the next question. */
  #onClose(): void {
    const { name, log, onEnded } = this.#options;
    this.#worker = null;
    if (this.#stopped !== null) {
      this.#stopped.resolve();
      return;
    }
    if (this.#wasReady) {
      if (performance.now() - this.#startedMs > HEALTHY_AFTER_MS) this.#pauseMs = RESTART_PAUSE_MS_MIN;
      log.error(`${name}: ended, starting it again`, { pause_ms: this.#pauseMs });
      this.#restartAfterPause();
    } else this.#ready.reject(new Error(`${name} could not be started`));
    this.#rejectWaiting();
    onEnded?.();
  }

  #restartAfterPause(): void {
    this.#restartTimer = setTimeout(() => {
      if (!hasRoomForWorker()) {
        this.#restartAfterPause();
        return;
      }
      this.#restartTimer = null;
      this.#worker = this.#spawn();
      this.#options.onRestart?.();
      for (const { command } of this.#waiting.values()) this.#worker.postMessage(command);
    }, this.#pauseMs);
    this.#pauseMs = Math.min(this.#pauseMs * 2, RESTART_PAUSE_MS_MAX);
  }

  #rejectWaiting(): void {
    for (const [id, { isRepeated, reject }] of this.#waiting) {
      if (isRepeated) continue;
      this.#waiting.delete(id);
      reject(new WorkerEndedError(`${this.#options.name} has ended`));
    }
  }
}

/** Ends the thread: a connection with statements that were not finalized closes its files only then. */
async function terminate(worker: Worker): Promise<void> {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  worker.addEventListener("close", () => resolve());
  worker.terminate();
  await withinLimit(ended, TERMINATE_WAIT_MS_MAX, () => {});
}

/** True when a Worker may be started: Bun ends the whole process when one finds no file descriptor left. */
function hasRoomForWorker(): boolean {
  const taken: number[] = [];
  try {
    while (taken.length < WORKER_FILES_MAX) taken.push(openSync(devNull, "r"));
    return true;
  } catch {
    return false;
  } finally {
    for (const fd of taken) closeSync(fd);
  }
}

/**
 * Describes the failure that ended a Worker for the log: the fields of `describeCause`, and where it was thrown. The runtime
 * hands no error over, only the text that it would print. Its message and its lines of source are left out: they hold paths
 * and values.
 */
function describeWorkerFailure(printed: string): LogFields {
  const [, name = "Error"] = /^([A-Za-z]*Error)\b/m.exec(printed) ?? [];
  const [, code = null] = /^\s+code: "([A-Z][A-Z0-9_]*)"/m.exec(printed) ?? [];
  const [, at = null] = /^\s+at .*?([\w.-]+:\d+):\d+\)?$/m.exec(printed) ?? [];
  return { cause: name, cause_code: code, cause_at: at };
}
