import { describeCause, type Log } from "#kernel/log.ts";
import type { Repricing } from "#stats/repricing.ts";
import type { MaintenancePass } from "#storage/cells/retention.ts";
import { serveWorker, type WorkerChannel } from "#storage/threads/worker-server.ts";
import type { WatermarkQuestion, WriterEvent, WriterStart } from "#storage/threads/writer-tasks.ts";
import { RepricingWriter, type StretchWrite } from "#storage/repricing/repricing-writer.ts";
import { WatermarkSums } from "./watermark-sums.ts";
import { type KeyUses, UsageWriter } from "./writer.ts";
import { SupersededError, type WriterEngine } from "./writer-engine.ts";

/** The pause before the next attempt, while another's lock is held, the disk is full or the database away. */
const RETRY_INTERVAL_MS = 100;
/** The time within which a superseded server knows, also while it has nothing to write. */
const HEARTBEAT_INTERVAL_MS = 500;
/** A cause that stays is reported at most this often. */
const REPORT_INTERVAL_MS = 30_000;

/** Throws when it is to be made again. */
type Job = (writer: UsageWriter, engine: WriterEngine) => Promise<void>;

export interface WriterLoopOptions {
  readonly start: WriterStart;
  readonly channel: WorkerChannel<WriterEvent>;
  readonly open: () => Promise<WriterEngine> | WriterEngine;
}

/** Serves a `WriterClient` with the connection of an engine, which is told where its database is beside `WriterStart`. */
export function serveWriter(open: (start: never, log: Log) => Promise<WriterEngine> | WriterEngine): void {
  serveWorker((start: never, channel: WorkerChannel<WriterEvent>) => {
    const loop = new WriterLoop({ start, channel, open: () => open(start, channel.log) });
    return { tasks: loop.tasks, close: () => loop.close() };
  });
}

/** The work of a writer Worker: one transaction at a time, the journal first. In between, messages are taken in. */
export class WriterLoop {
  readonly tasks = {
    /** New lines are in the journal. */
    wake: () => this.#wake(),
    /** Answered when everything that is in the journal now is committed. */
    flush: () => this.#add(() => {}),
    saveKeyUse: (uses: KeyUses) => this.#add((writer) => writer.saveKeyUse(uses)),
    /** Seals days, reads the clock and removes old rows, in slices between batches or beside them. Answered after the last. */
    maintain: async (pass: MaintenancePass) => {
      const engine = await this.#add((writer, opened) => {
        writer.trimSegments();
        return opened;
      });
      await engine.maintain(pass, (step) => this.#add((_, opened) => step(opened)));
    },
    createRepricing: (repricing: Repricing) => this.#repricings.create(repricing),
    saveRepricing: (saved: Parameters<RepricingWriter["save"]>[0]) => this.#repricings.save(saved),
    beginRepricing: (begun: Parameters<RepricingWriter["begin"]>[0]) => this.#repricings.begin(begun),
    claimRepricing: () => this.#repricings.claim(),
    writeStretch: (write: StretchWrite) => this.#repricings.write(write),
    /** Answered once the journal's line of the watermark is committed. */
    sumLimits: (asked: WatermarkQuestion) => {
      const sums = this.#watermarks.ask(asked);
      this.#wake();
      return sums;
    },
    /** The file of the database has lost its name: answered when it is back under it. */
    restoreFile: () => this.#add((_, engine) => this.#restoreFile(engine)),
  };
  readonly #options: WriterLoopOptions;
  readonly #startedMs = performance.now();
  readonly #watermarks: WatermarkSums;
  readonly #repricings = new RepricingWriter((step) => this.#add((_, opened) => step(opened)));
  readonly #jobs: Job[] = [];
  readonly #heartbeat: ReturnType<typeof setInterval>;
  #engine: WriterEngine | null = null;
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
    this.#watermarks = new WatermarkSums(options.start.firstSegment);
    this.#heartbeat = setInterval(() => void this.#beat(), HEARTBEAT_INTERVAL_MS);
    this.#wake();
  }

  async close(): Promise<void> {
    this.#stop();
    // A step that is under way has limits of its own.
    await this.#running;
    this.#writer?.close();
    await this.#engine?.close({ isSuperseded: this.#isSuperseded });
  }

  /** Adds a job behind those that wait. It is made again until it succeeds. */
  #add<Answer>(
    job: (writer: UsageWriter, engine: WriterEngine) => Answer | Promise<Answer>,
  ): Promise<Answer> {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.#jobs.push(async (writer, engine) => resolve(await job(writer, engine)));
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

  /** One batch after the other until the journal's end, and one job after each batch that came to it. */
  async #run(): Promise<void> {
    do {
      this.#isWanted = false;
      try {
        const job = this.#jobs[0];
        const { writer, engine } = await this.#open();
        if (await writer.writeBatch()) this.#isWanted = true;
        else if (job !== undefined && !writer.isHeldBack) {
          await job(writer, engine);
          this.#jobs.shift();
          this.#isWanted ||= this.#jobs.length > 0;
        }
        this.#succeeded();
      } catch (cause) {
        if (cause instanceof SupersededError) this.#standDown();
        else this.#failed(cause);
      }
      // An engine that answers at once would let no message in.
      await new Promise((resolve) => setImmediate(resolve));
    } while (this.#isWanted && !this.#isFailing && !this.#isOver);
  }

  /**
   * Looks whether the stored position is still the one that was committed. Also beside a batch, which waits longer for its
   * answer: a cut that nothing else tells of is noticed here.
   */
  async #beat(): Promise<void> {
    const at = this.#running === null ? this.#writer?.committed : undefined;
    if (this.#isBeating || this.#engine === null || this.#writer === null) return;
    this.#isBeating = true;
    try {
      const stored = await this.#engine.beat();
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
    this.#engine?.stop?.();
    this.#watermarks.stop();
    if (this.#timer !== null) clearTimeout(this.#timer);
    clearInterval(this.#heartbeat);
  }

  async #open(): Promise<{ readonly writer: UsageWriter; readonly engine: WriterEngine }> {
    const { start, channel, open } = this.#options;
    const { log, tell } = channel;
    const engine = (this.#engine ??= await open());
    this.#writer ??= new UsageWriter({
      engine,
      journalDirectory: start.journalDirectory,
      // Tells whether the server before may still add lines to it.
      isLive: (segment) =>
        segment < start.firstSegment && performance.now() < this.#startedMs + start.earlierLiveMs,
      onDamage: ({ lines, tornBytes }) =>
        log.warn("usage journal: unreadable lines were skipped", { lines, torn_bytes: tornBytes }),
      onWatermark: (watermark) =>
        this.#watermarks.begin(watermark, (script, signal) => engine.readOfMoment(script, signal)),
      onCommit: (commit) => tell({ kind: "committed", commit }),
      onSetBack({ isKept }) {
        if (isKept)
          log.warn(
            "usage writer: the database is older than it was, its usage is brought back from the journal",
          );
        else
          log.error(
            "usage writer: the journal does not reach back to what the database has; usage in between, if there was any, is lost",
          );
      },
    });
    return { writer: this.#writer, engine };
  }

  #restoreFile(engine: WriterEngine): void {
    if (engine.restoreFile === undefined) return;
    engine.restoreFile();
    this.#writer?.close();
    this.#writer = null;
    this.#engine = null;
  }
}
