import { ProxyError } from "#kernel/errors.ts";
import type { Log } from "#kernel/log.ts";
import { describeCause } from "#kernel/log.ts";
import type { AnswerOf, Asked, AskedAs, QuestionKind, ReaderCommand, ReaderReply } from "./messages.ts";
import { hasRoomForWorker, WorkerThread } from "./worker-thread.ts";

/** Reports run one after the other; more than this waiting are refused. */
const QUERIES_WAITING_MAX = 1000;
/** Look-ups go before reports and take about a millisecond; more than this waiting are refused. */
const LOOKUPS_WAITING_MAX = 1000;
/** Refusals come in crowds: one line in the log stands for those of this long. */
const REFUSAL_LOG_INTERVAL_MS = 60_000;

interface Waiting {
  readonly id: number;
  readonly asked: Asked<QuestionKind>;
  // A method, so that one that takes only the answer of its own question fits: the Worker answers what it was asked.
  resolve(answer: AnswerOf<QuestionKind>): void;
  readonly reject: (cause: unknown) => void;
}

export interface ReaderClientOptions {
  /** The file of the engine's reader Worker. */
  readonly workerUrl: URL;
  readonly databasePath: string;
  readonly log: Log;
}

export interface AskOptions {
  readonly signal?: AbortSignal | undefined;
  /** Waited for before the question takes its place in the queue; counted and abortable like the rest of the wait. */
  readonly before?: () => Promise<unknown>;
}

/**
 * Asks the reader Worker, which is started at the first question, one question at a time: look-ups first, reports in the
 * order in which they came. Its refusals arrive as they were thrown; whatever else goes wrong is `internal_error`.
 */
export class ReaderClient {
  readonly #options: ReaderClientOptions;
  /** What waits for something else before it is queued. */
  readonly #arriving = new Set<Waiting>();
  readonly #reports: Waiting[] = [];
  readonly #lookups: Waiting[] = [];
  /** What the Worker is reading; it stays until the answer comes, even when the caller has gone. */
  #current: Waiting | null = null;
  #thread: WorkerThread<ReaderCommand, ReaderReply> | null = null;
  #lastId = 0;
  #isStopped = false;
  #refusalLoggedMs = Number.NEGATIVE_INFINITY;

  constructor(options: ReaderClientOptions) {
    this.#options = options;
  }

  /**
   * Aborting rejects at once with the signal's reason: a question that waits is never asked, the answer of one that is being
   * read is dropped.
   */
  async ask<Kind extends QuestionKind>(
    asked: AskedAs<Kind>,
    { signal, before }: AskOptions = {},
  ): Promise<AnswerOf<Kind>> {
    signal?.throwIfAborted();
    this.#refuseTooMany(asked.kind);
    this.#lastId += 1;
    const { promise, resolve, reject } = Promise.withResolvers<AnswerOf<Kind>>();
    const waiting: Waiting = { id: this.#lastId, asked, resolve, reject };
    const onAbort = () => {
      reject(signal?.reason);
      this.#drop(waiting);
    };
    signal?.addEventListener("abort", onAbort);
    if (before === undefined) this.#enqueue(waiting);
    else void this.#enqueueAfter(before, waiting);
    try {
      return await promise;
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** Questions that were not answered yet, the one that is being read included. */
  get waitingCount(): number {
    const queued = this.#reports.length + this.#lookups.length;
    return this.#arriving.size + queued + (this.#current === null ? 0 : 1);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#thread?.stop({ kind: "close" });
    this.#refuseAll();
  }

  /** The question that is being read counts as a report, whatever it is. */
  #refuseTooMany(kind: QuestionKind): void {
    const isLookup = isLookupKind(kind);
    const waiting = isLookup ? this.#lookups.length : this.waitingCount - this.#lookups.length;
    if (waiting < (isLookup ? LOOKUPS_WAITING_MAX : QUERIES_WAITING_MAX)) return;
    const nowMs = performance.now();
    if (nowMs - this.#refusalLoggedMs >= REFUSAL_LOG_INTERVAL_MS) {
      this.#refusalLoggedMs = nowMs;
      this.#options.log.warn("usage reader: too many questions are waiting, more are refused", { waiting });
    }
    throw new ProxyError("internal_error", "Too many reports are being made. Try again.", { isLogged: true });
  }

  async #enqueueAfter(before: () => Promise<unknown>, waiting: Waiting): Promise<void> {
    this.#arriving.add(waiting);
    try {
      await before();
      if (this.#arriving.has(waiting)) this.#enqueue(waiting);
    } catch (cause) {
      waiting.reject(cause);
    } finally {
      this.#arriving.delete(waiting);
    }
  }

  #enqueue(waiting: Waiting): void {
    if (this.#isStopped || this.#thread?.isRunning === false) {
      waiting.reject(toRefusal("The report could not be read. Try again."));
    } else if (this.#thread === null && !hasRoomForWorker()) {
      waiting.reject(toRefusal("Too many files are open. Try again later."));
    } else {
      (isLookupKind(waiting.asked.kind) ? this.#lookups : this.#reports).push(waiting);
      this.#askNext();
    }
  }

  #drop(waiting: Waiting): void {
    this.#arriving.delete(waiting);
    for (const queue of [this.#reports, this.#lookups]) {
      const index = queue.indexOf(waiting);
      if (index !== -1) queue.splice(index, 1);
    }
  }

  #askNext(): void {
    while (this.#current === null) {
      const next = this.#lookups.shift() ?? this.#reports.shift();
      if (next === undefined) return;
      try {
        this.#thread ??= this.#startThread();
        this.#thread.post({ kind: "ask", id: next.id, asked: next.asked });
        this.#current = next;
      } catch (cause) {
        this.#options.log.error("usage reader: a question could not be asked", describeCause(cause));
        next.reject(toRefusal("The report could not be read."));
      }
    }
  }

  #startThread(): WorkerThread<ReaderCommand, ReaderReply> {
    const { workerUrl, databasePath, log } = this.#options;
    const thread = new WorkerThread<ReaderCommand, ReaderReply>({
      name: "usage reader",
      url: workerUrl,
      log,
      start: { kind: "start", databasePath },
      onReply: (reply) => this.#settle(reply),
      onEnded: (willRestart) => {
        if (!willRestart) this.#thread = null;
        // What killed it may have been the question: only the caller asks it again.
        this.#refuseAll();
      },
      onRestart: () => {},
    });
    return thread;
  }

  #settle(reply: ReaderReply): void {
    if (reply.kind === "ready" || reply.kind === "closed") return;
    const current = this.#current;
    if (current === null || current.id !== reply.id) return;
    this.#current = null;
    if (reply.kind === "answer") {
      current.resolve(reply.answer);
    } else if (reply.kind === "refused") {
      const { code, message, param } = reply;
      current.reject(new ProxyError(code, message, param === null ? {} : { param }));
    } else {
      this.#options.log.error("usage reader: a query failed", reply.fields);
      current.reject(toRefusal("The report could not be read."));
    }
    this.#askNext();
  }

  #refuseAll(): void {
    const refused = [this.#current ?? [], ...this.#lookups, ...this.#reports].flat();
    this.#current = null;
    this.#lookups.length = 0;
    this.#reports.length = 0;
    if (this.#isStopped) {
      refused.push(...this.#arriving);
      this.#arriving.clear();
    }
    for (const { reject } of refused) reject(toRefusal("The report could not be read. Try again."));
  }
}

function isLookupKind(kind: QuestionKind): boolean {
  return kind === "loadLastUsed";
}

function toRefusal(message: string): ProxyError {
  return new ProxyError("internal_error", message);
}
