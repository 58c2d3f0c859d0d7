import type { Database } from "bun:sqlite";
import type { InstantUs } from "#kernel/clock.ts";
import { openForWriting, type UsagePlace } from "#storage/sqlite/ledger/file/database.ts";
import { type MarkQuestion, MarkQuestions, QUESTION_LOOK_MS } from "#storage/threads/mark-questions.ts";
import { serveWorker, type WorkerVoice } from "#storage/threads/worker-server.ts";
import {
  createDamageTelling,
  createLiveCheck,
  type MaintenancePass,
  RETRY_INTERVAL_MS,
  RUN_CHECK_INTERVAL_MS,
  type WriterEvent,
  WriterFortune,
  type WriterStart,
  type WriterTasks,
} from "#storage/threads/writer-tasks.ts";
import type { LimitSum } from "#limits/limit-sums.ts";
import { readServerRun, SupersededError } from "#storage/sqlite/ledger/file/server-run.ts";
import { sumLimits } from "#storage/reports/limit-sums.ts";
import { readFrom } from "#storage/sqlite/drive.ts";
import { restoreDatabaseFile } from "#storage/sqlite/file/copy.ts";
import { UsageWriter } from "#storage/sqlite/ledger/write/writer.ts";

interface Job {
  readonly step: (writer: UsageWriter) => boolean;
  readonly done: () => void;
}

serveWorker((start: WriterStart & UsagePlace, voice: WorkerVoice<WriterEvent>) => {
  const loop = new WriterLoop(start, voice);
  return { tasks: loop.tasks, close: () => loop.close() };
});

/** One transaction at a time, the journal first: in between, messages are taken in. */
class WriterLoop {
  readonly tasks = {
    wake: () => this.#wake(),
    flush: () => this.#add(() => false),
    saveKeyUse: (uses) => this.#add((to) => (to.saveKeyUse(uses), false)),
    maintain: (pass) => this.#add(toMaintenance(pass)),
    sumLimits: (asked) => {
      const sums = this.#questions.ask(asked);
      this.#wake();
      return sums;
    },
    putBack: () => this.#add(() => this.#putBack()),
  } satisfies WriterTasks;
  readonly #start: WriterStart & UsagePlace;
  readonly #voice: WorkerVoice<WriterEvent>;
  readonly #fortune: WriterFortune;
  readonly #isLive: (segment: number) => boolean;
  readonly #questions: MarkQuestions;
  readonly #jobs: Job[] = [];
  /** Answers that leave with the commit of what they count. */
  readonly #summed: { readonly question: MarkQuestion; readonly sums: readonly LimitSum[] }[] = [];
  readonly #runTimer: ReturnType<typeof setInterval>;
  #database: Database | null = null;
  #writer: UsageWriter | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isSuperseded = false;

  constructor(start: WriterStart & UsagePlace, voice: WorkerVoice<WriterEvent>) {
    this.#start = start;
    this.#voice = voice;
    this.#fortune = new WriterFortune(voice);
    this.#isLive = createLiveCheck(start);
    this.#questions = new MarkQuestions(start.serverRun);
    if (start.earlierLiveMs > 0) setTimeout(() => this.#schedule(0), start.earlierLiveMs);
    this.#runTimer = setInterval(() => this.#checkRun(), RUN_CHECK_INTERVAL_MS);
    this.#wake();
  }

  close(): void {
    this.#stop();
    try {
      if (!this.#isSuperseded) this.#writer?.endRun();
    } catch {
      // The next start then takes its time, should the lock file have been replaced.
    }
    this.#writer?.close();
  }

  /** A job is answered after its last step. */
  #add(step: Job["step"]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#jobs.push({ step, done: resolve });
    this.#wake();
    return promise;
  }

  #wake(): void {
    if (!this.#fortune.isFailing) this.#schedule(0);
  }

  #schedule(delayMs: number): void {
    if (!this.#isSuperseded) this.#timer ??= setTimeout(() => this.#run(), delayMs);
  }

  #run(): void {
    this.#timer = null;
    try {
      this.#writer ??= this.#open();
      const hasMore = this.#writer.writeBatch() || this.#runJob(this.#writer);
      this.#fortune.succeeded();
      if (hasMore) this.#schedule(0);
    } catch (cause) {
      this.#summed.length = 0;
      if (cause instanceof EarlyMarkError) {
        this.#schedule(QUESTION_LOOK_MS);
        return;
      }
      if (cause instanceof SupersededError) {
        this.#standDown();
        return;
      }
      this.#fortune.failed(cause);
      this.#schedule(RETRY_INTERVAL_MS);
    }
  }

  #checkRun(): void {
    try {
      if (this.#database !== null && readServerRun(this.#database) !== this.#start.serverRun)
        this.#standDown();
    } catch {
      // The next batch fails as well, and tells of it.
    }
  }

  #standDown(): void {
    this.#isSuperseded = true;
    this.#stop();
    this.#voice.tell({ kind: "superseded" });
  }

  #stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    clearInterval(this.#runTimer);
  }

  /** A step of the first job, when the journal has been read to its end. */
  #runJob(to: UsageWriter): boolean {
    const job = this.#jobs[0];
    if (job === undefined) return false;
    if (!job.step(to)) {
      this.#jobs.shift();
      job.done();
    }
    return true;
  }

  #open(): UsageWriter {
    const { databasePath, journalDirectory, serverRun } = this.#start;
    const database = openForWriting(databasePath);
    this.#database = database;
    try {
      return new UsageWriter({
        database,
        journalDirectory,
        serverRun,
        isLive: this.#isLive,
        onDamage: createDamageTelling(this.#voice.log),
        onMark: (mark) => this.#sumAt(mark, database),
        onCommit: (commit) => {
          this.#voice.tell({ kind: "committed", commit });
          for (const { question, sums } of this.#summed.splice(0)) {
            this.#questions.answered(question);
            question.answer.resolve(sums);
          }
        },
      });
    } catch (cause) {
      database.close();
      this.#database = null;
      throw cause;
    }
  }

  #sumAt(mark: number, database: Database): void {
    const question = this.#questions.find(mark);
    if (question === "awaited") throw new EarlyMarkError();
    if (question !== null)
      this.#summed.push({ question, sums: readFrom(database, sumLimits(question.question)) });
  }

  /** A step of a job: the file of the database has lost its name. */
  #putBack(): boolean {
    if (this.#database === null) return false;
    restoreDatabaseFile(this.#database, this.#start.databasePath);
    this.#writer?.close();
    this.#writer = null;
    this.#database = null;
    return false;
  }
}

function toMaintenance({ sealBeforeDay, retention }: MaintenancePass): Job["step"] {
  let pruneBeforeUs: InstantUs | null = null;
  return (to) => {
    if (to.seal(sealBeforeDay)) return true;
    pruneBeforeUs ??= to.boundRetention(retention);
    return to.prune(pruneBeforeUs);
  };
}

/** A mark was read before the message that says what it is for, which is on its way. */
class EarlyMarkError extends Error {}
