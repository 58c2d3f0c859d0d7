import type { Log } from "#kernel/log.ts";
import type { LedgerReader } from "#storage/engine.ts";
import { JournalBacklog } from "#storage/journal/backlog.ts";
import { findSegments, measureSegments } from "#storage/journal/segments.ts";
import { type Ask, createReadings, untilCommitted } from "#storage/threads/readings.ts";
import { ReaderClient } from "#storage/threads/reader-client.ts";
import { PURPOSES } from "#storage/postgres/connection/limits.ts";
import { openPostgres, type Postgres } from "#storage/postgres/connection/postgres.ts";
import type { PostgresTarget } from "#storage/postgres/connection/target.ts";
import type { ReaderPlace } from "./ledger.ts";
import { findSpoolId, toSpoolFolder } from "./spool-folder.ts";

/** A running server commits what its spool holds every 150 ms; several times that is waited for. */
const COMMIT_WAIT = { waitMsMax: 1_000, pollMs: 50 };

export interface LedgerReaderOptions {
  readonly target: PostgresTarget;
  /** May be one that no replica serves from: then nothing is waited for. */
  readonly dataDir: string;
  readonly log: Log;
}

/** The reports of all replicas for a process that only looks (`StorageEngine.openLedgerReader`). */
export function openLedgerReader({ target, dataDir, log }: LedgerReaderOptions): LedgerReader {
  let reader: ReaderClient<ReaderPlace> | null = null;
  const ask: Ask = (name, question, options) => {
    reader ??= new ReaderClient<ReaderPlace>({
      workerUrl: new URL("./postgres-reader-worker.ts", import.meta.url),
      place: { target },
      log,
      waitMsMax: null,
    });
    return reader.ask(name, question, options);
  };
  return {
    ...createReadings(ask),
    async settle() {
      const id = findSpoolId(dataDir);
      const folder = toSpoolFolder(dataDir);
      if (id === null || findSegments(folder).length === 0) return 0;
      const found = measureSegments(folder);
      const postgres = await openPostgres({ target, ...PURPOSES.command, log });
      try {
        return await untilCommitted(() => measureLeft(postgres, id, found), COMMIT_WAIT);
      } finally {
        await postgres.close();
      }
    },
    async close() {
      await reader?.stop();
    },
  };
}

/** How much of what the segments held is not in the database. */
async function measureLeft(
  postgres: Postgres,
  id: string,
  found: ReadonlyMap<number, number>,
): Promise<number> {
  const [row] = await postgres.all<{ segment: number; offset: number }>(
    'SELECT segment, "offset" FROM spool WHERE id = $1',
    [id],
  );
  const position = { segment: row?.segment ?? 0, offsetBytes: row?.offset ?? 0 };
  return new JournalBacklog(found, position).bytes;
}
