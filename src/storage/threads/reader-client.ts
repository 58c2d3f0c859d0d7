import { ProxyError } from "#kernel/errors.ts";
import type { AnswerOf, Asked, AskedAs, QuestionKind } from "./messages.ts";
import { type Question, QuestionQueue } from "./question-queue.ts";
import { type Answered, ReaderThread, type ReaderThreadOptions } from "./reader-thread.ts";

/**
 * One reads a long report while the other answers everybody else: a principal has one report read at a time. The second is
 * started when it is needed.
 */
export const THREADS_MAX = 2;
/** Reports that may wait, of all principals. */
const REPORTS_WAITING_MAX = 1000;
/** Reports of one principal that may wait. A page asks fewer than ten at once. */
const REPORTS_WAITING_PER_ASKER_MAX = 50;
/** Look-ups go before reports and take a few milliseconds. */
const LOOKUPS: ReadonlySet<QuestionKind> = new Set<QuestionKind>([
  "loadLastUsed",
  "listRecorded",
  "findEvent",
]);
const LOOKUPS_WAITING_MAX = 1000;
/** Refusals come in crowds: one line in the log stands for those of this long. */
const REFUSAL_LOG_INTERVAL_MS = 60_000;
const RETRY_AFTER_SECONDS = 5;

/** One that waits for an answer. */
interface Asker {
  readonly askerId: string;
  // A method, so that one that takes only the answer of its own question fits: the Worker answers what it was asked.
  resolve(answer: AnswerOf<QuestionKind>): void;
  readonly reject: (cause: unknown) => void;
}

export interface ReaderClientOptions<Place extends object> extends ReaderThreadOptions<Place> {
  /** How long an answer may take, the wait for its turn included; null for ever. */
  readonly waitMsMax: number | null;
}

export interface AskOptions {
  readonly signal?: AbortSignal | undefined;
  /** The principal that asks; those without one are one. */
  readonly askerId?: string | undefined;
  /** Waited for before the question takes its place in the queue; counted and abortable like the rest of the wait. */
  readonly before?: () => Promise<unknown>;
}

/**
 * Asks the reader Workers: look-ups first, reports in turn by the principals that ask. Equal questions that wait are asked
 * once; one that is being read may be older than what its next asker has seen end, so that it is not shared any more. Throws
 * `reports_busy` for one that is too many or waits too long. The Workers' refusals arrive as they were thrown; whatever else
 * goes wrong is `internal_error`.
 */
export class ReaderClient<Place extends object> {
  readonly #options: ReaderClientOptions<Place>;
  readonly #threads: readonly ReaderThread<Asker, Place>[];
  /** What waits for something else before it is queued. */
  readonly #arriving = new Set<Asker>();
  readonly #reports: Waiting = { queue: new QuestionQueue(), askers: new Set() };
  readonly #lookups: Waiting = { queue: new QuestionQueue(), askers: new Set() };
  #isStopped = false;
  #refusalLoggedMs = Number.NEGATIVE_INFINITY;

