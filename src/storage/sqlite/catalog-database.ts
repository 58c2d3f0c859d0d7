import type { Database } from "bun:sqlite";
import type { AuditStore } from "#audit/store.ts";
import type { CatalogStore } from "#catalog/store.ts";
import type { IdentityStore } from "#identity/store.ts";
import type { Clock } from "#kernel/clock.ts";
import { SetupError } from "#kernel/errors.ts";
import type { Log } from "#kernel/log.ts";
import { createAuditStore, createRecordAudit } from "./audit.ts";
import { createCatalogStore } from "./catalog.ts";
import { createConnection, type Freshness } from "./connection.ts";
import { createIdentityStore } from "./identity.ts";
import { migrate } from "./migrate.ts";
import { CATALOG_MIGRATIONS } from "./migrations.ts";
import { openSqlite, withSetupErrors } from "./open.ts";

export interface CatalogDatabaseOptions {
  readonly path: string;
  /** `SecretBox.checkValue`: remembered by a new database, compared with by an existing one. */
  readonly secretCheckValue: string;
  readonly clock: Clock;
  readonly log: Log;
  /** How often another process's writes are looked for; each time unless said otherwise. */
  readonly freshness?: Freshness;
}

export interface CatalogDatabase {
  readonly audit: AuditStore;
  readonly identity: IdentityStore;
  readonly catalog: CatalogStore;
  close(): Promise<void>;
}

/**
 * Opens catalog.db, making it or bringing its schema up to date. Several processes may have it open: each sees what the
 * others commit at its next call. Throws SetupError for a file that cannot be used and for a secret that is not its own.
 */
export async function openCatalogDatabase(options: CatalogDatabaseOptions): Promise<CatalogDatabase> {
  const { path, secretCheckValue, clock, log, freshness } = options;
  const client = openSqlite(path);
  try {
    const { applied, backupPath } = migrate(client, CATALOG_MIGRATIONS, {
      path,
      nowUs: clock.nowUs(),
      seed: () => client.prepare(INSERT_CHECK_VALUE).run(SECRET_CHECK_KEY, secretCheckValue),
    });
    if (applied.length > 0)
      log.info("catalog schema brought up to date", { to: applied.at(-1) ?? "", backup: backupPath });
    withSetupErrors(path, () => {
      requireSound(client, path);
      requireOwnSecret(client, path, secretCheckValue);
    });

    const connection = createConnection(client, clock, freshness);
    const recordAudit = createRecordAudit(connection, clock);
    return {
      audit: createAuditStore(connection),
      identity: createIdentityStore(connection, recordAudit),
      catalog: createCatalogStore(connection, recordAudit),
      close: async () => connection.close(),
    };
  } catch (cause) {
    client.close(true);
    throw cause;
  }
}

const SECRET_CHECK_KEY = "secret_check";
const INSERT_CHECK_VALUE = "INSERT INTO meta (key, value) VALUES (?, ?)";

/** The catalog is curated by hand and small, so that reading it whole costs less than meeting a damaged page under load. */
function requireSound(client: Database, path: string): void {
  const found = client.query<{ quick_check: string }, []>("PRAGMA quick_check(1)").get();
  if (found?.quick_check === "ok") return;
  throw new SetupError("configuration", `The database ${path} is damaged: restore it from a backup.`);
}

function requireOwnSecret(client: Database, path: string, secretCheckValue: string): void {
  const row = client
    .query<{ value: string }, [string]>("SELECT value FROM meta WHERE key = ?")
    .get(SECRET_CHECK_KEY);
  if (row?.value === secretCheckValue) return;
  throw new SetupError(
    "configuration",
    `The secret key is not the one that the database ${path} was made with: put the original secret.key or PROXY_SECRET_KEY back.`,
  );
}
