import type { StorageHealth } from "#usage/health.ts";
import type {
  CatalogStores,
  LocalStorage,
  OpenOptions,
  ServeOptions,
  Storage,
  StorageEngine,
  StorageSizes,
} from "./engine.ts";
import type { ServerLock } from "./files/folder-lock.ts";
import type { LedgerSource } from "./ledger-reader.ts";
import type { DataPlace } from "./place.ts";
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