  constructor(options: ReaderClientOptions<Place>) {
    this.#options = options;
    this.#threads = Array.from(
      { length: THREADS_MAX },
      () =>
        new ReaderThread<Asker, Place>(options, {
          onAnswer: (question, reply) => this.#settle(question, reply),
          onFree: () => this.#askNext(),
        }),
    );
  }

  /**
   * Aborting rejects at once with the signal's reason: a question that waits is never asked, one that is being read ends
   * before its next statement, unless others wait for it.
   */
  async ask<Kind extends QuestionKind>(
    asked: AskedAs<Kind>,
    { signal, before, askerId = "" }: AskOptions = {},
  ): Promise<AnswerOf<Kind>> {
    signal?.throwIfAborted();
    const waiting = LOOKUPS.has(asked.kind) ? this.#lookups : this.#reports;
    this.#refuseTooMany(waiting, askerId);
    const { promise, resolve, reject } = Promise.withResolvers<AnswerOf<Kind>>();
    const asker: Asker = { askerId, resolve, reject };
    waiting.askers.add(asker);
    const leave = (reason: unknown) => {
      reject(reason);
      waiting.askers.delete(asker);
      this.#arriving.delete(asker);
      waiting.queue.drop(asker);
      for (const thread of this.#threads) thread.drop(asker);
    };
    const onAbort = () => leave(signal?.reason);
    signal?.addEventListener("abort", onAbort);
    const { waitMsMax } = this.#options;
    const timer = waitMsMax === null ? null : setTimeout(() => leave(toBusy()), waitMsMax);
    const enqueue = () => this.#enqueue(waiting.queue, asker, asked);
    if (before === undefined) enqueue();
    else void this.#enqueueAfter(before, asker, enqueue);
    try {
      return await promise;
    } finally {
      if (timer !== null) clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      waiting.askers.delete(asker);
    }
  }

  /** Askers that were not answered yet. */
  get waitingCount(): number {
    return this.#reports.askers.size + this.#lookups.askers.size;
  }

  async stop(waitMsMax?: number): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#threads.map((thread) => thread.stop(waitMsMax)));
    for (const { askers, queue } of [this.#reports, this.#lookups]) {
      queue.clear();
      for (const { reject } of askers) reject(toRefusal("The report could not be read. Try again."));
      askers.clear();
    }
    this.#arriving.clear();
  }

  #refuseTooMany({ askers }: Waiting, askerId: string): void {
    const isLookup = askers === this.#lookups.askers;
    const isFull = askers.size >= (isLookup ? LOOKUPS_WAITING_MAX : REPORTS_WAITING_MAX);
    const countOfAsker = () => [...askers].filter((one) => one.askerId === askerId).length;
    if (!isFull && (isLookup || countOfAsker() < REPORTS_WAITING_PER_ASKER_MAX)) return;
    const nowMs = performance.now();
    if (nowMs - this.#refusalLoggedMs >= REFUSAL_LOG_INTERVAL_MS) {
      this.#refusalLoggedMs = nowMs;
      this.#options.log.warn("usage reader: too many questions are waiting, more are refused", {
        waiting: askers.size,
      });
    }
    throw toBusy();
  }

  async #enqueueAfter(before: () => Promise<unknown>, asker: Asker, enqueue: () => void): Promise<void> {
    this.#arriving.add(asker);
    try {
      await before();
      if (this.#arriving.has(asker)) enqueue();
    } catch (cause) {
      asker.reject(cause);
    } finally {
      this.#arriving.delete(asker);
    }
  }

  #enqueue(queue: QuestionQueue<Asker>, asker: Asker, asked: Asked<QuestionKind>): void {
    if (this.#isStopped) return asker.reject(toRefusal("The report could not be read. Try again."));
    if (this.#threads.every((thread) => !thread.isUsable)) {
      return asker.reject(toRefusal("The report could not be read. Try again later."));
    }
    queue.add(asker, asked);
    this.#askNext();
  }

  /** A second thread is not started for a principal that has a report read by the first. */
  #askNext(): void {
    if (this.#isStopped) return;
    const isAllowed = (askerId: string) =>
      this.#threads.every(({ reading }) => reading?.isLookup !== false || reading.askerId !== askerId);
    for (const thread of this.#threads) {
      while (thread.reading === null) {
        const isLookup = !this.#lookups.queue.isEmpty;
        const { queue } = isLookup ? this.#lookups : this.#reports;
        const next = queue.next(isLookup ? () => true : isAllowed);
        if (next === null || !thread.isUsable) break;
        queue.take(next);
        if (!thread.ask({ ...next, isLookup })) {
          for (const { reject } of next.question.askers) reject(toRefusal("The report could not be read."));
        }
      }
    }
  }

  #settle({ askers }: Question<Asker>, reply: Answered | null): void {
    for (const asker of askers) {
      if (reply === null) {
        asker.reject(toRefusal("The report could not be read. Try again."));
      } else if (reply.kind === "answer") {
        asker.resolve(reply.answer);
      } else if (reply.kind === "refused") {
        const { code, message, param } = reply;
        asker.reject(new ProxyError(code, message, param === null ? {} : { param }));
      } else {
        asker.reject(toRefusal("The report could not be read."));
      }
    }
    if (reply?.kind === "failed") this.#options.log.error("usage reader: a query failed", reply.fields);
  }
}

/** The questions of one kind that wait, and all that were asked and not answered. */
interface Waiting {
  readonly queue: QuestionQueue<Asker>;
  readonly askers: Set<Asker>;
}

function toRefusal(message: string): ProxyError {
  return new ProxyError("internal_error", message);
}

function toBusy(): ProxyError {
  return new ProxyError(
    "reports_busy",
    "Too many reports are being made, or this one takes too long: try again, or narrow its window.",
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
}
