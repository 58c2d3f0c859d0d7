import { describeCause } from "#kernel/log.ts";
import type { JournalPosition } from "#storage/journal/segments.ts";
import type { WorkerChannel } from "#storage/threads/worker-server.ts";
import type {
  MaintenancePass,
  WriterEvent,
  WriterStart,
  WriterTasks,
} from "#storage/threads/writer-tasks.ts";
import { WatermarkSums, type ReadOfMoment } from "./watermark-sums.ts";
import { UsageWriter } from "./writer.ts";
import { SupersededError, type WriterEngine } from "./writer-engine.ts";

/** How long another's lock, a full disk or a database that is away is left alone before the next attempt. */
const RETRY_INTERVAL_MS = 100;
/** How soon a server that is superseded knows, also while it has nothing to write. */
const HEARTBEAT_INTERVAL_MS = 500;
/** A cause that stays is reported at most this often. */
const REPORT_INTERVAL_MS = 30_000;

/** What a writer Worker has open. */
export interface WriterConnection extends WriterEngine {
  readonly readOfMoment: ReadOfMoment;
  /**
   * Says that the server is there, and tells how far the journal is in the ledger; null when that is not this server's any
   * more.
   */
  beat(): Promise<JournalPosition | null>;
  /**
   * Fulfilled when all that is due is committed. `addJob` runs steps between batches: each tells whether there is more to do,
   * and is made again when it has failed.
   */
  maintain(pass: MaintenancePass, addJob: AddJob): Promise<void>;
  /** Puts the database back under its name; it is opened anew afterwards. */
  restoreFile?(): void;
  /** Ends maintenance after the step that is under way. */
  stop?(): void;
  close(end: { readonly isSuperseded: boolean }): Promise<void> | void;
}

type AddJob = (step: () => boolean) => Promise<void>;

interface Job {
  /** Whether there is more to do. */
  readonly step: (writer: UsageWriter) => Promise<boolean> | boolean;
  readonly done: () => void;
}

export interface WriterLoopOptions {
  readonly start: WriterStart;
  readonly channel: WorkerChannel<WriterEvent>;
  readonly open: () => Promise<WriterConnection> | WriterConnection;
  /** See `WriterOptions.onSetBack`. */
  readonly onSetBack?: (setBack: { readonly isKept: boolean }) => void;
}

