import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ServeOptions, Storage } from "#storage/engine.ts";
import { JOURNAL_NAME, USAGE_NAME, measureDatabase, measureFiles } from "#storage/files/data-files.ts";
import type { LedgerSync } from "#storage/place.ts";
import { OWN_SLOTS } from "#catalog/slots.ts";
import { createOwnAttempts } from "#identity/attempts.ts";
import { createUsedStates } from "#identity/sso-state.ts";
import { openCatalogDatabase } from "./catalog/catalog-database.ts";
import { toCatalogPath } from "./file/open.ts";
import { lockDataFolder } from "#storage/files/folder-lock.ts";
import { openLedger } from "./ledger/ledger.ts";

/** Opens both databases for a server (`StorageEngine.serve`). */
export async function openStorage(options: ServeOptions): Promise<Storage> {
  const { dataDir, clock, log } = options;
  // Before the catalog is brought up to date: another server may be at work on it, perhaps of an older version.
  lockDataFolder(dataDir).release();
  const wasServed = existsSync(join(dataDir, USAGE_NAME));
  const path = toCatalogPath(options);
  const database = await openCatalogDatabase({ ...options, path, isServing: true });
  try {
    const usage = await openLedger({
      dataDir,
      clock,
      log,
      sync: toJournalSync(options.ledgerSync),
      retentionDays: options.usageRetentionDays,
      watched: database.file === null ? [] : [database.file.toWatched()],
    });
    return {
      audit: database.audit,
      identity: database.identity,
      catalog: database.catalog,
      limits: database.limits,
      notices: database.notices,
      responses: database.responses,
      ledger: usage.ledger,
      keyUse: usage.keyUse,
      stats: usage.stats,
      limitLedger: usage.limitLedger,
      sharedAttempts: createOwnAttempts(clock),
      usedStates: createUsedStates(clock),
      limitBoard: null,
      slots: OWN_SLOTS,
      lane: 0,
      wasServed,
      health: () => ({ isServing: database.file?.isInPlace() !== false, replica: null }),
      ledgerGauges: () => usage.gauges(),
      measure: async () => ({
        catalogBytes: await measureDatabase(path),
        usageBytes: await measureDatabase(join(dataDir, USAGE_NAME)),
        journalBytes: await measureFiles(join(dataDir, JOURNAL_NAME)),
      }),
      maintain: () => usage.maintain(),
      superseded: usage.superseded,
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

/** The settings refuse the third value without a database that is apart from the journal. */
function toJournalSync(sync: LedgerSync): "interval" | "request" {
  if (sync === "database") throw new TypeError("the ledger's database is a file beside its journal");
  return sync;
}
