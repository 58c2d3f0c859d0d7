import { describeCause, type Log } from "#kernel/log.ts";
import { lowerThreadPriority } from "#storage/ledger/threads/lower-priority.ts";
import type { WriterCommand, WriterReply } from "#storage/ledger/threads/messages.ts";
import { openPostgres, type Postgres } from "#storage/postgres/connection/postgres.ts";
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

/** How long a failure is left alone before the next attempt: a database that is back is noticed as soon. */
const RETRY_INTERVAL_MS = 100;
/** A cause that stays is reported at most this often. */
const REPORT_INTERVAL_MS = 30_000;
/** One batch, one look at the clock, and a step of maintenance at a time. */
const CONNECTIONS_MAX = 3;
/** A look at the spool that is not answered gives up every connection: after a silent cut the database is used again within this. */
const CALL_MS_MAX = 4_000;

/** How often a spool says that its server is there, and how soon a server that is superseded knows. */
const HEARTBEAT_INTERVAL_MS = 500;

declare const self: Worker;

lowerThreadPriority();

type Start = Extract<WriterCommand<WriterPlace>, { kind: "start" }>;
type Job = { readonly id: number; readonly step: (writer: UsageWriter) => Promise<void> };

const jobs: Job[] = [];
let start: Start | null = null;
let database: Postgres | null = null;
let writer: UsageWriter | null = null;
let upkeep: Upkeep | null = null;
let marks: MarkSums | null = null;
let timer: ReturnType<typeof setTimeout> | null = null;
let heartbeat: ReturnType<typeof setInterval> | null = null;
let isBeating = false;
let liveUntilMs = 0;
let reportedMs = Number.NEGATIVE_INFINITY;
let isFailing = false;
let running: Promise<void> | null = null;
let isWanted = false;
let isOver = false;

const log: Log = {
  debug() {},
  info: (message, fields) => report("info", message, fields),
  warn: (message, fields) => report("warn", message, fields),
  error: (message, fields) => report("error", message, fields),
};

self.addEventListener("message", (event: MessageEvent<WriterCommand<WriterPlace>>) => {
  const command = event.data;
  switch (command.kind) {
    case "start":
      start = command;
      marks = new MarkSums(command.serverRun);
      liveUntilMs = performance.now() + command.earlierLiveMs;
      if (command.earlierLiveMs > 0) setTimeout(() => schedule(0), command.earlierLiveMs);
      heartbeat = setInterval(() => void beat(), HEARTBEAT_INTERVAL_MS);
      reply({ kind: "ready" });
      break;
    case "wake":
      break;
    case "flush":
    case "putBack":
      jobs.push({ id: command.id, step: async () => done(command.id) });
      break;
    case "saveKeyUse":
      jobs.push({
        id: command.id,
        step: async (to) => {
          await to.saveKeyUse(command.uses);
          done(command.id);
        },
      });
      break;
    case "sumLimits":
      marks?.ask(command);
      break;
    case "maintain":
      jobs.push({
        id: command.id,
        // Beside batches: what it waits for holds up no event.
        step: async (to) => {
          to.trimSegments();
          void maintain(command);
        },
      });
      break;
    case "close":
      void close();
      return;
  }
  // While something fails the pace is the retry's, whatever comes in; an attempt that succeeds looks once more for it.
  if (!isFailing) schedule(0);
  else if (running !== null) isWanted = true;
});

function schedule(delayMs: number): void {
  if (isOver) return;
  if (running === null) timer ??= setTimeout(begin, delayMs);
  else isWanted = true;
}

function begin(): void {
  timer = null;
  running = run().finally(() => {
    running = null;
    if (isFailing) schedule(RETRY_INTERVAL_MS);
  });
}

