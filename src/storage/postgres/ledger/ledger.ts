import { basename } from "node:path";
import { describeCause } from "#kernel/log.ts";
import { withinLimit } from "#kernel/timer.ts";
import { openLedgerOf } from "#storage/threads/ledger.ts";
import type { LedgerOptions, OpenedLedger } from "#storage/threads/ledger-parts.ts";
import { DatabaseUnreachableError } from "#storage/postgres/connection/errors.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { PostgresTarget } from "#storage/postgres/connection/target.ts";
import { watchFolder } from "#storage/files/file-watch.ts";
import { type ServerLock, toLockPath } from "#storage/files/folder-lock.ts";
import type { WriterPlace } from "./postgres-writer-worker.ts";
import { RecordedBatches } from "./recorded-batches.ts";
import { releaseSpool, type Spool } from "./spool-claim.ts";
import { toSpoolFolder, watchSpoolId } from "./spool-folder.ts";

/** How long PostgreSQL has to hear that the spool is free; the next start on it waits some seconds else. */
const RELEASE_MS_MAX = 1_000;

/** Where reports are read. */
export interface ReaderPlace {
  readonly target: PostgresTarget;
}

export interface PostgresLedgerOptions extends LedgerOptions {
  readonly target: PostgresTarget;
  /** The connections of the serving thread, which asks them what was recorded. */
  readonly postgres: Postgres;
  readonly lock: ServerLock;
  readonly spoolId: string;
  readonly spool: Spool;
}

/**
 * The ledger of a replica: the folder `spool` of its data folder, and the tables that all replicas share. What a killed
 * process left in the spool is replayed in the background. The caller releases the lock when this throws.
 */
export function openLedger(options: PostgresLedgerOptions): Promise<OpenedLedger> {
  const { dataDir, target, postgres, lock, spoolId, spool, log } = options;
  return openLedgerOf<WriterPlace>(
    {
      journalDirectory: toSpoolFolder(dataDir),
      place: { target, spool: { id: spoolId, lane: spool.lane } },
      writerUrl: new URL("./postgres-writer-worker.ts", import.meta.url),
      readerUrl: new URL("./postgres-reader-worker.ts", import.meta.url),
      committed: spool.committed,
      run: { number: spool.run, isOvertaking: spool.isOvertaking },
      recorded: new RecordedBatches(postgres),
      watch: ({ standDown }) => [
        // First: the others are put back into it at the same look.
        watchFolder(dataDir),
        {
          name: basename(toLockPath(dataDir)),
          isInPlace: () => lock.isInPlace(),
          putBack: () => (lock.putBack() ? undefined : standDown()),
        },
        watchSpoolId(dataDir, spoolId),
      ],
      async release() {
        await withinLimit(releaseSpool(postgres, spool), RELEASE_MS_MAX, () => {
          throw new DatabaseUnreachableError("limit", { mayBeCommitted: true });
        }).catch((cause: unknown) =>
          log.warn("the database was not told that this spool is free", describeCause(cause)),
        );
        lock.release();
      },
    },
    options,
  );
}
