import { ProxyError } from "#kernel/errors.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import type { ReportOptions } from "#stats/store.ts";
import type { AnswerOf, QuestionOf, ReportName } from "#storage/reports/reports.ts";
import { TaskFailedError, WorkerClient, WorkerEndedError } from "./worker-client.ts";

/**
 * Reader Workers: one reads a long report while the other answers the other principals, since each has one report read at a
 * time. The second is started when it is needed.
 */
export const THREADS_MAX = 2;
/** Reports that may wait, of all principals. */
const REPORTS_WAITING_MAX = 1000;
/** Reports of one principal that may wait. A page asks fewer than ten at once. */
const REPORTS_WAITING_PER_ASKER_MAX = 50;
const LOOKUPS: ReadonlySet<ReportName> = new Set<ReportName>([
  "loadLastUsed",
  "listRecorded",
  "findEvent",
  "findRepricing",
  "listRepricings",
]);
const LOOKUPS_WAITING_MAX = 1000;
/** Refusals come in crowds: one line in the log stands for those of this long. */
const REFUSAL_LOG_INTERVAL_MS = 60_000;
const RETRY_AFTER_SECONDS = 5;

/** The start of a reader Worker, beside where the database is. */
export interface ReaderStart {
  /** One number in memory of both threads: 1 once the question that is being read has no asker any more. */
  readonly left: Int32Array<SharedArrayBuffer>;
}

export interface ReaderClientOptions {
  /** The file of the engine's reader Worker. */
  readonly workerUrl: URL;
  /** Opens the Worker beside `ReaderStart`: where the database is. */
  readonly place: object;
  readonly log: Log;
  /** The time that an answer may take, the wait for its turn included; null for ever. */
  readonly waitMsMax: number | null;
}

export interface AskOptions extends ReportOptions {
  /** The question is queued when this is fulfilled; the wait for it counts, and can be aborted, like the rest. */
  readonly before?: () => Promise<unknown>;
}

/** A reader Worker and the one question that it reads. */
interface Thread extends ReaderStart {
  readonly worker: WorkerClient<ReaderTasks, ReaderStart>;
  /** Stays until the answer comes, even when its askers have left. */
  reading: Turn | null;
}

/** Only `ask` knows which question has which answer: in the queue they are all alike. */
type ReaderTasks = { readonly [Name in ReportName]: (question: unknown) => never };

/**
 * Asks the reader Workers: look-ups first, reports in turn by the principals that ask. Equal questions that wait are asked
 * once; one that is being read may be older than what its next asker has seen end, so that it is not shared any more. Throws
 * `reports_busy` for one that is too many or waits too long. The Workers' refusals arrive as they were thrown; whatever else
 * goes wrong is `internal_error`.
 */
export class ReaderClient {
  readonly #options: ReaderClientOptions;
  readonly #threads: readonly Thread[];
  readonly #queue = new QuestionQueue();
  /** Askers that were not answered yet, also of what is not queued yet and of what is read. */
  readonly #askers = new Set<Asker>();
  #isStopped = false;
  #refusalLoggedMs = Number.NEGATIVE_INFINITY;

  constructor(options: ReaderClientOptions) {
    this.#options = options;
    this.#threads = Array.from({ length: THREADS_MAX }, () => this.#createThread());
  }

  /**
   * Aborting rejects at once with the signal's reason: a question that waits is never asked, one that is being read ends
   * before its next statement, unless others wait for it.
   */
  async ask<Name extends ReportName>(
    name: Name,
    question: QuestionOf<Name>,
    { signal, before, askerId = "" }: AskOptions = {},
  ): Promise<AnswerOf<Name>> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<AnswerOf<Name>>();
    const asker: Asker = { askerId, isLookup: LOOKUPS.has(name), resolve, reject };
    this.#refuseTooMany(asker);
    this.#askers.add(asker);
    const leave = (reason: unknown) => {
      reject(reason);
      this.#askers.delete(asker);
      this.#queue.drop(asker);
      this.#leaveThreads(asker);
    };
    const onAbort = () => leave(signal?.reason);
    signal?.addEventListener("abort", onAbort);
    const { waitMsMax } = this.#options;
    const timer = waitMsMax === null ? null : setTimeout(() => leave(toBusy()), waitMsMax);
    try {
      if (before !== undefined) await Promise.race([before(), promise]);
      if (this.#askers.has(asker)) this.#enqueue(asker, { name, question });
      return await promise;
    } finally {
      if (timer !== null) clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      this.#askers.delete(asker);
    }
  }