/** One batch after the other until the journal's end, then the jobs that had come before the last look at it. */
async function run(): Promise<void> {
  for (let hasMore = true; hasMore;) {
    isWanted = false;
    try {
      const due = jobs.length;
      writer ??= await open();
      if (writer === null) return;
      if (await writer.writeBatch()) isWanted = true;
      else await runJobs(writer, due);
      if (isFailing) report("info", "usage writer: goes on");
      isFailing = false;
    } catch (cause) {
      fail(cause);
    }
    hasMore = isWanted && !isFailing && !isOver;
  }
}

async function maintain(look: Extract<WriterCommand<WriterPlace>, { kind: "maintain" }>): Promise<void> {
  await upkeep?.look(look);
  done(look.id);
}

/** A job stays until it is done. */
async function runJobs(to: UsageWriter, due: number): Promise<void> {
  for (let count = 0; count < due; count += 1) {
    await jobs[0]?.step(to);
    jobs.shift();
  }
  if (jobs.length > 0) isWanted = true;
}

function fail(cause: unknown): void {
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
}

/**
 * Says that the server is there, and looks whether the stored position is still the one that was committed. Also beside a
 * batch, which waits longer for its answer: a cut that nothing else tells of is noticed here.
 */
async function beat(): Promise<void> {
  const at = running === null ? writer?.committed : undefined;
  if (isBeating || start === null || database === null || writer === null) return;
  isBeating = true;
  try {
    const { spool, serverRun } = start;
    const [row] = await database.all<{ segment: number; offset: number }>(
      `UPDATE spool SET heard_at = clock_timestamp() WHERE lane = $1 AND id = $2 AND run = $3 RETURNING segment, "offset"`,
      [spool.lane, spool.id, serverRun],
    );
    const isMoved = row?.segment !== at?.segment || row?.offset !== at?.offsetBytes;
    // A batch that was committed meanwhile has moved it; it looks for itself.
    if (!isMoved || at === undefined || running !== null || writer?.committed !== at) return;
    writer?.distrust();
    schedule(0);
  } catch {
    // The next batch fails as well, and tells of it.
  } finally {
    isBeating = false;
  }
}

function standDown(): void {
  stop();
  reply({ kind: "superseded" });
}

function stop(): void {
  isOver = true;
  upkeep?.stop();
  if (timer !== null) clearTimeout(timer);
  if (heartbeat !== null) clearInterval(heartbeat);
}

async function open(): Promise<UsageWriter | null> {
  const sums = marks;
  if (start === null || sums === null) return null;
  const { firstSegment, journalDirectory, serverRun, spool, target } = start;
  database ??= await openPostgres({
    target,
    purpose: "writer",
    connectionsMax: CONNECTIONS_MAX,
    callMsMax: CALL_MS_MAX,
    log,
  });
  upkeep ??= new Upkeep({ database, log });
  return new UsageWriter({
    database,
    claim: { ...spool, run: serverRun },
    journalDirectory,
    isLive: (segment) => segment < firstSegment && performance.now() < liveUntilMs,
    onDamage: ({ lines, tornBytes }) =>
      report("warn", "usage journal: unreadable lines were skipped", { lines, torn_bytes: tornBytes }),
    onMark: (mark, tx) => sums.sum(mark, tx, reply),
    onCommit: (commit) => reply({ kind: "committed", commit }),
    onSetBack: ({ isKept }) =>
      report(
        "warn",
        isKept
          ? "usage writer: the database is older than it was, its usage is brought back from the journal"
          : "usage writer: the database is older than the journal that is kept, part of its usage is lost",
      ),
  });
}

async function close(): Promise<void> {
  stop();
  // What is under way has limits of its own.
  await running;
  writer?.close();
  await database?.close();
  reply({ kind: "closed" });
}

function done(id: number): void {
  reply({ kind: "done", id });
}

function report(level: "info" | "warn" | "error", message: string, fields = {}): void {
  reply({ kind: "report", level, message, fields });
}

function reply(message: WriterReply): void {
  self.postMessage(message);
}
