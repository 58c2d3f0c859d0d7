import { Database } from "bun:sqlite";
import { SetupError } from "#kernel/errors.ts";
import { createSystemIds } from "#kernel/ids.ts";
import type { CatalogDriver } from "#storage/catalog/catalog-driver.ts";
import { StoreMemory } from "#storage/catalog/memory.ts";
import { readSecretState, requireOwnSecret } from "#storage/catalog/secret-state.ts";
import { createCatalogStores } from "#storage/catalog/stores.ts";
import { findUnreadableRows, type UnreadableRow } from "#storage/catalog/unreadable.ts";
import type { CatalogStores, DatabaseAge, OpenOptions } from "#storage/engine.ts";
import { tryLockDataFolder } from "#storage/files/folder-lock.ts";
import { withSetupErrors } from "#storage/files/setup-errors.ts";
import { drive } from "#storage/sqlite/drive.ts";
import { findPending, migrate } from "#storage/sqlite/file/migrate.ts";
import {
  hasFile,
  openSqlite,
  openSqliteReader,
  requireSound,
  withReader,
} from "#storage/sqlite/file/open.ts";
import { createSqliteDriver } from "./catalog-driver.ts";
import { type CatalogFile, createCatalogFile } from "./catalog-file.ts";
import { createLogSync } from "./log-sync.ts";
import { MIGRATIONS } from "./migrations.ts";

export interface CatalogDatabaseOptions extends Pick<OpenOptions, "secrets" | "clock" | "log"> {
  readonly path: string;
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
  const { path, secrets, log } = options;
  const client = openSqlite(path);
  try {
    const { applied, backupPath } = migrate(client, MIGRATIONS, {
      path,
      seed: () => drive(client, requireOwnSecret(secrets, `the database ${path}`)),
    });
    // All of them make a new database, which is no news.
    if (applied.length > 0 && applied.length < MIGRATIONS.length)
      log.info("catalog schema brought up to date", { to: applied.at(-1) ?? "", backup: backupPath });
    return toCatalogDatabase(client, options);
  } catch (cause) {
    client.close(true);
    throw cause;
  }
}

interface BesideServerOptions extends CatalogDatabaseOptions {
  /** The folder whose lock says whether a server runs on the catalog. */
  readonly dataDir: string;
}

/**
 * Opens the same to change it, with a schema that is brought up to date only while no server has the folder: it would not
 * start again on one that is newer than itself. Throws SetupError when one has.
 */
export async function openCatalogBesideServer({
  dataDir,
  ...options
}: BesideServerOptions): Promise<CatalogDatabase> {
  if (findCatalogAge(options.path) === "current") return openCatalogDatabase(options);
  const lock = tryLockDataFolder(dataDir);
  if (lock === null) {
    throw new SetupError(
      "configuration",
      `A server of an older version runs from ${dataDir}: start it again with this executable, or run the command with the server's own.`,
    );
  }
  try {
    return await openCatalogDatabase(options);
  } finally {
    lock.release();
  }
}

/**
 * Opens a catalog that a server may be using, to look at it: no file is made or changed, and a step that writes
 * fails. One of an older schema is read as a copy in memory, brought up to date there: it shows what was committed when it was
 * opened. Throws SetupError like `openCatalogDatabase`, and when nothing is in the file.
 */
export async function readCatalogDatabase(options: CatalogDatabaseOptions): Promise<CatalogDatabase> {
  const { path } = options;
  let client = openSqliteReader(path);
  try {
    const pending = withSetupErrors(path, () => findPending(client, MIGRATIONS, path));
    if (pending.length === MIGRATIONS.length) throw toEmptyError(path);
    if (pending.length === 0) return toCatalogDatabase(client, options);
    const copy = copyToMemory(client, path);
    client.close(true);
    client = copy;
    migrate(client, MIGRATIONS, { path, isBackedUp: false });
    const database = toCatalogDatabase(client, options);
    client.run("PRAGMA query_only = ON");
    return database;
  } catch (cause) {
    client.close(true);
    throw cause;
  }
}

/** Where the header of a database says how it is written and read: 1 is a rollback journal, 2 is WAL (sqlite.org/fileformat2.html, 1.3). */
const FORMAT_BYTES = [18, 19] as const;
const ROLLBACK_JOURNAL = 1;

function copyToMemory(client: Database, path: string): Database {
  return withSetupErrors(path, () => {
    const bytes = client.serialize();
    // A database in memory has no log beside it, and one that says that it has does not open.
    for (const at of FORMAT_BYTES) bytes[at] = ROLLBACK_JOURNAL;
    return Database.deserialize(bytes, { strict: true });
  });
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
  const file = isServing ? createCatalogFile(client, path, log) : null;
  const driver = createSqliteDriver(client, {
    memory: new StoreMemory({ secrets, log, clock, hasAllSecrets: false }),
    clock,
    ids: createSystemIds(),
    serving: file === null ? null : { file, logSync: createLogSync(client, { path, log }) },
  });
  return {
    file,
    change: driver.change,
    ...createCatalogStores(driver),
    findUnreadable: () => driver.read(findUnreadableRows),
    close: driver.close,
  };
}

/** Tells whether there is a catalog, and of which age. Changes nothing. Throws a SetupError for a file that is damaged, foreign or newer. */
export function findCatalogAge(path: string): DatabaseAge {
  if (!hasFile(path)) return "none";
  return withReader(path, (database) => {
    const pending = findPending(database, MIGRATIONS, path).length;
    if (pending === 0) return "current";
    return pending === MIGRATIONS.length ? "none" : "older";
  });
}

interface CatalogFacts {
  /** The last migration that was applied. */
  readonly schema: string;
  /** False: the next start brings it up to date. */
  readonly isCurrent: boolean;
  /** `SecretBox.checkValue` of the secret key that it was made with; null when that is not in it. */
  readonly secretCheckValue: string | null;
}

/** Inspects a catalog and changes nothing. Throws a SetupError for a file that is damaged, foreign or newer. */
export function inspectCatalog(path: string): CatalogFacts {
  return withReader(path, (database) => {
    const pending = findPending(database, MIGRATIONS, path);
    const last = MIGRATIONS.at(-1 - pending.length);
    if (last === undefined) throw toEmptyError(path);
    const secretCheckValue = drive(database, readSecretState())?.checkValue ?? null;
    const isCurrent = pending.length === 0;
    return { schema: last.name, isCurrent, secretCheckValue };
  });
}

/** For a database in which nothing was made, as a start leaves it that was cut off. */
function toEmptyError(path: string): SetupError {
  return new SetupError(
    "configuration",
    `The file ${path} is an empty database: the next start of the server makes a catalog of it, or restore a backup.`,
  );
}