  /** Askers that were not answered yet. */
  get waitingCount(): number {
    return this.#askers.size;
  }

  /** Refuses what waits, and each question from then on. */
  async stop(waitMsMax?: number): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#threads.map(({ worker }) => worker.stop(waitMsMax)));
    this.#queue.clear();
    for (const { reject } of this.#askers) reject(toRefusal("The report could not be read. Try again."));
    this.#askers.clear();
  }

  #createThread(): Thread {
    const { workerUrl, place, log } = this.#options;
    const left = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const worker = new WorkerClient<ReaderTasks, ReaderStart>({
      name: "usage reader",
      url: workerUrl,
      log,
      start: { ...place, left },
      onRestart: () => this.#askNext(),
    });
    return { worker, left, reading: null };
  }

  /** Ends the report that is read for this asker alone, before its next statement. */
  #leaveThreads(asker: Asker): void {
    for (const { reading, left } of this.#threads) {
      const askers = reading?.question.askers;
      if (askers?.delete(asker) === true && askers.size === 0) Atomics.store(left, 0, 1);
    }
  }

  #refuseTooMany({ askerId, isLookup }: Asker): void {
    const alike = [...this.#askers].filter((one) => one.isLookup === isLookup);
    const isFull = alike.length >= (isLookup ? LOOKUPS_WAITING_MAX : REPORTS_WAITING_MAX);
    const countOfAsker = () => alike.filter((one) => one.askerId === askerId).length;
    if (!isFull && (isLookup || countOfAsker() < REPORTS_WAITING_PER_ASKER_MAX)) return;
    const nowMs = performance.now();
    if (nowMs - this.#refusalLoggedMs >= REFUSAL_LOG_INTERVAL_MS) {
      this.#refusalLoggedMs = nowMs;
      this.#options.log.warn("usage reader: too many questions are waiting, more are refused", {
        waiting: alike.length,
      });
    }
    throw toBusy();
  }

  #enqueue(asker: Asker, asked: Asked): void {
    if (this.#threads.every(({ worker }) => !worker.isUsable)) {
      return asker.reject(toRefusal("The report could not be read. Try again later."));
    }
    this.#queue.add(asker, asked);
    this.#askNext();
  }

  /** Gives free threads the next questions. A principal that has a report read gets no second thread. */
  #askNext(): void {
    if (this.#isStopped) return;
    const isAllowed = ({ isLookup, askerId }: Asker) =>
      isLookup ||
      this.#threads.every(
        ({ reading }) => reading?.asker.isLookup !== false || reading.asker.askerId !== askerId,
      );
    for (const thread of this.#threads) {
      if (thread.reading !== null) continue;
      const next = this.#queue.next(isAllowed);
      if (next === null || !thread.worker.isUsable) continue;
      this.#queue.take(next);
      void this.#read(thread, next);
    }
  }

  async #read(thread: Thread, reading: Turn): Promise<void> {
    const { askers, asked } = reading.question;
    thread.reading = reading;
    Atomics.store(thread.left, 0, 0);
    try {
      const answer = await thread.worker.ask(asked.name, asked.question);
      for (const asker of askers) asker.resolve(answer);
    } catch (cause) {
      for (const { reject } of askers) reject(toReason(cause));
      // A report whose askers have left ends by throwing, which is no failure.
      if (askers.size > 0) this.#tell(cause);
    }
    thread.reading = null;
    this.#askNext();
  }

  #tell(cause: unknown): void {
    const { log } = this.#options;
    if (cause instanceof TaskFailedError) log.error("usage reader: a query failed", cause.fields);
    else if (!(cause instanceof ProxyError || cause instanceof WorkerEndedError))
      log.error("usage reader: a question could not be asked", describeCause(cause));
  }
}

