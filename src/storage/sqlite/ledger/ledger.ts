import { join } from "node:path";
import type { Clock } from "#kernel/clock.ts";
import { JOURNAL_NAME, USAGE_NAME } from "#storage/files/data-files.ts";
import { findFileIdentity, toFileIdentity } from "#storage/files/file-watch.ts";
import type { ServerLock } from "#storage/files/folder-lock.ts";
import { withSetupErrors } from "#storage/files/setup-errors.ts";
import type { LedgerSource } from "#storage/ledger-reader.ts";
import { readInTurns } from "#storage/sqlite/drive.ts";
import { openSqliteReader } from "#storage/sqlite/file/open.ts";
import type { LedgerParts } from "#storage/threads/ledger.ts";
import {
  beginServerRun,
  hasUsageDatabase,
  openForReading,
  prepareUsageDatabase,
  type UsagePlace,
} from "./file/database.ts";
import { RecordedEvents } from "./recorded-events.ts";

const READER_URL = new URL("./reader-worker.ts", import.meta.url);

/** Takes `usage.db` for the server that holds the lock of its folder. Throws SetupError for a file that cannot be used. */
export function takeLedger(
  dataDir: string,
  {
    lock,
    clock,
    catalogPath,
  }: { readonly lock: ServerLock; readonly clock: Clock; readonly catalogPath?: string },
): LedgerParts {
  const databasePath = join(dataDir, USAGE_NAME);
  const committed = prepareUsageDatabase(databasePath);
  const run = beginServerRun(databasePath, lock.file);
  let usageFile = toFileIdentity(databasePath);
  return {
    journalDirectory: join(dataDir, JOURNAL_NAME),
    place: { databasePath, catalogPath } satisfies UsagePlace,
    writerUrl: new URL("./writer-worker.ts", import.meta.url),
    readerUrl: READER_URL,
    committed,
    run,
    recorded: new RecordedEvents(clock.nowUs().toString(36)),
    listFiles: ({ lockFile, restoreDatabase }) => [
      lockFile,
      {
        name: USAGE_NAME,
        isInPlace: () => findFileIdentity(databasePath) === usageFile,
        async restore() {
          await restoreDatabase();
          usageFile = toFileIdentity(databasePath);
        },
      },
    ],
  };
}

/** Finds the ledger of a data folder for a process beside its server. Takes no lock and changes nothing. */
export function findLedger(dataDir: string): LedgerSource {
  const databasePath = join(dataDir, USAGE_NAME);
  return {
    readerUrl: READER_URL,
    place: { databasePath } satisfies UsagePlace,
    async open() {
      if (!hasUsageDatabase(databasePath)) return null;
      // The keeper is closed last: the read-only mode of the others would leave the files behind that SQLite needed.
      const keeper = openSqliteReader(databasePath);
      try {
        const database = withSetupErrors(databasePath, () => openForReading(databasePath));
        return {
          read: (script) => readInTurns(database, script),
          findJournal: () => ({
            directory: join(dataDir, JOURNAL_NAME),
            position: "SELECT journal_segment AS segment, journal_offset AS offset FROM ledger_state",
            lane: null,
          }),
          close() {
            database.close();
            keeper.close();
          },
        };
      } catch (cause) {
        keeper.close();
        throw cause;
      }
    },
  };
}
