import type { InstantUs } from "#kernel/clock.ts";
import type { Log } from "#kernel/log.ts";
import type { LedgerGauges } from "#usage/gauges.ts";
import type { LimitQuestion, LimitSum } from "#limits/limit-sums.ts";
import type { Commit, MaintenanceLook, WriterCommand, WriterReply, WriterStart } from "./messages.ts";
import { WorkerThread } from "./worker-thread.ts";

/**
 * The pace of batches: what came in between goes into one transaction. Every 50 ms cost a third more processor time an
 * event at 20,000 a second (measured); reports ask for a batch of their own.
 */
const BATCH_INTERVAL_MS = 150;

type Command = WriterCommand<object>;
type Request = Exclude<Extract<Command, { readonly id: number }>, { readonly kind: "sumLimits" }>;

type WriterGauges = Pick<LedgerGauges, "combinations" | Extract<keyof LedgerGauges, `writer${string}`>>;

interface Waiting {
  readonly command: Request;
  readonly resolve: () => void;
}

export interface WriterClientOptions<Place extends object> {
  /** The file of the engine's writer Worker. */
  readonly workerUrl: URL;
  readonly start: WriterStart & Place;
  readonly log: Log;
  readonly onCommit: (commit: Commit) => void;
  /** Called when the Worker has died: a commit may have been made that nothing was heard of. */
  readonly onEnded: () => void;
  /** Called once another server has the ledger: nothing is written any more. */
  readonly onSuperseded: () => void;
}

/** The data plane's end of the writer Worker. Commands not yet answered are asked again of a Worker that was started again. */
export class WriterClient<Place extends object> {
  readonly #thread: WorkerThread<WriterCommand<Place>, WriterReply>;
  readonly #waiting = new Map<number, Waiting>();
  readonly #sums = new Map<number, PromiseWithResolvers<readonly LimitSum[]>>();
  #lastId = 0;
  #wakeTimer: ReturnType<typeof setTimeout> | null = null;
  #keyUse = new Map<string, InstantUs>();
  #savingKeyUse: ReadonlyMap<string, InstantUs> | null = null;
  #keyUseSaved: Promise<void> = Promise.resolve();
  #commitCount = 0;
  #eventCount = 0;
  #failureCount = 0;
  #lastCommit: Commit | null = null;

  constructor(options: WriterClientOptions<Place>) {
    const { workerUrl, start, log, onCommit, onEnded, onSuperseded } = options;
    this.#thread = new WorkerThread({
      name: "usage writer",
      url: workerUrl,
      log,
      start: { kind: "start", ...start },
      onReply: (reply) => {
        if (reply.kind === "done") this.#settle(reply.id);
        else if (reply.kind === "summed") this.#settleSums(reply.id, reply.sums);
        else if (reply.kind === "unsummed") this.#rejectSum(reply.id, reply.reason);
        else if (reply.kind === "superseded") onSuperseded();
        else if (reply.kind === "failed") this.#failureCount += 1;
        else if (reply.kind === "committed") {
          this.#count(reply.commit);
          onCommit(reply.commit);
        } else if (reply.kind === "report") log[reply.level](reply.message, reply.fields);
      },
      // Every other command may be given twice: none is answered before its transaction is committed.
      onEnded: () => {
        this.#rejectSums();
        onEnded();
      },
      onRestart: () => {
        this.#thread.post({ kind: "wake" });
        for (const { command } of this.#waiting.values()) this.#thread.post(command);
      },
    });
  }

  ready(): Promise<void> {
    return this.#thread.ready();
  }

  get isRunning(): boolean {
    return this.#thread.isRunning;
  }

  /** Since the process started, over every Worker that there was. */
  gauges(): WriterGauges {
    return {
      writerRunning: this.#thread.isRunning,
      writerCommits: this.#commitCount,
      writerEvents: this.#eventCount,
      writerFailures: this.#failureCount,
      writerLastCommitMs: this.#lastCommit?.durationMs ?? 0,
      combinations: this.#lastCommit?.combinations ?? 0,
    };
  }

  wake(): void {
    this.#wakeTimer ??= setTimeout(() => {
      this.#wakeTimer = null;
      this.#thread.post({ kind: "wake" });
    }, BATCH_INTERVAL_MS);
  }

  flush(): Promise<void> {
    return this.#ask((id) => ({ kind: "flush", id }));
  }

  maintain(look: MaintenanceLook): Promise<void> {
    return this.#ask((id) => ({ kind: "maintain", id, ...look }));
  }

  putBack(): Promise<void> {
    return this.#ask((id) => ({ kind: "putBack", id }));
  }

  /**
   * What has ended before the journal's line of this mark. Rejects when the ledger could not add it up, or the Worker has died
   * meanwhile: its place may be passed.
   */
  sumLimits(mark: number, question: LimitQuestion): Promise<readonly LimitSum[]> {
    this.#lastId += 1;
    const waiting = Promise.withResolvers<readonly LimitSum[]>();
    this.#sums.set(this.#lastId, waiting);
    this.#thread.post({ kind: "sumLimits", id: this.#lastId, mark, question });
    return waiting.promise;
  }

  saveKeyUse(keyId: string, atUs: InstantUs): void {
    this.#keyUse.set(keyId, atUs);
    if (this.#savingKeyUse === null) this.#keyUseSaved = this.#saveKeyUse();
  }

  /** Fulfilled when every key use that was handed over is committed. */
  keyUseSaved(): Promise<void> {
    return this.#keyUseSaved;
  }

  /** What was handed over and is perhaps not committed yet: it counts from that moment on. */
  findUnsavedKeyUse(ids: readonly string[]): ReadonlyMap<string, InstantUs> {
    const unsaved = new Map<string, InstantUs>();
    for (const id of ids) {
      const atUs = this.#keyUse.get(id) ?? this.#savingKeyUse?.get(id);
      if (atUs !== undefined) unsaved.set(id, atUs);
    }
    return unsaved;
  }

  async stop(waitMsMax?: number): Promise<void> {
    if (this.#wakeTimer !== null) clearTimeout(this.#wakeTimer);
    await this.#thread.stop({ kind: "close" }, waitMsMax);
    this.#rejectSums();
  }

  async #saveKeyUse(): Promise<void> {
    while (this.#keyUse.size > 0) {
      const uses = this.#keyUse;
      this.#savingKeyUse = uses;
      this.#keyUse = new Map();
      await this.#ask((id) => ({ kind: "saveKeyUse", id, uses: [...uses] }));
      this.#savingKeyUse = null;
    }
  }

  #ask(toCommand: (id: number) => Request): Promise<void> {
    this.#lastId += 1;
    const command = toCommand(this.#lastId);
    return new Promise((resolve) => {
      this.#thread.post(command);
      this.#waiting.set(command.id, { command, resolve });
    });
  }

  #count(commit: Commit): void {
    this.#commitCount += 1;
    this.#eventCount += commit.eventIds.length;
    this.#lastCommit = commit;
  }

  #settleSums(id: number, sums: readonly LimitSum[]): void {
    this.#sums.get(id)?.resolve(sums);
    this.#sums.delete(id);
  }

  #rejectSum(id: number, reason: string): void {
    this.#sums.get(id)?.reject(new Error(`what was used could not be added up: ${reason}`));
    this.#sums.delete(id);
  }

  #rejectSums(): void {
    for (const { reject } of this.#sums.values()) reject(new Error("the usage writer ended"));
    this.#sums.clear();
  }

  #settle(id: number): void {
    this.#waiting.get(id)?.resolve();
    this.#waiting.delete(id);
  }
}