/** What a writer Worker does: one transaction at a time, the journal first. In between, messages are taken in. */
export class WriterLoop {
  readonly tasks = {
    wake: () => this.#wake(),
    flush: () => this.#add(() => false),
    saveKeyUse: (uses) =>
      this.#add(async (to) => {
        await to.saveKeyUse(uses);
        return false;
      }),
    maintain: async (pass) => {
      await this.#add((to) => {
        to.trimSegments();
        return false;
      });
      await this.#connection?.maintain(pass, (step) => this.#add(step));
    },
    sumLimits: (asked) => {
      const sums = this.#watermarks.ask(asked);
      this.#wake();
      return sums;
    },
    restoreFile: () => this.#add(() => this.#restoreFile()),
  } satisfies WriterTasks;
  readonly #options: WriterLoopOptions;
  readonly #startedMs = performance.now();
  readonly #watermarks: WatermarkSums;
  readonly #jobs: Job[] = [];
  readonly #heartbeat: ReturnType<typeof setInterval>;
  #connection: WriterConnection | null = null;
  #writer: UsageWriter | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isBeating = false;
  #running: Promise<void> | null = null;
  /** Since an attempt failed and until one succeeds: the pace is the retry's then, whatever comes in. */
  #isFailing = false;
  #reportedMs = Number.NEGATIVE_INFINITY;
  /** Something came in that the attempt under way may not have seen. */
  #isWanted = false;
  #isSuperseded = false;
  #isOver = false;

  constructor(options: WriterLoopOptions) {
    this.#options = options;
    this.#watermarks = new WatermarkSums(options.start.serverRun);
    this.#heartbeat = setInterval(() => void this.#beat(), HEARTBEAT_INTERVAL_MS);
    this.#wake();
  }

  async close(): Promise<void> {
    this.#stop();
    // What is under way has limits of its own.
    await this.#running;
    this.#writer?.close();
    await this.#connection?.close({ isSuperseded: this.#isSuperseded });
  }

  /** A job is answered after its last step. */
  #add(step: Job["step"]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#jobs.push({ step, done: resolve });
    this.#wake();
    return promise;
  }

  /** An attempt that succeeds after failures looks once more for what has come in. */
  #wake(): void {
    if (!this.#isFailing) this.#schedule(0);
    else if (this.#running !== null) this.#isWanted = true;
  }

  #schedule(delayMs: number): void {
    if (this.#isOver) return;
    if (this.#running === null) this.#timer ??= setTimeout(() => this.#begin(), delayMs);
    else this.#isWanted = true;
  }

  #begin(): void {
    this.#timer = null;
    this.#running = this.#run().finally(() => {
      this.#running = null;
      if (this.#isFailing || this.#writer?.isHeldBack === true) this.#schedule(RETRY_INTERVAL_MS);
    });
  }

  /** One batch after the other until the journal's end, and one step of a job after each look that came to it. */
  async #run(): Promise<void> {
    do {
      this.#isWanted = false;
      try {
        const job = this.#jobs[0];
        const writer = await this.#open();
        if (await writer.writeBatch()) this.#isWanted = true;
        else if (job !== undefined && !writer.isHeldBack) await this.#runJob(job, writer);
        this.#succeeded();
      } catch (cause) {
        if (cause instanceof SupersededError) this.#standDown();
        else this.#failed(cause);
      }
      // An engine that answers at once would let no message in.
      await new Promise((resolve) => setImmediate(resolve));
    } while (this.#isWanted && !this.#isFailing && !this.#isOver);
  }

  async #runJob(job: Job, writer: UsageWriter): Promise<void> {
    this.#isWanted = true;
    if (await job.step(writer)) return;
    this.#jobs.shift();
    job.done();
  }

  /**
   * Looks whether the stored position is still the one that was committed. Also beside a batch, which waits longer for its
   * answer: a cut that nothing else tells of is noticed here.
   */
  async #beat(): Promise<void> {
    const at = this.#running === null ? this.#writer?.committed : undefined;
    if (this.#isBeating || this.#connection === null || this.#writer === null) return;
    this.#isBeating = true;
    try {
      const stored = await this.#connection.beat();
      const isMoved = stored?.segment !== at?.segment || stored?.offsetBytes !== at?.offsetBytes;
      // A batch that was committed meanwhile has moved it; it looks for itself.
      if (!isMoved || at === undefined || this.#running !== null || this.#writer?.committed !== at) return;
      this.#writer?.distrust();
      this.#schedule(0);
    } catch {
      // The next batch fails as well, and tells of it.
    } finally {
      this.#isBeating = false;
    }
  }

  #failed(cause: unknown): void {
    const { log, tell } = this.#options.channel;
    if (!this.#isFailing || performance.now() - this.#reportedMs > REPORT_INTERVAL_MS) {
      log.warn("usage writer: cannot write, trying again; events wait in the journal", describeCause(cause));
      this.#reportedMs = performance.now();
    }
    this.#isFailing = true;
    tell({ kind: "failed" });
  }

  #succeeded(): void {
    if (this.#isFailing) this.#options.channel.log.info("usage writer: goes on");
    this.#isFailing = false;
  }

  #standDown(): void {
    this.#isSuperseded = true;
    this.#stop();
    this.#options.channel.tell({ kind: "superseded" });
  }

  #stop(): void {
    this.#isOver = true;
    this.#connection?.stop?.();
    this.#watermarks.stop();
    if (this.#timer !== null) clearTimeout(this.#timer);
    clearInterval(this.#heartbeat);
  }

  async #open(): Promise<UsageWriter> {
    if (this.#writer !== null) return this.#writer;
    const { start, channel, open, onSetBack } = this.#options;
    const { log, tell } = channel;
    const connection = (this.#connection ??= await open());
    this.#writer = new UsageWriter({
      engine: connection,
      journalDirectory: start.journalDirectory,
      // Whether the server before may still add lines to it.
      isLive: (segment) =>
        segment < start.firstSegment && performance.now() < this.#startedMs + start.earlierLiveMs,
      onDamage: ({ lines, tornBytes }) =>
        log.warn("usage journal: unreadable lines were skipped", { lines, torn_bytes: tornBytes }),
      onWatermark: (watermark) =>
        this.#watermarks.begin(watermark, (script, signal) => connection.readOfMoment(script, signal)),
      onCommit: (commit) => tell({ kind: "committed", commit }),
      ...(onSetBack !== undefined && { onSetBack }),
    });
    return this.#writer;
  }

  #restoreFile(): boolean {
    if (this.#connection?.restoreFile === undefined) return false;
    this.#connection.restoreFile();
    this.#writer?.close();
    this.#writer = null;
    this.#connection = null;
    return false;
  }
}
