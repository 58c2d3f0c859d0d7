import { join } from "node:path";
import type { LedgerCheck, LedgerCheckOptions } from "#storage/ledger-check.ts";
import { JOURNAL_NAME } from "#storage/files/data-files.ts";
import { checkWith } from "#storage/check/ledger-check.ts";
import { readInTurns } from "#storage/sqlite/drive.ts";
import { withUsageDatabase } from "./usage-database.ts";

/** See `StorageEngine.checkLedger`. */
export function checkLedger({
  dataDir,
  ...options
}: Omit<LedgerCheckOptions, "database">): Promise<LedgerCheck | null> {
  const journal = {
    directory: join(dataDir, JOURNAL_NAME),
    position: "SELECT journal_segment AS segment, journal_offset AS offset FROM ledger_state",
    lane: null,
  };
  return withUsageDatabase(dataDir, (database) =>
    checkWith((reading) => readInTurns(database, reading), journal, options),
  );
}