function toReason(cause: unknown): ProxyError {
  if (cause instanceof ProxyError) return cause;
  // The question may be what has ended the Worker: only its askers ask it again.
  const hint = cause instanceof WorkerEndedError ? " Try again." : "";
  return toRefusal(`The report could not be read.${hint}`);
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

/** A question with the name of its report. */
interface Asked {
  readonly name: ReportName;
  readonly question: unknown;
}

/** A caller that waits for an answer. */
interface Asker {
  /** The principal that asks. */
  readonly askerId: string;
  /** Look-ups go before reports and take a few milliseconds. */
  readonly isLookup: boolean;
  /** Takes the answer of its own question: the Worker answers what it was asked. */
  readonly resolve: (answer: never) => void;
  readonly reject: (cause: unknown) => void;
}

/** A question that is asked once, however many askers want its answer. */
interface Question {
  /** Equal for questions that have the same answer. */
  readonly key: string;
  /** The newest asker's form: its "now" is the latest, so that no asker gets an answer of before its question. */
  asked: Asked;
  readonly askers: Set<Asker>;
}

/** A question, and the asker whose turn it is. */
interface Turn {
  readonly question: Question;
  readonly asker: Asker;
}

/**
 * Keeps the questions that wait. Look-ups come first, in the order of asking, and reports in turn by principal: one that asks
 * many holds up its own. Equal questions are one, which comes at the first turn of any of its askers.
 */
export class QuestionQueue {
  /** By their keys, in the order of asking. */
  readonly #questions = new Map<string, Question>();
  /** When each principal had its last turn, or began to wait, since the queue was empty: the lowest number is next. */
  readonly #turns = new Map<string, number>();
  #lastTurn = 0;

  add(asker: Asker, asked: Asked): void {
    const key = toKey(asked);
    const question = this.#questions.get(key) ?? { key, asked, askers: new Set<Asker>() };
    question.asked = asked;
    question.askers.add(asker);
    this.#questions.set(key, question);
    if (!this.#turns.has(asker.askerId)) this.#pass(asker.askerId);
  }

  /** The next question among those of askers that may have one; null when there is none. */
  next(isAllowed: (asker: Asker) => boolean): Turn | null {
    let next: Turn | null = null;
    let first = Number.POSITIVE_INFINITY;
    for (const question of this.#questions.values())
      for (const asker of question.askers) {
        const turn = asker.isLookup ? 0 : (this.#turns.get(asker.askerId) ?? 0);
        if (turn >= first || !isAllowed(asker)) continue;
        next = { question, asker };
        first = turn;
      }
    return next;
  }

  /** Removes the question of a turn; its principal comes last now, unless it has only looked something up. */
  take({ question, asker }: Turn): void {
    this.#remove(question);
    if (!asker.isLookup && this.#questions.size > 0) this.#pass(asker.askerId);
  }

  /** Removes an asker, and its question when no other asker waits for it. */
  drop(asker: Asker): void {
    for (const question of this.#questions.values())
      if (question.askers.delete(asker)) {
        if (question.askers.size === 0) this.#remove(question);
        return;
      }
  }

  clear(): void {
    this.#questions.clear();
    this.#turns.clear();
  }

  #pass(askerId: string): void {
    this.#lastTurn += 1;
    this.#turns.set(askerId, this.#lastTurn);
  }

  #remove({ key }: Question): void {
    this.#questions.delete(key);
    if (this.#questions.size === 0) this.#turns.clear();
  }
}

/** The key leaves "now" out: questions that differ in it alone have one answer, as of the newest. */
function toKey(asked: Asked): string {
  return JSON.stringify(asked, (field, value: unknown) => {
    if (field === "nowUs") return undefined;
    // JSON has no spelling for the amounts of limits.
    if (typeof value === "bigint") return value.toString();
    return value instanceof Map ? [...value] : value;
  });
}
