import { Database } from "bun:sqlite";
import { SetupError } from "#kernel/errors.ts";
import {
  openCatalogDatabase,
  toCatalogDatabase,
  type CatalogDatabase,
  type CatalogDatabaseOptions,
} from "./catalog-database.ts";
import { findCatalogAge, toEmptyError } from "./inspect.ts";
import { findPending, migrate } from "#storage/sqlite/file/migrate.ts";
import { CATALOG_MIGRATIONS } from "./migrations.ts";
import { withSetupErrors } from "#storage/files/setup-errors.ts";
import { openSqliteReader } from "#storage/sqlite/file/open.ts";
import { tryLockDataFolder } from "#storage/files/folder-lock.ts";

/** Where the header of a database says how it is written and read: 1 is a rollback journal, 2 is WAL (sqlite.org/fileformat2.html, 1.3). */
const FORMAT_BYTES = [18, 19] as const;
const ROLLBACK_JOURNAL = 1;

/**
 * Opens a catalog that a server may be using, to look at it: no file is made or changed, and a step that writes
 * fails. One of an older schema is read as a copy in memory, brought up to date there: it shows what was committed when it was
 * opened. Throws SetupError like `openCatalogDatabase`, and when nothing is in the file.
 */
export async function readCatalogDatabase(options: CatalogDatabaseOptions): Promise<CatalogDatabase> {
  const { path } = options;
  let client = openSqliteReader(path);
  try {
    const pending = withSetupErrors(path, () => findPending(client, CATALOG_MIGRATIONS, path));
    if (pending.length === CATALOG_MIGRATIONS.length) throw toEmptyError(path);
    if (pending.length === 0) return toCatalogDatabase(client, options);
    const copy = copyToMemory(client, path);
    client.close(true);
    client = copy;
    migrate(client, CATALOG_MIGRATIONS, { path, nowUs: options.clock.nowUs(), isBackedUp: false });
    const database = toCatalogDatabase(client, options);
    client.run("PRAGMA query_only = ON");
    return database;
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

function copyToMemory(client: Database, path: string): Database {
  return withSetupErrors(path, () => {
    const bytes = client.serialize();
    // A database in memory has no log beside it, and one that says that it has does not open.
    for (const at of FORMAT_BYTES) bytes[at] = ROLLBACK_JOURNAL;
    return Database.deserialize(bytes, { strict: true });
  });
}
