import type { Clock } from "#kernel/clock.ts";
import type { Log } from "#kernel/log.ts";
import type { KeyUseStore } from "#identity/store.ts";
import type { StatsStore } from "#stats/store.ts";
import type { LedgerGauges } from "#usage/gauges.ts";
import type { UsageLedger } from "#usage/store.ts";
import { openCatalogDatabase, type CatalogDatabase } from "#storage/sqlite/catalog/catalog-database.ts";
import { openLedger } from "#storage/sqlite/ledger/ledger.ts";
import { lockDataFolder } from "#storage/sqlite/file/folder-lock.ts";

/** Everything that a server keeps: the catalog's stores and the usage ledger. One engine today, embedded SQLite. */
export interface Storage extends CatalogDatabase {
  readonly ledger: UsageLedger;
  readonly keyUse: KeyUseStore;
  readonly stats: StatsStore;
  /** How the ledger is doing; asks no file, so that it can be told while the disk fails. */
  ledgerGauges(): LedgerGauges;
  /** Hands what was recorded to the disk and lets go of all files. */
  close(): Promise<void>;
}

export interface StorageOptions {
  /** The file of the catalog database; its folder exists. */
  readonly databasePath: string;
  /** The folder of the usage database and its journal. */
  readonly dataDir: string;
  readonly secretCheckValue: string;
  /** Whether the usage journal is synced at intervals or before each response ends. */
  readonly ledgerSync: "interval" | "request";
  /** Null keeps the request log for ever. */
  readonly usageRetentionDays: number | null;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Opens both databases for a server. A local command opens the catalog alone, with `openCatalogDatabase`.
 * Throws SetupError; nothing stays open then.
 */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  const { databasePath, dataDir, secretCheckValue, ledgerSync, usageRetentionDays, clock, log } = options;
  // Before the catalog is brought up to date: another server may be at work on it, perhaps of an older version.
  lockDataFolder(dataDir).release();
  const database = await openCatalogDatabase({
    path: databasePath,
    secretCheckValue,
    clock,
    log,
    freshness: "turn",
  });
  try {
    const usage = await openLedger({
      dataDir,
      clock,
      log,
      sync: ledgerSync,
      retentionDays: usageRetentionDays,
    });
    return {
      audit: database.audit,
      identity: database.identity,
      catalog: database.catalog,
      ledger: usage.ledger,
      keyUse: usage.keyUse,
      stats: usage.stats,
      ledgerGauges: () => usage.gauges(),
      async close() {
        // The ledger first: what it still holds is worth more than anything that could go wrong afterwards.
        try {
          await usage.close();
        } finally {
          await database.close();
        }
      },
    };
  } catch (cause) {
    await database.close();
    throw cause;
  }
}
