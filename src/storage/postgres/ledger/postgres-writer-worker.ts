import { lowerThreadPriority } from "#storage/threads/lower-priority.ts";
import type { WriterCommand } from "#storage/threads/messages.ts";
import {
  createLiveCheck,
  RETRY_INTERVAL_MS,
  RUN_CHECK_INTERVAL_MS,
  WriterReplies,
} from "#storage/threads/writer-replies.ts";
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

declare const self: Worker;

lowerThreadPriority();

type Command<Kind extends string> = Extract<WriterCommand<WriterPlace>, { kind: Kind }>;
type Job = { readonly id: number; readonly step: (writer: UsageWriter) => Promise<void> };

const replies = new WriterReplies();
const jobs: Job[] = [];
let start: Command<"start"> | null = null;
let isLive: (segment: number) => boolean = () => false;
let marks: MarkSums | null = null;
let postgres: Postgres | null = null;
let writer: UsageWriter | null = null;
let upkeep: Upkeep | null = null;
let timer: ReturnType<typeof setTimeout> | null = null;
let heartbeat: ReturnType<typeof setInterval> | null = null;
let isBeating = false;
let running: Promise<void> | null = null;
let isWanted = false;
let isOver = false;

self.addEventListener("message", (event: MessageEvent<WriterCommand<WriterPlace>>) => {
  const command = event.data;
  switch (command.kind) {
    case "start":
      start = command;
      isLive = createLiveCheck(command);
      marks = new MarkSums(command.serverRun, (answer) => replies.send(answer));
      heartbeat = setInterval(() => void beat(), RUN_CHECK_INTERVAL_MS);
      replies.send({ kind: "ready" });
      break;
    case "wake":
      break;
    case "flush":
    case "putBack":
      jobs.push({ id: command.id, step: async () => replies.done(command.id) });
      break;
    case "saveKeyUse":
      jobs.push({
        id: command.id,
        step: async (to) => {
          await to.saveKeyUse(command.uses);
          replies.done(command.id);
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
  // An attempt that succeeds after failures looks once more for what has come in.
  if (!replies.isFailing) schedule(0);
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
    if (replies.isFailing || isHeldBack()) schedule(RETRY_INTERVAL_MS);
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
      else if (!isHeldBack()) await runJobs(writer, due);
      replies.succeeded();
    } catch (cause) {
      if (cause instanceof SupersededError) standDown();
      else replies.failed(cause);
    }
    hasMore = isWanted && !replies.isFailing && !isOver;
  }
}

/** What this server has recorded is behind a segment that the server before may still add to: it is not committed yet. */
function isHeldBack(): boolean {
  const at = writer?.committed ?? null;
  return at !== null && isLive(at.segment);
}

async function maintain(look: Command<"maintain">): Promise<void> {
  await upkeep?.look(look);
  replies.done(look.id);
}

/** A job stays until it is done. */
async function runJobs(to: UsageWriter, due: number): Promise<void> {
  for (let count = 0; count < due; count += 1) {
    await jobs[0]?.step(to);
    jobs.shift();
  }
  if (jobs.length > 0) isWanted = true;
}

/**
 * Says that the server is there, and looks whether the stored position is still the one that was committed. Also beside a
 * batch, which waits longer for its answer: a cut that nothing else tells of is noticed here.
 */
async function beat(): Promise<void> {
  const at = running === null ? writer?.committed : undefined;
  if (isBeating || start === null || postgres === null || writer === null) return;
  isBeating = true;
  try {
    const { spool, serverRun } = start;
    const [row] = await postgres.all<{ segment: number; offset: number }>(
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
  replies.send({ kind: "superseded" });
}

function stop(): void {
  isOver = true;
  upkeep?.stop();
  marks?.stop();
  if (timer !== null) clearTimeout(timer);
  if (heartbeat !== null) clearInterval(heartbeat);
}

async function open(): Promise<UsageWriter | null> {
  const sums = marks;
  if (start === null || sums === null) return null;
  const { journalDirectory, serverRun, spool, target } = start;
  const { log } = replies;
  const to = (postgres ??= await openPostgres({ target, ...PURPOSES.writer, log }));
  upkeep ??= new Upkeep({ postgres: to, log });
  return new UsageWriter({
    postgres: to,
    claim: { ...spool, run: serverRun },
    journalDirectory,
    isLive,
    onDamage: replies.damaged,
    onMark: (mark) => sums.begin(mark, to),
    onCommit: (commit) => replies.send({ kind: "committed", commit }),
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

async function close(): Promise<void> {
  stop();
  // What is under way has limits of its own.
  await running;
  writer?.close();
  await postgres?.close();
  replies.send({ kind: "closed" });
}
