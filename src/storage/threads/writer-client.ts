import type { InstantUs } from "#kernel/clock.ts";
import { joinNext } from "#kernel/turns.ts";
import type { Log } from "#kernel/log.ts";
import type { LedgerGauges } from "#usage/gauges.ts";
import type { LimitSum } from "#limits/limit-sums.ts";
import type { WriterLoop } from "#storage/writer/writer-loop.ts";
import { WorkerClient } from "./worker-client.ts";
import type { Commit, WatermarkQuestion, WriterEvent, WriterStart } from "./writer-tasks.ts";

/**
 * The pace of batches: what came in between goes into one transaction. Every 50 ms cost a third more processor time an
 * event at 20,000 a second (measured); reports ask for a batch of their own.
 */
const BATCH_INTERVAL_MS = 150;

type WriterGauges = Pick<LedgerGauges, "combinations" | Extract<keyof LedgerGauges, `writer${string}`>>;

export interface WriterClientOptions {
  /** The file of the engine's writer Worker. */
  readonly workerUrl: URL;
  readonly start: WriterStart;
  /** Opens the Worker beside `start`: where the database is. */
  readonly place: object;
  readonly log: Log;
  readonly onCommit: (commit: Commit) => void;
  /** Called when the Worker has died: a commit may have been made that nothing was heard of. */
  readonly onEnded: () => void;
  /** Called once another server has the ledger: nothing is written any more. */
  readonly onSuperseded: () => void;
}

/**
 * The serving thread's end of the writer Worker. All but sums may be asked twice: nothing is answered before its transaction is
 * committed.
 */
export class WriterClient {
  readonly worker: WorkerClient<WriterLoop["tasks"], WriterStart, WriterEvent>;
  #wakeTimer: ReturnType<typeof setTimeout> | null = null;
  readonly #keyUse = new Map<string, InstantUs>();
  readonly #saveKeyUse = joinNext(async () => {
    const uses = [...this.#keyUse];
    await this.worker.askUntilAnswered("saveKeyUse", uses);
    for (const [id, atUs] of uses) if (this.#keyUse.get(id) === atUs) this.#keyUse.delete(id);
  });
  readonly #counts = {
    writerCommits: 0,
    writerEvents: 0,
    writerFailures: 0,
    writerLastCommitMs: 0,
    combinations: 0,
  };

  constructor({ workerUrl, start, place, log, onCommit, onEnded, onSuperseded }: WriterClientOptions) {
    this.worker = new WorkerClient({
      name: "usage writer",
      url: workerUrl,
      log,
      start: { ...start, ...place },
      onEvent: (event) => {
        if (event.kind === "superseded") onSuperseded();
        else if (event.kind === "failed") this.#counts.writerFailures += 1;
        else {
          this.#count(event.commit);
          onCommit(event.commit);
        }
      },
      onEnded,
      onRestart: () => this.worker.tell("wake"),
    });
  }

  /** Since the process started, over every Worker that there was. */
  gauges(): WriterGauges {
    return { writerRunning: this.worker.isRunning, ...this.#counts };
  }

  wake(): void {
    this.#wakeTimer ??= setTimeout(this.#tell, BATCH_INTERVAL_MS);
  }

  /** Not within `wake`, which would make a scope for it with each write of the journal. */
  readonly #tell = (): void => {
    this.#wakeTimer = null;
    this.worker.tell("wake");
  };

  /**
   * Adds up what has ended before the journal's line of this watermark. Rejects when the ledger could not do so, or the Worker
   * has died meanwhile: its place may be passed.
   */
  async sumLimits(asked: WatermarkQuestion): Promise<readonly LimitSum[]> {
    try {
      return await this.worker.ask("sumLimits", asked);
    } catch (cause) {
      throw new Error("what was used could not be added up", { cause });
    }
  }

  saveKeyUse(keyId: string, atUs: InstantUs): void {
    this.#keyUse.set(keyId, atUs);
    void this.#saveKeyUse();
  }

  /** Fulfilled when every key use that was handed over is committed. */
  keyUseSaved(): Promise<void> {
    return this.#keyUse.size === 0 ? Promise.resolve() : this.#saveKeyUse();
  }

  /** Key use that is perhaps not committed yet, by the key's id: it counts from the hand-over on. */
  get unsavedKeyUse(): ReadonlyMap<string, InstantUs> {
    return this.#keyUse;
  }

  async stop(waitMsMax?: number): Promise<void> {
    if (this.#wakeTimer !== null) clearTimeout(this.#wakeTimer);
    await this.worker.stop(waitMsMax);
  }

  #count({ eventIds, durationMs, combinations }: Commit): void {
    this.#counts.writerCommits += 1;
    this.#counts.writerEvents += eventIds.length;
    this.#counts.writerLastCommitMs = durationMs;
    this.#counts.combinations = combinations;
  }
}
