import type { InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Log } from "#kernel/log.ts";
import type { Page, Paged } from "#kernel/page.ts";
import type { RequestLogRow, StatsQuery } from "#stats/store.ts";
import type { ReaderCommand, ReaderReply } from "./messages.ts";
import { hasRoomForWorker, WorkerThread } from "./worker-thread.ts";

/** Queries run one after the other; more than this waiting are refused. */
const QUERIES_WAITING_MAX = 200;

type Answer = Exclude<ReaderReply, { kind: "ready" | "closed" }>;
type Query = Extract<ReaderCommand, { readonly id: number }>;

interface Waiting {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (cause: ProxyError) => void;
}

export interface ReaderClientOptions {
  readonly databasePath: string;
  readonly log: Log;
}

/** Asks the reader Worker, which is started at the first question. Refusals are `internal_error`. */
export class ReaderClient {
  readonly #options: ReaderClientOptions;
  readonly #waiting = new Map<number, Waiting>();
  #thread: WorkerThread<ReaderCommand, ReaderReply> | null = null;
  #lastId = 0;

  constructor(options: ReaderClientOptions) {
    this.#options = options;
  }

  async listRequests(query: StatsQuery, page: Page): Promise<Paged<RequestLogRow>> {
    const answer = await this.#ask((id) => ({ kind: "listRequests", id, query, page }));
    if (answer.kind !== "requests") throw new Error("the reader answered another question");
    return answer.value;
  }

  async loadLastUsed(ids: readonly string[]): Promise<ReadonlyMap<string, InstantUs>> {
    const answer = await this.#ask((id) => ({ kind: "loadLastUsed", id, ids }));
    if (answer.kind !== "lastUsed") throw new Error("the reader answered another question");
    return answer.value;
  }

  async stop(): Promise<void> {
    await this.#thread?.stop({ kind: "close" });
    this.#refuseAll();
  }

  #ask(toQuery: (id: number) => Query): Promise<Answer> {
    if (this.#waiting.size >= QUERIES_WAITING_MAX) {
      return Promise.reject(new ProxyError("internal_error", "Too many reports are being made. Try again."));
    }
    if (this.#thread?.isRunning === false) {
      return Promise.reject(new ProxyError("internal_error", "The report could not be read. Try again."));
    }
    if (this.#thread === null && !hasRoomForWorker()) {
      return Promise.reject(new ProxyError("internal_error", "Too many files are open. Try again later."));
    }
    this.#lastId += 1;
    const query = toQuery(this.#lastId);
    return new Promise((resolve, reject) => {
      this.#waiting.set(query.id, { resolve, reject });
      this.#thread ??= this.#startThread();
      this.#thread.post(query);
    });
  }

  #startThread(): WorkerThread<ReaderCommand, ReaderReply> {
    const { databasePath, log } = this.#options;
    const thread = new WorkerThread<ReaderCommand, ReaderReply>({
      name: "usage reader",
      url: new URL("./reader-worker.ts", import.meta.url),
      log,
      start: { kind: "start", databasePath },
      onReply: (reply) => this.#settle(reply),
      onEnded: (willRestart) => {
        if (!willRestart) this.#thread = null;
        // What killed it may have been the question: nobody asks it again but the caller.
        this.#refuseAll();
      },
      onRestart: () => {},
    });
    return thread;
  }

  #settle(reply: ReaderReply): void {
    if (reply.kind === "ready" || reply.kind === "closed") return;
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (reply.kind === "failed") {
      this.#options.log.error("usage reader: a query failed", reply.fields);
      waiting?.reject(new ProxyError("internal_error", "The report could not be read."));
    } else {
      waiting?.resolve(reply);
    }
  }

  #refuseAll(): void {
    for (const { reject } of this.#waiting.values()) {
      reject(new ProxyError("internal_error", "The report could not be read. Try again."));
    }
    this.#waiting.clear();
  }
}
