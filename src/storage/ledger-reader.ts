import type { Log } from "#kernel/log.ts";
import { sleep } from "#kernel/timer.ts";
import type { LedgerReader } from "./engine.ts";
import { JournalBacklog } from "./journal/backlog.ts";
import { findSegments, type JournalPosition, measureSegments } from "./journal/segments.ts";
import type { AnswerOf, QuestionOf, ReportName } from "./reports/reports.ts";
import { one, type Script } from "./sql/script.ts";
import { ReaderClient } from "./threads/reader-client.ts";
import { type Ask, createStats } from "./threads/stats.ts";

/** A running server commits what its journal holds every 150 ms: `settle` waits for several times that. */
const COMMIT_WAIT_MS_MAX = 1_000;
const COMMIT_POLL_MS = 20;

/** A ledger as a process finds it that does not serve it. */
export interface LedgerSource {
  /** The file of the engine's reader Worker, and what it opens with. */
  readonly readerUrl: URL;
  readonly place: object;
  /** Null where no ledger was made yet. Throws SetupError for one that cannot be used. */
  readonly open: () => Promise<LedgerAccess | null>;
}

export interface LedgerAccess {
  /** Runs a script within one transaction, which sees one state of the ledger until its end. */
  readonly read: <Answer>(script: Script<Answer>, signal?: AbortSignal) => Promise<Answer>;
  /** Null in a folder from which no server has recorded. */
  readonly findJournal: () => LedgerJournal | null | Promise<LedgerJournal | null>;
  readonly close: () => void | Promise<void>;
}

/** The journal of a data folder, and how far it is in the database. */
export interface LedgerJournal {
  readonly directory: string;
  /** SQL with the columns `segment` and `offset` of the one row that tells its position. */
  readonly position: string;
  /** The lane whose events are its own; null where all are. */
  readonly lane: number | null;
}

export function* readPosition({ position }: LedgerJournal): Script<JournalPosition> {
  const row = yield* one<{ segment: number; offset: number }>(position);
  return { segment: row?.segment ?? 0, offsetBytes: row?.offset ?? 0 };
}

/** Runs a step on the ledger; null where none was made yet. */
export async function withLedger<Result>(
  source: LedgerSource,
  step: (ledger: LedgerAccess) => Promise<Result>,
): Promise<Result | null> {
  const ledger = await source.open();
  if (ledger === null) return null;
  try {
    return await step(ledger);
  } finally {
    await ledger.close();
  }
}

/** Reads the reports of a ledger for a process that does not serve it (`StorageEngine.openLedgerReader`). */
export function openLedgerReader({ readerUrl, place, open }: LedgerSource, log: Log): LedgerReader {
  const reader = new ReaderClient({ workerUrl: readerUrl, place, log, waitMsMax: null });
  let opening: Promise<LedgerAccess | null> | null = null;
  /** Keeps the ledger open as long as the reader. One that is not there yet, or cannot be opened, is looked for again. */
  const find = async () => {
    opening ??= open().then((ledger) => (ledger === null ? null : inTurns(ledger)));
    const found = await opening.catch((cause: unknown) => {
      opening = null;
      throw cause;
    });
    if (found === null) opening = null;
    return found;
  };
  const ask: Ask = async (name, question, options) =>
    (await find()) === null ? answerFromNothing(name, question) : reader.ask(name, question, options);
  return {
    stats: createStats(ask, null),
    limitLedger: { sumLimits: (limits, nowUs) => ask("sumLimits", { limits, nowUs }) },
    loadLastUsed: (ids) => ask("loadLastUsed", ids),
    async settle() {
      const ledger = await find();
      const journal = (await ledger?.findJournal()) ?? null;
      if (ledger === null || journal === null) return 0;
      if (findSegments(journal.directory).length === 0) return 0;
      const found = measureSegments(journal.directory);
      const measure = async () => new JournalBacklog(found, await ledger.read(readPosition(journal))).bytes;
      let bytes = await measure();
      for (let waitedMs = 0; bytes > 0 && waitedMs < COMMIT_WAIT_MS_MAX; waitedMs += COMMIT_POLL_MS) {
        await sleep(COMMIT_POLL_MS);
        bytes = await measure();
      }
      return bytes;
    },
    async close() {
      await reader.stop();
      await (await opening?.catch(() => null))?.close();
    },
  };
}

/** One script after the other: a connection has one transaction at a time. */
function inTurns(ledger: LedgerAccess): LedgerAccess {
  let last: Promise<unknown> = Promise.resolve();
  return {
    ...ledger,
    read(script, signal) {
      const answer = last.then(() => ledger.read(script, signal));
      last = answer.catch(() => {});
      return answer;
    },
  };
}

/** Answers as a ledger in which nothing was ever recorded. */
async function answerFromNothing<Name extends ReportName>(
  name: Name,
  question: QuestionOf<Name>,
): Promise<AnswerOf<Name>> {
  // A server never needs the reports on its own thread: they are loaded here, and not above.
  const { toScript } = await import("./reports/reports.ts");
  const { readEmpty } = await import("./sqlite/drive.ts");
  return readEmpty(toScript(name, question));
}
