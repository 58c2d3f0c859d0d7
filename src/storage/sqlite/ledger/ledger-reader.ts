import type { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { InstantUs } from "#kernel/clock.ts";
import type { Log } from "#kernel/log.ts";
import type { Bucket } from "#stats/bucket.ts";
import { encodeGroupedSeries, type GroupedSeries } from "#stats/series-groups.ts";
import type { StatsStore } from "#stats/store.ts";
import { encodeSummary } from "#stats/summary.ts";
import { hasUsageDatabase } from "#storage/sqlite/ledger/file/inspect.ts";
import { openSqliteReader, withSetupErrors } from "#storage/sqlite/file/open.ts";
import { USAGE_NAME, JOURNAL_NAME } from "#storage/files/data-files.ts";
import { JournalBacklog } from "#storage/ledger/journal/backlog.ts";
import { ReaderClient } from "#storage/ledger/threads/reader-client.ts";
import { readSchemaVersion } from "#storage/sqlite/ledger/file/schema-version.ts";
import { measureSegments, type JournalPosition } from "#storage/ledger/journal/segments.ts";

/** A running server commits what its journal holds every 50 ms; several times that is waited for. */
const COMMIT_WAIT_MS_MAX = 500;
const COMMIT_POLL_MS = 20;

/** The reports of a ledger for somebody who only looks, also while a server writes to it. */
export interface LedgerReader {
  readonly stats: Pick<StatsStore, "listRequests" | "readSeries" | "readGroupedSeries" | "readSummary">;
  loadLastUsed(ids: readonly string[]): Promise<ReadonlyMap<string, InstantUs>>;
  /**
   * Waits, shortly, until what the journal holds at this moment is in the database, and returns how many bytes of it are
   * not: above zero when a server was killed and has not been started since, and no report counts them yet.
   */
  settle(): Promise<number>;
  close(): Promise<void>;
}

export interface LedgerReaderOptions {
  readonly dataDir: string;
  readonly log: Log;
}

/**
 * Takes no lock and changes nothing. A ledger that no server has made yet is an empty one. The first question throws a
 * SetupError for a file that is not a usage database of this version.
 */
export function openLedgerReader({ dataDir, log }: LedgerReaderOptions): LedgerReader {
  const databasePath = join(dataDir, USAGE_NAME);
  const journalDirectory = join(dataDir, JOURNAL_NAME);
  let reader: ReaderClient | null = null;
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
  const findReader = (): ReaderClient | null =>
    findKeeper() === null
      ? null
      : (reader ??= new ReaderClient({
          workerUrl: new URL("./reader-worker.ts", import.meta.url),
          databasePath,
          log,
        }));

  return {
    stats: {
      async listRequests(query, page, options = {}) {
        const wanted = { ...page, isTotalWanted: options.isTotalWanted };
        const found = findReader()?.ask<"listRequests">(
          { kind: "listRequests", question: { query, page: wanted } },
          options,
        );
        return (await found) ?? { rows: [], total: 0, ...NO_NOTES };
      },
      async readSeries(question, options = {}) {
        const found = findReader()?.ask<"readSeries">({ kind: "readSeries", question }, options);
        return (await found) ?? { bucket: question.bucket, buckets: [], ...NO_NOTES };
      },
      async readGroupedSeries(question, options = {}) {
        const found = findReader()?.ask<"readGroupedSeries">(
          { kind: "readGroupedSeries", question },
          options,
        );
        return (await found) ?? { ...encodeGroupedSeries(toEmpty(question), question.grouping), ...NO_NOTES };
      },
      async readSummary(question, options = {}) {
        const found = findReader()?.ask<"readSummary">({ kind: "readSummary", question }, options);
        return (await found) ?? { ...encodeSummary([], question), ...NO_NOTES };
      },
    },
    async loadLastUsed(ids) {
      return (
        (await findReader()?.ask<"loadLastUsed">({ kind: "loadLastUsed", question: { ids } })) ?? new Map()
      );
    },
    async settle() {
      const database = findKeeper();
      if (database === null || !existsSync(journalDirectory)) return 0;
      const found = measureSegments(journalDirectory);
      const measure = () => new JournalBacklog(found, readCommitted(database)).bytes;
      let bytes = measure();
      for (let waitedMs = 0; bytes > 0 && waitedMs < COMMIT_WAIT_MS_MAX; waitedMs += COMMIT_POLL_MS) {
        await Bun.sleep(COMMIT_POLL_MS);
        bytes = measure();
      }
      return bytes;
    },
    async close() {
      await reader?.stop();
      keeper?.close();
    },
  };
}

function toEmpty({ bucket }: { readonly bucket: Bucket }): GroupedSeries {
  return { bucket, buckets: [], groups: [], groupCount: 0, other: null, ...NO_NOTES };
}

const NO_NOTES = { snapped: null, truncated: false } as const;

function readCommitted(database: Database): JournalPosition {
  const state = database
    .query<{ journal_segment: number; journal_offset: number }, []>(
      "SELECT journal_segment, journal_offset FROM ledger_state",
    )
    .get();
  return { segment: state?.journal_segment ?? 0, offsetBytes: state?.journal_offset ?? 0 };
}
