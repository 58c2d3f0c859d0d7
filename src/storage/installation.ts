import type {
  CatalogStores,
  DataPlace,
  LocalStorage,
  OpenOptions,
  ServeOptions,
  Storage,
  StorageEngine,
  StorageSizes,
} from "./engine.ts";
import { measureFiles } from "./files/data-files.ts";
import { type LedgerSource, openLedgerReader, withLedger } from "./ledger-reader.ts";
import type { StorageHealth } from "#usage/gauges.ts";
import type { ServerLock } from "./files/folder-lock.ts";
import type { LedgerParts, OpenedLedger } from "./threads/ledger.ts";

/** An engine's own part of an installation. `openInstallation` puts the rest together, for every engine. */
export interface EngineDriver extends Pick<StorageEngine, "rotateSecret" | "findCatalogAge" | "makeCatalog"> {
  /** Opens the catalog for the one server of the folder, its schema brought up to date, and takes the ledger for it. */
  serve(options: ServeOptions, held: HeldFolder): Promise<ServerParts>;
  /** See `StorageEngine.openLocal`. */
  openLocal(options: OpenOptions, opened: AsyncDisposableStack): Promise<LocalParts>;
  findLedger(place: DataPlace): LedgerSource;
}

/** A data folder that no other server can take until it is closed. */
export interface HeldFolder {
  readonly lock: ServerLock;
  /** Closed with the installation, the last one first. */
  readonly opened: AsyncDisposableStack;
}

export interface ServerParts {
  readonly stores: CatalogStores;
  readonly ledger: LedgerParts;
  /** Shared with the other servers on the data, or this server's alone where there is no other. */
  readonly shared: Pick<
    Storage,
    "limitBoard" | "sharedAttempts" | "usedStates" | "slots" | "lane" | "wasServed"
  >;
  readonly health: (ledger: Pick<OpenedLedger, "gauges" | "uncommittedMs">) => StorageHealth;
  readonly measure: () => Promise<Pick<StorageSizes, "catalogBytes" | "usageBytes">>;
  /** Takes leave of other servers: begins beside the closing of the ledger. Absent where there are none. */
  readonly leave?: () => Promise<void>;
}

export interface LocalParts extends Pick<LocalStorage, "reading" | "forWriting" | "findUnreadable"> {
  readonly ledger: LedgerSource;
}

/** Makes the engine of a driver. A command starts without the code that only a server or a check needs. */
export function openInstallation(driver: EngineDriver): StorageEngine {
  return {
    serve: (options) => openServer(driver, options),
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

/** Opens everything for a server (`StorageEngine.serve`). It holds the data folder from before the first look at it until the end. */
function openServer(driver: EngineDriver, options: ServeOptions): Promise<Storage> {
  return closeOnFailure(async (opened) => {
    const { lockDataFolder } = await import("./files/folder-lock.ts");
    const { openLedger } = await import("./threads/ledger.ts");
    const lock = lockDataFolder(options.dataDir);
    opened.defer(() => lock.release());
    const { stores, ledger, shared, health, measure, leave } = await driver.serve(options, { lock, opened });
    const usage = openLedger(ledger, { ...options, lock });
    opened.defer(async () => {
      // Both may wait for a database that is silent: they do so at once, since no request is served any more.
      const leaving = leave?.();
      await usage.close();
      await leaving;
    });
    return {
      ...stores,
      ...usage,
      ...shared,
      ledgerGauges: () => usage.gauges(),
      health: () => health(usage),
      measure: async () => ({
        ...(await measure()),
        journalBytes: await measureFiles(ledger.journalDirectory),
      }),
      close: () => opened.disposeAsync(),
    };
  });
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

/** Runs `open`, and closes what it put on the stack when it throws. */
export async function closeOnFailure<Opened>(
  open: (opened: AsyncDisposableStack) => Promise<Opened>,
): Promise<Opened> {
  const opened = new AsyncDisposableStack();
  try {
    return await open(opened);
  } catch (cause) {
    await opened.disposeAsync().catch(() => undefined);
    throw cause;
  }
}
