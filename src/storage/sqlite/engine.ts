import { SILENT_LOG } from "#kernel/log.ts";
import { rotateSecret } from "#storage/catalog/rotation.ts";
import {
  findCatalogAge,
  openCatalogBesideServer,
  openCatalogDatabase,
  readCatalogDatabase,
} from "./catalog/catalog-database.ts";
import { toCatalogPath } from "./file/open.ts";
import { openInstallation } from "#storage/installation.ts";
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
    const { secrets } = options;
    try {
      return await database.change(() => rotateSecret({ secrets, next, revokesKeys }));
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
