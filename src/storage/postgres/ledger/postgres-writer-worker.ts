import { serveWorker, type WorkerVoice } from "#storage/threads/worker-server.ts";
import {
  createDamageTelling,
  createLiveCheck,
  RETRY_INTERVAL_MS,
  RUN_CHECK_INTERVAL_MS,
  type WriterEvent,
  WriterFortune,
  type WriterStart,
  type WriterTasks,
} from "#storage/threads/writer-tasks.ts";
import { openPostgres, type Postgres } from "#storage/postgres/connection/postgres.ts";
import { PURPOSES } from "#storage/postgres/connection/limits.ts";
import type { PostgresTarget } from "#storage/postgres/connection/target.ts";
import { MarkSums } from "./mark-sums.ts";
import { Upkeep } from "./maintenance/upkeep.ts";
import { SupersededError } from "./write/spool.ts";
import { UsageWriter } from "./write/writer.ts";

/** Where a spool is brought to. */
export interface WriterPlace {
  readonly target: PostgresTarget;
  readonly spool: { readonly id: string; readonly lane: number };
}

interface Job {
  readonly step: (writer: UsageWriter) => Promise<void> | void;
  readonly done: () => void;
}

serveWorker((start: WriterStart & WriterPlace, voice: WorkerVoice<WriterEvent>) => {
  const loop = new WriterLoop(start, voice);
  return { tasks: loop.tasks, close: () => loop.close() };
});

class WriterLoop {
  readonly tasks = {
    wake: () => this.#wake(),
    flush: () => this.#add(() => {}),
    saveKeyUse: (uses) => this.#add((to) => to.saveKeyUse(uses)),
    maintain: async (pass) => {
      await this.#add((to) => to.trimSegments());
      // Beside batches: what it waits for holds up no event.
      await this.#upkeep?.look(pass);
    },
    sumLimits: (asked) => {
      const sums = this.#marks.ask(asked);
      this.#wake();
      return sums;
    },
    putBack: () => this.#add(() => {}),
  } satisfies WriterTasks;
  readonly #start: WriterStart & WriterPlace;
  readonly #voice: WorkerVoice<WriterEvent>;
  readonly #fortune: WriterFortune;
  readonly #isLive: (segment: number) => boolean;
  readonly #marks: MarkSums;
  readonly #jobs: Job[] = [];
  readonly #heartbeat: ReturnType<typeof setInterval>;
  #postgres: Postgres | null = null;
  #writer: UsageWriter | null = null;
  #upkeep: Upkeep | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isBeating = false;
  #running: Promise<void> | null = null;
  #isWanted = false;
  #isOver = false;

  constructor(start: WriterStart & WriterPlace, voice: WorkerVoice<WriterEvent>) {
    this.#start = start;
    this.#voice = voice;
    this.#fortune = new WriterFortune(voice);
    this.#isLive = createLiveCheck(start);
    this.#marks = new MarkSums(start.serverRun);
    this.#heartbeat = setInterval(() => void this.#beat(), RUN_CHECK_INTERVAL_MS);
    this.#wake();
  }

  async close(): Promise<void> {
    this.#stop();
    // What is under way has limits of its own.
    await this.#running;
    this.#writer?.close();
    await this.#postgres?.close();
  }

  #add(step: Job["step"]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#jobs.push({ step, done: resolve });
    this.#wake();
    return promise;
  }

  /** An attempt that succeeds after failures looks once more for what has come in. */
  #wake(): void {
    if (!this.#fortune.isFailing) this.#schedule(0);
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
      if (this.#fortune.isFailing || this.#isHeldBack()) this.#schedule(RETRY_INTERVAL_MS);
    });
  }

  /** One batch after the other until the journal's end, then the jobs that had come before the last look at it. */
  async #run(): Promise<void> {
    for (let hasMore = true; hasMore;) {
      this.#isWanted = false;
      try {
        const due = this.#jobs.length;
        this.#writer ??= await this.#open();
        if (await this.#writer.writeBatch()) this.#isWanted = true;
        else if (!this.#isHeldBack()) await this.#runJobs(this.#writer, due);
        this.#fortune.succeeded();
      } catch (cause) {
        if (cause instanceof SupersededError) this.#standDown();
        else this.#fortune.failed(cause);
      }
      hasMore = this.#isWanted && !this.#fortune.isFailing && !this.#isOver;
    }
  }

  /** What this server has recorded is behind a segment that the server before may still add to: it is not committed yet. */
  #isHeldBack(): boolean {
    const at = this.#writer?.committed ?? null;
    return at !== null && this.#isLive(at.segment);
  }

  /** A job stays until it is done. */
  async #runJobs(to: UsageWriter, due: number): Promise<void> {
    for (let count = 0; count < due; count += 1) {
      await this.#jobs[0]?.step(to);
      this.#jobs.shift()?.done();
    }
    if (this.#jobs.length > 0) this.#isWanted = true;
  }

  /**
   * Says that the server is there, and looks whether the stored position is still the one that was committed. Also beside a
   * batch, which waits longer for its answer: a cut that nothing else tells of is noticed here.
   */
  async #beat(): Promise<void> {
    const at = this.#running === null ? this.#writer?.committed : undefined;
    if (this.#isBeating || this.#postgres === null || this.#writer === null) return;
    this.#isBeating = true;
    try {
      const { spool, serverRun } = this.#start;
      const [row] = await this.#postgres.all<{ segment: number; offset: number }>(
        `UPDATE spool SET heard_at = clock_timestamp() WHERE lane = $1 AND id = $2 AND run = $3 RETURNING segment, "offset"`,
        [spool.lane, spool.id, serverRun],
      );
      const isMoved = row?.segment !== at?.segment || row?.offset !== at?.offsetBytes;
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

  #standDown(): void {
    this.#stop();
    this.#voice.tell({ kind: "superseded" });
  }

  #stop(): void {
    this.#isOver = true;
    this.#upkeep?.stop();
    this.#marks.stop();
    if (this.#timer !== null) clearTimeout(this.#timer);
    clearInterval(this.#heartbeat);
  }

  async #open(): Promise<UsageWriter> {
    const { journalDirectory, serverRun, spool, target } = this.#start;
    const { log, tell } = this.#voice;
    const postgres = (this.#postgres ??= await openPostgres({ target, ...PURPOSES.writer, log }));
    this.#upkeep ??= new Upkeep({ postgres, log });
    return new UsageWriter({
      postgres,
      claim: { ...spool, run: serverRun },
      journalDirectory,
      isLive: this.#isLive,
      onDamage: createDamageTelling(log),
      onMark: (mark) => this.#marks.begin(mark, postgres),
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
  }
}
