import { join } from "node:path";
import type { Ids } from "#kernel/ids.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import { withinLimit } from "#kernel/timer.ts";
import { SPOOL_NAME } from "#storage/files/data-files.ts";
import { watchFolder } from "#storage/files/file-watch.ts";
import { withSetupErrors } from "#storage/files/setup-errors.ts";
import type { LedgerJournal, LedgerSource } from "#storage/ledger-reader.ts";
import { closeOnFailure, type HeldFolder } from "#storage/installation.ts";
import { findSegments } from "#storage/journal/segments.ts";
import type { LedgerParts } from "#storage/threads/ledger.ts";
import { DatabaseUnreachableError } from "#storage/postgres/connection/errors.ts";
import { findSchemaAge } from "#storage/postgres/connection/migrate.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";
import type { PostgresTarget } from "#storage/postgres/connection/target.ts";
import { readFrom } from "#storage/postgres/connection/drive.ts";
import type { WriterPlace } from "./postgres-writer-worker.ts";
import { RecordedBatches } from "./recorded-batches.ts";
import {
  claimSpool,
  findSpoolId,
  openSpoolFolder,
  releaseSpool,
  requireOwnInstallation,
  type Spool,
  toHolder,
  toSpoolFolder,
  watchSpoolNames,
} from "#storage/replicas/spool.ts";

/** PostgreSQL has this long to take in that the spool is free; else the next start on it waits some seconds. */
const RELEASE_MS_MAX = 1_000;
const READER_URL = new URL("./postgres-reader-worker.ts", import.meta.url);

/** Where reports are read. */
export interface ReaderPlace {
  readonly target: PostgresTarget;
}

export interface LedgerPlace extends ReaderPlace {
  readonly dataDir: string;
  /** The connections of the serving thread, which asks them what was recorded. */
  readonly postgres: Postgres;
}

export interface TakenLedger {
  readonly parts: LedgerParts;
  readonly spool: Spool;
}

/**
 * Takes the spool of a data folder for the server that holds its lock, until it is closed: the segments of one replica, and
 * its lane in the tables that all replicas share. Throws SetupError for a folder that cannot be used, or is another server's.
 */
export async function takeLedger(
  { dataDir, target, postgres }: LedgerPlace,
  { lock, opened, ids, log }: HeldFolder & { readonly ids: Pick<Ids, "randomBytes">; readonly log: Log },
): Promise<TakenLedger> {
  const id = withSetupErrors(join(dataDir, SPOOL_NAME), () => openSpoolFolder(dataDir, ids), "journal");
  const installation = await requireOwnInstallation(postgres, dataDir, ids);
  const spool = await claimSpool(postgres, { id, holder: toHolder(lock.file) });
  opened.defer(() => release(postgres, spool, log));
  const { lane } = spool;
  const parts = {
    journalDirectory: toSpoolFolder(dataDir),
    place: { target, spool: { id, lane } } satisfies WriterPlace,
    writerUrl: new URL("./postgres-writer-worker.ts", import.meta.url),
    readerUrl: READER_URL,
    committed: spool.committed,
    run: { number: spool.run, isOvertaking: spool.isOvertaking },
    recorded: new RecordedBatches(postgres),
    // The folder comes first: the other files are restored in it at the same poll.
    listFiles: ({ lockFile }) => [
      watchFolder(dataDir),
      lockFile,
      ...watchSpoolNames(dataDir, { id, installation }),
    ],
  } satisfies LedgerParts;
  return { parts, spool };
}

async function release(postgres: Postgres, spool: Spool, log: Log): Promise<void> {
  await withinLimit(releaseSpool(postgres, spool), RELEASE_MS_MAX, () => {
    throw new DatabaseUnreachableError("limit", { mayBeCommitted: true });
  }).catch((cause: unknown) =>
    log.warn("the database was not told that this spool is free", describeCause(cause)),
  );
}

/**
 * Finds the ledger of all replicas, and the spool of a data folder, from which no server needs to run. What `connect` returns
 * is closed with it.
 */
export function findLedger(
  { dataDir, target }: Omit<LedgerPlace, "postgres">,
  connect: () => Promise<Postgres>,
): LedgerSource {
  return {
    readerUrl: READER_URL,
    place: { target } satisfies ReaderPlace,
    open: () =>
      closeOnFailure(async (opened) => {
        const postgres = opened.use(await connect());
        if ((await findSchemaAge(postgres)) === "none") {
          await opened.disposeAsync();
          return null;
        }
        return {
          read: (script, signal) => readFrom(postgres, script, signal),
          findJournal: () => findJournal(postgres, dataDir),
          close: () => opened.disposeAsync(),
        };
      }),
  };
}

/** Null in a folder from which no replica has served on this database. */
async function findJournal(postgres: Postgres, dataDir: string): Promise<LedgerJournal | null> {
  const id = findSpoolId(dataDir);
  const directory = toSpoolFolder(dataDir);
  if (id === null || findSegments(directory).length === 0) return null;
  const [spool] = await postgres.all<{ lane: number }>("SELECT lane FROM spool WHERE id = $1", [id]);
  if (spool === undefined) return null;
  const position = `SELECT segment, "offset" FROM spool WHERE lane = ${spool.lane}`;
  return { directory, position, lane: spool.lane };
}
