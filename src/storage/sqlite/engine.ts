import { join } from "node:path";
import type { LocalStorage, OpenOptions, StorageEngine } from "#storage/engine.ts";
import type { DataFiles } from "#storage/file-data.ts";
import { JOURNAL_NAME, USAGE_NAME } from "#storage/files/data-files.ts";
import { countDamagedLines } from "#storage/journal/segment-reader.ts";
import { findSegments } from "#storage/journal/segments.ts";
import { openCatalogDatabase, type CatalogDatabase } from "./catalog/catalog-database.ts";
import { findCatalogAge, inspectCatalog } from "./catalog/inspect.ts";
import { requireIntact, toCatalogPath } from "./file/open.ts";
import { openCatalogBesideServer, readCatalogDatabase } from "./catalog/local-catalog.ts";
import { isDamage, withSetupErrors } from "#storage/files/setup-errors.ts";
import { hasUsageDatabase, inspectUsage } from "./ledger/file/database.ts";
import { openLedgerReader } from "./ledger/ledger-reader.ts";

/** Embedded SQLite: `catalog.db` and `usage.db`, each with its write-ahead log. What only some commands need is loaded by them. */
export const sqliteEngine: StorageEngine = {
  async serve(options) {
    const { openStorage } = await import("./storage.ts");
    return openStorage(options);
  },
  openLocal,
  async rotateSecret(options) {
    const { rotateSecret } = await import("./catalog/rotate-secret.ts");
    return rotateSecret(options);
  },
  findCatalogAge: async (place) => findCatalogAge(toCatalogPath(place)),
  async makeCatalog(options) {
    await (await openCatalogDatabase({ ...options, path: toCatalogPath(options) })).close();
  },
  openLedgerReader,
  async checkLedger(options) {
    const { checkLedger } = await import("./ledger/check/check.ts");
    return checkLedger(options);
  },
  async checkLimits(options) {
    const { checkLimits } = await import("./ledger/check/limit-check.ts");
    return checkLimits(options);
  },
};

export const sqliteFiles: DataFiles = {
  inspect: {
    findCatalogAge,
    inspectCatalog,
    hasUsageDatabase,
    inspectUsage,
    requireIntact,
    countDamagedLines,
    hasJournal: (journalDirectory) => findSegments(journalDirectory).length > 0,
    isDamage,
  },
  copy: {
    async copyCatalog(path, target) {
      const { backUp } = await import("./file/copy.ts");
      backUp(path, target);
    },
    async copyLedger({ dataDir, ...options }) {
      const { snapshotLedger } = await import("./ledger/file/snapshot.ts");
      const databasePath = join(dataDir, USAGE_NAME);
      const journalDirectory = join(dataDir, JOURNAL_NAME);
      return snapshotLedger({ databasePath, journalDirectory, ...options }).catch((cause: unknown) =>
        withSetupErrors(databasePath, () => {
          throw cause;
        }),
      );
    },
  },
};

async function openLocal({ dataDir, ...options }: OpenOptions): Promise<LocalStorage> {
  const catalogOptions = { ...options, path: toCatalogPath(options) };
  const reading = await readCatalogDatabase(catalogOptions);
  const ledger = openLedgerReader({ dataDir, log: options.log });
  let writing: Promise<CatalogDatabase> | null = null;
  return {
    reading,
    forWriting: () => (writing ??= openCatalogBesideServer({ ...catalogOptions, dataDir })),
    findUnreadable: () => reading.findUnreadable(),
    ledger,
    async close() {
      await ledger.close();
      // One that could not be opened has said so to the caller that wanted to write.
      await (await writing?.catch(() => null))?.close();
      await reading.close();
    },
  };
}
