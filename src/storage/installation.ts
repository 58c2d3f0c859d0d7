import { closeOnFailure, type EngineDriver } from "./driver.ts";
import type { CatalogStores, LocalStorage, OpenOptions, StorageEngine } from "./engine.ts";
import { openLedgerReader, withLedger } from "./ledger-reader.ts";

/** Makes the engine of a driver. A command starts without the code that only a server or a check needs. */
export function openInstallation(driver: EngineDriver): StorageEngine {
  return {
    async serve(options) {
      const { openServer } = await import("./server.ts");
      return openServer(driver, options);
    },
    openLocal: (options) => openLocal(driver, options),
    rotateSecret: (options) => driver.rotateSecret(options),
    findCatalogAge: (place) => driver.findCatalogAge(place),
    makeCatalog: (options) => driver.makeCatalog(options),
    openLedgerReader: ({ log, ...place }) => openLedgerReader(driver.findLedger(place), log),
    async checkLedger(options) {
      const { checkWith } = await import("./check/ledger-check.ts");
      return withLedger(driver.findLedger(options), async ({ read, findJournal }) =>
        checkWith((script) => read(script, options.signal), await findJournal(), options),
      );
    },
    async checkLimits(options) {
      const { checkLimits } = await import("./check/limit-check.ts");
      return withLedger(driver.findLedger(options), ({ read }) => read(checkLimits(options), options.signal));
    },
  };
}

async function openLocal(driver: EngineDriver, options: OpenOptions): Promise<LocalStorage> {
  return closeOnFailure(async (opened) => {
    const { reading, forWriting, findUnreadable, ledger } = await driver.openLocal(options, opened);
    const reader = opened.adopt(openLedgerReader(ledger, options.log), (one) => one.close());
    let writing: Promise<CatalogStores> | null = null;
    return {
      reading,
      forWriting: () => (writing ??= forWriting()),
      findUnreadable,
      ledger: reader,
      close: () => opened.disposeAsync(),
    };
  });
}
