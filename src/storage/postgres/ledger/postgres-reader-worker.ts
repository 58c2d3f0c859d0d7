import { SILENT_LOG } from "#kernel/log.ts";
import { lowerThreadPriority } from "#storage/ledger/threads/lower-priority.ts";
import { listBuffers, toFailure } from "#storage/ledger/threads/reader-replies.ts";
import type {
  Asked,
  LeftMark,
  QuestionKind,
  ReaderCommand,
  ReaderReply,
} from "#storage/ledger/threads/messages.ts";
import { openPostgres, type Postgres } from "#storage/postgres/connection/postgres.ts";
import { PURPOSES } from "#storage/postgres/connection/limits.ts";
import type { ReaderPlace } from "./ledger.ts";
import { answerFrom, openReportConnection, type ReportConnection } from "./reports/answer.ts";

/** How soon a report that a partition has cut off is looked after. */
const LOOK_INTERVAL_MS = 4_000;

declare const self: Worker;

lowerThreadPriority();

type Start = Extract<ReaderCommand<ReaderPlace>, { kind: "start" }>;

let start: Start | null = null;
let opening: Promise<{ readonly postgres: Postgres; readonly reports: ReportConnection }> | null = null;

self.addEventListener("message", (event: MessageEvent<ReaderCommand<ReaderPlace>>) => {
  const command = event.data;
  switch (command.kind) {
    case "start":
      start = command;
      reply({ kind: "ready" });
      return;
    case "close":
      void close();
      return;
    case "ask":
      void answer(command.id, command.asked);
  }
});

async function answer(id: number, asked: Asked<QuestionKind>): Promise<void> {
  if (start === null) throw new Error("the reader was not started");
  const { left } = start;
  const leaving = new AbortController();
  watch(left, leaving);
  let look: ReturnType<typeof setInterval> | undefined;
  try {
    const { postgres, reports } = await (opening ??= open(start));
    // One that is not answered gives up the report's connection with its own: the next report would wait for it.
    look = setInterval(() => void postgres.all("SELECT 1").catch(() => undefined), LOOK_INTERVAL_MS);
    const found = await answerFrom(reports, asked, leaving.signal);
    reply({ kind: "answer", id, answer: found }, listBuffers(found));
  } catch (cause) {
    if (Atomics.load(left, 0) === 1) {
      reply({ kind: "interrupted", id });
    } else {
      reply(toFailure(id, cause));
    }
  } finally {
    clearInterval(look);
    leaving.abort();
  }
}

async function open({ target }: Start) {
  try {
    const postgres = await openPostgres({ target, ...PURPOSES.reports, log: SILENT_LOG });
    return { postgres, reports: openReportConnection(postgres) };
  } catch (cause) {
    // The next question tries again.
    opening = null;
    throw cause;
  }
}

/** Ends the statement on the server once no asker is left: nobody would read what it finds. */
function watch(left: LeftMark, leaving: AbortController): void {
  const look = setInterval(() => {
    if (Atomics.load(left, 0) === 1) leaving.abort();
  }, LEFT_LOOK_MS);
  leaving.signal.addEventListener("abort", () => clearInterval(look));
}

/** How soon a report ends whose askers have left. */
const LEFT_LOOK_MS = 50;

async function close(): Promise<void> {
  const opened = await opening?.catch(() => null);
  await opened?.postgres.close();
  reply({ kind: "closed" });
}

function reply(message: ReaderReply, transfer: ArrayBuffer[] = []): void {
  self.postMessage(message, transfer);
}
