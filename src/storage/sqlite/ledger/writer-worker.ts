import type { Database } from "bun:sqlite";
import type { InstantUs } from "#kernel/clock.ts";
import { openForWriting, type UsagePlace } from "#storage/sqlite/ledger/file/database.ts";
import { lowerThreadPriority } from "#storage/threads/lower-priority.ts";
import { type MarkQuestion, MarkQuestions, QUESTION_LOOK_MS } from "#storage/threads/mark-questions.ts";
import type { WriterCommand } from "#storage/threads/messages.ts";
import {
  createLiveCheck,
  RETRY_INTERVAL_MS,
  RUN_CHECK_INTERVAL_MS,
  WriterReplies,
} from "#storage/threads/writer-replies.ts";
import type { LimitSum } from "#limits/limit-sums.ts";
import { readServerRun, SupersededError } from "#storage/sqlite/ledger/file/server-run.ts";
import { sumLimits } from "#storage/reports/limit-sums.ts";
import { readFrom } from "#storage/sqlite/drive.ts";
import { restoreDatabaseFile } from "#storage/sqlite/file/copy.ts";
import { UsageWriter } from "#storage/sqlite/ledger/write/writer.ts";

declare const self: Worker;

lowerThreadPriority();

type Command<Kind extends string> = Extract<WriterCommand<UsagePlace>, { kind: Kind }>;
type Job = { readonly id: number; readonly step: (writer: UsageWriter) => boolean };

const replies = new WriterReplies();
const jobs: Job[] = [];
/** Answers that leave with the commit of what they count. */
const summed: { readonly question: MarkQuestion; readonly sums: readonly LimitSum[] }[] = [];
let start: Command<"start"> | null = null;
let isLive: (segment: number) => boolean = () => false;
let questions: MarkQuestions | null = null;
let database: Database | null = null;
let writer: UsageWriter | null = null;
let timer: ReturnType<typeof setTimeout> | null = null;
let isSuperseded = false;
let runTimer: ReturnType<typeof setInterval> | null = null;

self.addEventListener("message", (event: MessageEvent<WriterCommand<UsagePlace>>) => {
  const command = event.data;
  switch (command.kind) {
    case "start":
      start = command;
      isLive = createLiveCheck(command);
      questions = new MarkQuestions(command.serverRun);
      if (command.earlierLiveMs > 0) setTimeout(() => schedule(0), command.earlierLiveMs);
      runTimer = setInterval(checkRun, RUN_CHECK_INTERVAL_MS);
      replies.send({ kind: "ready" });
      break;
    case "wake":
      break;
    case "flush":
      jobs.push({ id: command.id, step: () => false });
      break;
    case "saveKeyUse":
      jobs.push({ id: command.id, step: (to) => (to.saveKeyUse(command.uses), false) });
      break;
    case "sumLimits":
      questions?.ask(command);
      break;
    case "putBack":
      jobs.push({ id: command.id, step: putBack });
      break;
    case "maintain":
      jobs.push({ id: command.id, step: toMaintenance(command) });
      break;
    case "close":
      close();
      return;
  }
  if (!replies.isFailing) schedule(0);
});

function schedule(delayMs: number): void {
  if (!isSuperseded) timer ??= setTimeout(run, delayMs);
}

/** One transaction at a time, the journal first: in between, messages are taken in. */
function run(): void {
  timer = null;
  try {
    writer ??= open();
    if (writer === null) return;
    const hasMore = writer.writeBatch() || runJob(writer);
    replies.succeeded();
    if (hasMore) schedule(0);
  } catch (cause) {
    summed.length = 0;
    if (cause instanceof EarlyMarkError) {
      schedule(QUESTION_LOOK_MS);
      return;
    }
    if (cause instanceof SupersededError) {
      standDown();
      return;
    }
    replies.failed(cause);
    schedule(RETRY_INTERVAL_MS);
  }
}

function checkRun(): void {
  try {
    if (database !== null && start !== null && readServerRun(database) !== start.serverRun) standDown();
  } catch {
    // The next batch fails as well, and tells of it.
  }
}

function standDown(): void {
  isSuperseded = true;
  if (timer !== null) clearTimeout(timer);
  if (runTimer !== null) clearInterval(runTimer);
  replies.send({ kind: "superseded" });
}

/** A step of the first job, when the journal has been read to its end; a job is answered after its last step. */
function runJob(to: UsageWriter): boolean {
  const job = jobs[0];
  if (job === undefined) return false;
  if (!job.step(to)) {
    jobs.shift();
    replies.done(job.id);
  }
  return true;
}

function toMaintenance(command: Command<"maintain">): Job["step"] {
  let pruneBeforeUs: InstantUs | null = null;
  return (to) => {
    if (to.seal(command.sealBeforeDay)) return true;
    pruneBeforeUs ??= to.boundRetention(command.retention);
    return to.prune(pruneBeforeUs);
  };
}

function open(): UsageWriter | null {
  if (start === null) return null;
  const { databasePath, journalDirectory, serverRun } = start;
  database = openForWriting(databasePath);
  try {
    return new UsageWriter({
      database,
      journalDirectory,
      serverRun,
      isLive,
      onDamage: replies.damaged,
      onMark: sumAtMark,
      onCommit(commit) {
        replies.send({ kind: "committed", commit });
        for (const { question, sums } of summed.splice(0)) {
          questions?.answered(question);
          replies.send({ kind: "summed", id: question.id, sums });
        }
      },
    });
  } catch (cause) {
    database.close();
    database = null;
    throw cause;
  }
}

/** A mark was read before the message that says what it is for, which is on its way. */
class EarlyMarkError extends Error {}

function sumAtMark(mark: number): void {
  if (database === null || questions === null) return;
  const question = questions.find(mark);
  if (question === "awaited") throw new EarlyMarkError();
  if (question !== null) summed.push({ question, sums: readFrom(database, sumLimits(question.question)) });
}

/** A step of a job: the file of the database has lost its name. */
function putBack(): boolean {
  if (start === null || database === null) return false;
  restoreDatabaseFile(database, start.databasePath);
  writer?.close();
  writer = null;
  database = null;
  return false;
}

function close(): void {
  if (timer !== null) clearTimeout(timer);
  if (runTimer !== null) clearInterval(runTimer);
  try {
    if (!isSuperseded) writer?.endRun();
  } catch {
    // The next start then takes its time, should the lock file have been replaced.
  }
  writer?.close();
  replies.send({ kind: "closed" });
}
