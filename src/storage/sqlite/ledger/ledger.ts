import { basename, join } from "node:path";
import { JOURNAL_NAME, USAGE_NAME } from "#storage/files/data-files.ts";
import { findFileIdentity, toFileIdentity } from "#storage/files/file-watch.ts";
import { openLedgerOf } from "#storage/threads/ledger.ts";
import type { LedgerOptions, OpenedLedger } from "#storage/threads/ledger-parts.ts";
import { RecordedEvents } from "#storage/threads/recorded-events.ts";
import { lockDataFolder, type ServerLock, toLockPath } from "#storage/files/folder-lock.ts";
import { prepareUsageDatabase } from "./file/database.ts";
import { beginServerRun } from "./file/server-run.ts";

/**
 * The usage ledger of a data folder: `usage.db`, the folder `journal` and `serving.lock`. What a killed process left in the
 * journal is replayed in the background; requests it had under way become events `unreachable` / `interrupted`.
 * Throws SetupError when another process serves from the folder, and for a file that cannot be used.
 */
export async function openLedger(options: LedgerOptions): Promise<OpenedLedger> {
  const lock = lockDataFolder(options.dataDir);
  try {
    return await openLocked(lock, options);
  } catch (cause) {
    lock.release();
    throw cause;
  }
}

function openLocked(lock: ServerLock, options: LedgerOptions): Promise<OpenedLedger> {
  const { dataDir, clock } = options;
  const databasePath = join(dataDir, USAGE_NAME);
  const committed = prepareUsageDatabase(databasePath);
  const run = beginServerRun(databasePath, lock.file);
  let usageFile = toFileIdentity(databasePath);
  return openLedgerOf(
    {
      journalDirectory: join(dataDir, JOURNAL_NAME),
      place: { databasePath },
      writerUrl: new URL("./writer-worker.ts", import.meta.url),
      readerUrl: new URL("./reader-worker.ts", import.meta.url),
      committed,
      run,
      recorded: new RecordedEvents(clock.nowUs().toString(36)),
      watch: ({ putBack, standDown }) => [
        {
          name: basename(toLockPath(dataDir)),
          isInPlace: () => lock.isInPlace(),
          putBack: () => (lock.putBack() ? undefined : standDown()),
        },
        {
          name: USAGE_NAME,
          isInPlace: () => findFileIdentity(databasePath) === usageFile,
          async putBack() {
            await putBack();
            usageFile = toFileIdentity(databasePath);
          },
        },
      ],
      release: () => lock.release(),
    },
    options,
  );
}
