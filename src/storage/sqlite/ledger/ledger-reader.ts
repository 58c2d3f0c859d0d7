import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "#kernel/log.ts";
import type { LedgerReader } from "#storage/engine.ts";
import { JOURNAL_NAME, USAGE_NAME } from "#storage/files/data-files.ts";
import { JournalBacklog } from "#storage/journal/backlog.ts";
import { measureSegments } from "#storage/journal/segments.ts";
import type { AnswerOf, QuestionOf, ReportName } from "#storage/reports/reports.ts";
import { type Ask, createReadings, untilCommitted } from "#storage/threads/readings.ts";
import { ReaderClient } from "#storage/threads/reader-client.ts";
import { withSetupErrors } from "#storage/files/setup-errors.ts";
import { readFrom } from "#storage/sqlite/drive.ts";
import { openSqliteReader } from "#storage/sqlite/file/open.ts";
import { hasUsageDatabase, readPosition, readSchemaVersion, type UsagePlace } from "./file/database.ts";
import { SCHEMA_SQL } from "./file/schema.ts";

/** A running server commits what its journal holds every 150 ms; several times that is waited for. */
const COMMIT_WAIT = { waitMsMax: 500, pollMs: 20 };

export interface LedgerReaderOptions {
  readonly dataDir: string;
  readonly log: Log;
}

/** The reports of a ledger for a process that only looks, also while a server writes to it (`StorageEngine.openLedgerReader`). */
export function openLedgerReader({ dataDir, log }: LedgerReaderOptions): LedgerReader {
  const databasePath = join(dataDir, USAGE_NAME);
  const journalDirectory = join(dataDir, JOURNAL_NAME);
  let reader: ReaderClient<UsagePlace> | null = null;
  // Open as long as the reader is, and closed after it: SQLite's read-only mode, which the reader has, would leave the
  // files behind that it needed.
  let keeper: Database | null = null;
  const findKeeper = (): Database | null => {
    if (keeper !== null || !hasUsageDatabase(databasePath)) return keeper;
    const opened = openSqliteReader(databasePath);
    try {
      withSetupErrors(databasePath, () => readSchemaVersion(opened, databasePath));
    } catch (cause) {
      opened.close();
      throw cause;
    }
    return (keeper = opened);
  };
  const ask: Ask = async (name, question, options) => {
    if (findKeeper() === null) return answerFromNothing(name, question);
    reader ??= new ReaderClient({
      workerUrl: new URL("./reader-worker.ts", import.meta.url),
      place: { databasePath },
      log,
      waitMsMax: null,
    });
    return reader.ask(name, question, options);
  };

  return {
    ...createReadings(ask),
    async settle() {
      const database = findKeeper();
      if (database === null || !existsSync(journalDirectory)) return 0;
      const found = measureSegments(journalDirectory);
      return untilCommitted(() => new JournalBacklog(found, readPosition(database)).bytes, COMMIT_WAIT);
    },
    async close() {
      await reader?.stop();
      keeper?.close();
    },
  };
}

/** What a ledger answers in which nothing was ever recorded. */
async function answerFromNothing<Name extends ReportName>(
  name: Name,
  question: QuestionOf<Name>,
): Promise<AnswerOf<Name>> {
  // Loaded here and not above: a server's reports are read by threads of their own.
  const { toScript } = await import("#storage/reports/reports.ts");
  const empty = new Database(":memory:", { strict: true });
  try {
    empty.run(SCHEMA_SQL);
    return readFrom(empty, toScript(name, question));
  } finally {
    empty.close();
  }
}
