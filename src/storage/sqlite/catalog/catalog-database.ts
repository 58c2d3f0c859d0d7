import type { Database } from "bun:sqlite";
import type { Clock } from "#kernel/clock.ts";
import { createSystemIds } from "#kernel/ids.ts";
import type { Keyring } from "#kernel/keyring.ts";
import type { Log } from "#kernel/log.ts";
import { createCatalogStores } from "#storage/catalog/stores.ts";
import type { CatalogDriver } from "#storage/catalog/catalog-driver.ts";
import { StoreMemory } from "#storage/catalog/memory.ts";
import type { CatalogStores } from "#storage/engine.ts";
import { findUnreadableRows, type UnreadableRow } from "#storage/catalog/unreadable.ts";
import { CatalogFile } from "./catalog-file.ts";
import { createConnection } from "./connection.ts";
import { createSqliteDriver } from "./driver.ts";
import { createLogSync } from "./log-sync.ts";
import { migrate } from "#storage/sqlite/file/migrate.ts";
import { requireOwnSecret } from "#storage/catalog/secret-state.ts";
import { drive } from "#storage/sqlite/drive.ts";
import { CATALOG_MIGRATIONS } from "./migrations.ts";
import { withSetupErrors } from "#storage/files/setup-errors.ts";
import { openSqlite, requireSound } from "#storage/sqlite/file/open.ts";

export interface CatalogDatabaseOptions {
  readonly path: string;
  /** Its check value is remembered by a new database, and compared with by an existing one. It follows the file's secrets. */
  readonly secrets: Keyring;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * For a server, on whose thread requests wait: another process's writes are looked for once per turn of the event loop,
   * and commits are synced away from the thread.
   */
  readonly isServing?: boolean;
}

export interface CatalogDatabase extends CatalogStores {
  /** Null where it does not serve. */
  readonly file: CatalogFile | null;
  readonly change: CatalogDriver["change"];
  /** See `LocalStorage.findUnreadable`. */
  findUnreadable(): Promise<readonly UnreadableRow[]>;
  close(): Promise<void>;
}

/**
 * Opens catalog.db, making it or bringing its schema up to date. Several processes may have it open: each sees what the
 * others commit at its next call. Throws SetupError for a file that cannot be used and for a secret that is not its own.
 */
export async function openCatalogDatabase(options: CatalogDatabaseOptions): Promise<CatalogDatabase> {
  const { path, secrets, clock, log } = options;
  const client = openSqlite(path);
  try {
    const { applied, backupPath } = migrate(client, CATALOG_MIGRATIONS, {
      path,
      nowUs: clock.nowUs(),
      seed: () => drive(client, requireOwnSecret(secrets, `the database ${path}`)),
    });
    // All of them make a new database, which is no news.
    if (applied.length > 0 && applied.length < CATALOG_MIGRATIONS.length)
      log.info("catalog schema brought up to date", { to: applied.at(-1) ?? "", backup: backupPath });
    return toCatalogDatabase(client, options);
  } catch (cause) {
    client.close(true);
    throw cause;
  }
}

/** The stores of a connection whose schema is current. Throws a SetupError for a damaged file and for a secret that is not its own. */
export function toCatalogDatabase(
  client: Database,
  { path, secrets, clock, log, isServing = false }: CatalogDatabaseOptions,
): CatalogDatabase {
  withSetupErrors(path, () => {
    // The catalog is curated by hand and small: reading it whole costs less than meeting a damaged page under load.
    requireSound(client, path, "quick_check");
    // A rotation may have ended since the secret key was read.
    drive(client, requireOwnSecret(secrets, `the database ${path}`));
  });
  const file = isServing ? new CatalogFile(client, path, log) : null;
  const connection = createConnection(client, clock, {
    file,
    freshness: isServing ? "turn" : "call",
    logSync: isServing ? createLogSync(client, { path, log }) : null,
  });
  const memory = new StoreMemory({ secrets, log, hasAllSecrets: false });
  const driver = createSqliteDriver({ client, connection, memory, clock, ids: createSystemIds(), isServing });
  return {
    file,
    change: (script) => driver.change(script),
    ...createCatalogStores(driver, { isShared: false }),
    findUnreadable: () => driver.read(findUnreadableRows),
    close: () => connection.close(),
  };
}
