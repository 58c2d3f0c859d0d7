import { isDamage } from "#storage/files/setup-errors.ts";
import { countDamagedLines } from "#storage/journal/segment-reader.ts";
import { findSegments } from "#storage/journal/segments.ts";
import { findCatalogAge, inspectCatalog } from "./catalog/catalog-database.ts";
import { requireIntact } from "./file/open.ts";
import { hasUsageDatabase, inspectUsage } from "./ledger/file/database.ts";
import type { SnapshotOptions } from "./ledger/file/snapshot.ts";

/** The operations that only data in files has; a backup has such files in it whatever engine is in use. */
export const sqliteFiles = {
  /** Looks at data, also while a server uses it, and changes nothing. */
  inspect: {
    findCatalogAge,
    inspectCatalog,
    hasUsageDatabase,
    inspectUsage,
    requireIntact,
    countDamagedLines,
    /** False also for a folder that is absent or closed to this user. */
    hasJournal: (journalDirectory: string) => findSegments(journalDirectory).length > 0,
    isDamage,
  },
  /** Copies data that a server may be writing to, as a backup holds it. */
  copy: {
    async copyCatalog(path: string, target: string): Promise<void> {
      const { backUp } = await import("./file/copy.ts");
      backUp(path, target);
    },
    async copyLedger(options: SnapshotOptions): Promise<readonly string[]> {
      const { snapshotLedger } = await import("./ledger/file/snapshot.ts");
      return snapshotLedger(options);
    },
  },
};
