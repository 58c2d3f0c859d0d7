import type { Log } from "#kernel/log.ts";
import type { LedgerReader } from "#storage/engine.ts";
import { JournalBacklog } from "#storage/ledger/journal/backlog.ts";
import { findSegments, measureSegments } from "#storage/ledger/journal/segments.ts";
import type { AskedAs, QuestionKind } from "#storage/ledger/threads/messages.ts";
import { ReaderClient } from "#storage/ledger/threads/reader-client.ts";
import { createStats } from "#storage/ledger/threads/stats.ts";
import { openPostgres, type Postgres } from "#storage/postgres/connection/postgres.ts";
import type { PostgresTarget } from "#storage/postgres/connection/target.ts";
import type { ReaderPlace } from "./ledger.ts";
import { findSpoolId, toSpoolFolder } from "./spool-folder.ts";

/** A running server commits what its spool holds every 150 ms; several times that is waited for. */
const COMMIT_WAIT_MS_MAX = 1_000;
const COMMIT_POLL_MS = 50;
const CALL_MS_MAX = 5_000;

export interface LedgerReaderOptions {
  readonly target: PostgresTarget;
  /** May be one that no replica serves from: then nothing is waited for. */
  readonly dataDir: string;
  readonly log: Log;
}

/** The reports of all replicas for a process that only looks (`StorageEngine.openLedgerReader`). */
export function openLedgerReader({ target, dataDir, log }: LedgerReaderOptions): LedgerReader {
  let reader: ReaderClient<ReaderPlace> | null = null;
  const ask = <Kind extends QuestionKind>(
    asked: AskedAs<Kind>,
    { signal }: { readonly signal?: AbortSignal } = {},
  ) => {
    reader ??= new ReaderClient<ReaderPlace>({
      workerUrl: new URL("./postgres-reader-worker.ts", import.meta.url),
      place: { target },
      log,
      waitMsMax: null,
    });
    return reader.ask<Kind>(asked, { signal });
  };
  return {
    stats: createStats(ask, null),
    loadLastUsed: (ids) => ask<"loadLastUsed">({ kind: "loadLastUsed", question: { ids } }),
    limitLedger: {
      sumLimits: (limits, nowUs) => ask<"sumLimits">({ kind: "sumLimits", question: { limits, nowUs } }),
    },
    async settle() {
      const id = findSpoolId(dataDir);
      const folder = toSpoolFolder(dataDir);
      if (id === null || findSegments(folder).length === 0) return 0;
      const found = measureSegments(folder);
      const purpose = "command";
      const postgres = await openPostgres({
        target,
        purpose,
        connectionsMax: 1,
        callMsMax: CALL_MS_MAX,
        log,
      });
      try {
        return await untilCommitted(() => measureLeft(postgres, id, found));
      } finally {
        await postgres.close();
      }
    },
    async close() {
      await reader?.stop();
    },
  };
}

async function untilCommitted(measure: () => Promise<number>): Promise<number> {
  let bytes = await measure();
  for (let waitedMs = 0; bytes > 0 && waitedMs < COMMIT_WAIT_MS_MAX; waitedMs += COMMIT_POLL_MS) {
    await Bun.sleep(COMMIT_POLL_MS);
    bytes = await measure();
  }
  return bytes;
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
