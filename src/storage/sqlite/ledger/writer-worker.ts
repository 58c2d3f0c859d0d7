import type { Database } from "bun:sqlite";
import type { InstantUs } from "#kernel/clock.ts";
import { describeCause } from "#kernel/log.ts";
import { openForWriting, type UsagePlace } from "#storage/sqlite/ledger/file/database.ts";
import { lowerThreadPriority } from "#storage/ledger/threads/lower-priority.ts";
import { MARKS_MAX, type WriterCommand, type WriterReply } from "#storage/ledger/threads/messages.ts";
import { readServerRun, SupersededError } from "#storage/sqlite/ledger/file/server-run.ts";
import { sumLimits } from "#storage/ledger/limits/limit-sums.ts";
import { readFrom } from "#storage/sqlite/ledger/reports/reading.ts";
import { putBackDatabase } from "#storage/sqlite/ledger/file/put-back.ts";
import { UsageWriter } from "#storage/sqlite/ledger/write/writer.ts";

/** How long the lock of another process or a full disk is left alone before the next attempt. */
const RETRY_INTERVAL_MS = 100;
/** A cause that stays is reported at most this often. */
const REPORT_INTERVAL_MS = 30_000;

/** A message takes a fraction of a millisecond; one that was meant for a Worker before never comes. */
const EARLY_MARK_WAIT_MS_MAX = 1_000;
const EARLY_MARK_RETRY_MS = 1;

/** How soon a server that is superseded knows, also while it has nothing to write. */
const RUN_CHECK_INTERVAL_MS = 500;

declare const self: Worker;

lowerThreadPriority();

type Job = { readonly id: number; readonly step: (writer: UsageWriter) => boolean };

const jobs: Job[] = [];
/** By the mark that they wait for. */
const questions = new Map<number, Extract<WriterCommand<UsagePlace>, { kind: "sumLimits" }>>();
/** Answers that leave with the commit of what they count. */
const summed: { readonly mark: number; readonly answer: Extract<WriterReply, { kind: "summed" }> }[] = [];
let start: Extract<WriterCommand<UsagePlace>, { kind: "start" }> | null = null;
let database: Database | null = null;
let writer: UsageWriter | null = null;
let timer: ReturnType<typeof setTimeout> | null = null;
let liveUntilMs = 0;
let reportedMs = Number.NEGATIVE_INFINITY;
let isFailing = false;
let isSuperseded = false;
let early: { readonly mark: number; readonly sinceMs: number } | null = null;
let runTimer: ReturnType<typeof setInterval> | null = null;

self.addEventListener("message", (event: MessageEvent<WriterCommand<UsagePlace>>) => {
  const command = event.data;
  switch (command.kind) {
    case "start":
      start = command;
      liveUntilMs = performance.now() + command.earlierLiveMs;
      if (command.earlierLiveMs > 0) setTimeout(() => schedule(0), command.earlierLiveMs);
      runTimer = setInterval(checkRun, RUN_CHECK_INTERVAL_MS);
      reply({ kind: "ready" });
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
      questions.set(command.mark, command);
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
  // While something fails the pace is the retry's, whatever comes in.
  if (!isFailing) schedule(0);
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
    if (isFailing) report("info", "usage writer: goes on");
    isFailing = false;
    if (hasMore) schedule(0);
  } catch (cause) {
    summed.length = 0;
    if (cause instanceof EarlyMarkError) {
      schedule(EARLY_MARK_RETRY_MS);
      return;
    }
    if (cause instanceof SupersededError) {
      standDown();
      return;
    }
    if (!isFailing || performance.now() - reportedMs > REPORT_INTERVAL_MS) {
      report(
        "warn",
        "usage writer: cannot write, trying again; events wait in the journal",
        describeCause(cause),
      );
      reportedMs = performance.now();
    }
    isFailing = true;
    reply({ kind: "failed" });
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
  reply({ kind: "superseded" });
}

/** A step of the first job, when the journal has been read to its end; a job is answered after its last step. */
function runJob(to: UsageWriter): boolean {
  const job = jobs[0];
  if (job === undefined) return false;
  if (!job.step(to)) {
    jobs.shift();
    reply({ kind: "done", id: job.id });
  }
  return true;
}

function toMaintenance(command: Extract<WriterCommand<UsagePlace>, { kind: "maintain" }>): Job["step"] {
  let pruneBeforeUs: InstantUs | null = null;
  return (to) => {
    if (to.seal(command.sealBeforeDay)) return true;
    pruneBeforeUs ??= to.boundRetention(command.retention);
    return to.prune(pruneBeforeUs);
  };
}

function open(): UsageWriter | null {
  if (start === null) return null;
  const { firstSegment, serverRun } = start;
  database = openForWriting(start.databasePath);
  try {
    return new UsageWriter({
      database,
      journalDirectory: start.journalDirectory,
      serverRun,
      isLive: (segment) => segment < firstSegment && performance.now() < liveUntilMs,
      onDamage: ({ lines, tornBytes }) =>
        report("warn", "usage journal: unreadable lines were skipped", { lines, torn_bytes: tornBytes }),
      onMark: sumAtMark,
      onCommit(commit) {
        reply({ kind: "committed", commit });
        for (const { mark, answer } of summed.splice(0)) {
          questions.delete(mark);
          reply(answer);
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

/** Asked again when its transaction was rolled back. A mark of a process before, or of a Worker before, has no question. */
function sumAtMark(mark: number): void {
  if (database === null || start === null) return;
  const command = questions.get(mark);
  if (command === undefined) {
    if (early?.mark !== mark) early = { mark, sinceMs: performance.now() };
    if (mark > start.serverRun * MARKS_MAX && performance.now() - early.sinceMs < EARLY_MARK_WAIT_MS_MAX)
      throw new EarlyMarkError();
    return;
  }
  const sums = readFrom(database, sumLimits(command.question));
  summed.push({ mark, answer: { kind: "summed", id: command.id, sums } });
}

/** A step of a job: the file of the database has lost its name. */
function putBack(): boolean {
  if (start === null || database === null) return false;
  putBackDatabase(database, start.databasePath);
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
  reply({ kind: "closed" });
}

function report(level: "info" | "warn", message: string, fields = {}): void {
  reply({ kind: "report", level, message, fields });
}

function reply(message: WriterReply): void {
  self.postMessage(message);
}
