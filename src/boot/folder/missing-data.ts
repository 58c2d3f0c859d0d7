import { statSync } from "node:fs";
import { dirname, join } from "node:path";
import { isRightsCode, systemCode } from "#kernel/system-code.ts";
import { CATALOG_NAME, JOURNAL_NAME, USAGE_NAME } from "#storage/files/data-files.ts";
import { files } from "#boot/settings/engine.ts";
import type { FilePlace } from "#boot/settings/config.ts";
import type { Finding } from "./finding.ts";

/** A database that had been there, in words. */
export interface MissingData extends Finding {
  readonly database: typeof CATALOG_NAME | typeof USAGE_NAME;
}

/**
 * What an installation has lost; null when it is whole, and while its first start is to come or was cut off: that makes
 * the catalog first, the usage database after it, and the journal last. Throws a `SetupError` for a catalog that cannot be
 * looked at.
 */
export function findMissingData({
  dataDir,
  database: { path: databasePath },
}: FilePlace): MissingData | null {
  const usagePath = join(dataDir, USAGE_NAME);
  const journal = join(dataDir, JOURNAL_NAME);
  const hasUsage = hasContent(usagePath);
  const hasJournal = files.inspect.hasJournal(journal);
  if (!hasUsage && !hasJournal) return null;
  const back = "restore a backup (lockport restore FILE --force), or put the file back";
  if (files.inspect.findCatalogAge(databasePath) === "none") {
    const setting = dirname(databasePath) === dataDir ? "" : ", or correct PROXY_DATABASE_URL";
    return {
      database: CATALOG_NAME,
      finding: `${databasePath} is missing beside ${hasUsage ? usagePath : journal}, so all keys and providers would be gone`,
      advice: `${back}${setting}; to begin with an empty installation, move ${usagePath}* and ${journal} away`,
    };
  }
  if (hasUsage) return null;
  return {
    database: USAGE_NAME,
    finding: `${usagePath} is missing beside ${journal}, so all recorded requests would be gone`,
    advice: `${back}; to go on without them, move ${journal} away`,
  };
}

/** An empty file is what a first start leaves that was cut off. Of a folder that is closed to this user nothing is known. */
function hasContent(path: string): boolean {
  try {
    return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
  } catch (cause) {
    if (isRightsCode(systemCode(cause))) return false;
    throw cause;
  }
}
