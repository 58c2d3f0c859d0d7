import { join } from "node:path";
import { SILENT_LOG } from "#kernel/log.ts";
import { createRecordAudit } from "#storage/catalog/audit.ts";
import { rotateSecret } from "#storage/catalog/secret-state.ts";
import type { DataFiles } from "#storage/file-data.ts";
import { JOURNAL_NAME, USAGE_NAME } from "#storage/files/data-files.ts";
import { countDamagedLines } from "#storage/journal/segment-reader.ts";
import { findSegments } from "#storage/journal/segments.ts";
import { openCatalogDatabase } from "./catalog/catalog-database.ts";
import { findCatalogAge, inspectCatalog } from "./catalog/inspect.ts";
import { requireIntact, toCatalogPath } from "./file/open.ts";
import { openCatalogBesideServer, readCatalogDatabase } from "./catalog/local-catalog.ts";
import { openInstallation } from "#storage/installation.ts";
import { isDamage, withSetupErrors } from "#storage/files/setup-errors.ts";
import { hasUsageDatabase, inspectUsage } from "./ledger/file/database.ts";
import { findLedger } from "./ledger/ledger.ts";

/** Embedded SQLite: `catalog.db` and `usage.db`, each with its write-ahead log. What only some commands need is loaded by them. */
export const sqliteEngine = openInstallation({
  async serve(options, held) {
    const { serve } = await import("./serve.ts");
    return serve(options, held);
  },
  async openLocal(options, opened) {
    const catalogOptions = { ...options, path: toCatalogPath(options) };
    const reading = opened.adopt(await readCatalogDatabase(catalogOptions), (one) => one.close());
    return {
      reading,
      forWriting: async () =>
        opened.adopt(await openCatalogBesideServer(catalogOptions), (one) => one.close()),
      findUnreadable: () => reading.findUnreadable(),
      ledger: findLedger(options.dataDir),
    };
  },
  async rotateSecret({ next, revokesKeys, ...options }) {
    const catalogOptions = { ...options, path: toCatalogPath(options) };
    // Brought up to date first; its check of the present secret is repeated under the lock.
    await (await openCatalogBesideServer(catalogOptions)).close();
    // This process has done it itself: that the secret key was rotated is no news of it.
    const database = await openCatalogDatabase({ ...catalogOptions, log: SILENT_LOG });
    const { secrets, clock } = options;
    try {
      return await database.change(() =>
        rotateSecret({ secrets, next, revokesKeys }, createRecordAudit(clock)),
      );
    } finally {
      await database.close();
    }
  },
  findCatalogAge: async (place) => findCatalogAge(toCatalogPath(place)),
  async makeCatalog(options) {
    await (await openCatalogDatabase({ ...options, path: toCatalogPath(options) })).close();
  },
  findLedger: ({ dataDir }) => findLedger(dataDir),
});

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
