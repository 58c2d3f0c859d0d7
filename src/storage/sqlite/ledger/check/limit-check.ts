import type { LimitCheck, LimitCheckOptions } from "#storage/ledger-check.ts";
import { checkLimits as readLimits } from "#storage/check/limit-check.ts";
import { readInTurns } from "#storage/sqlite/drive.ts";
import { withUsageDatabase } from "./usage-database.ts";

/** See `StorageEngine.checkLimits`. */
export function checkLimits({
  dataDir,
  ...options
}: Omit<LimitCheckOptions, "database">): Promise<LimitCheck | null> {
  return withUsageDatabase(dataDir, (database) => readInTurns(database, readLimits(options)));
}
