import type { Database } from "bun:sqlite";
import { join } from "node:path";
import { USAGE_NAME } from "#storage/files/data-files.ts";
import { withSetupErrors } from "#storage/files/setup-errors.ts";
import { openSqliteReader } from "#storage/sqlite/file/open.ts";
import { hasUsageDatabase, openForReading } from "#storage/sqlite/ledger/file/database.ts";

/** Opens a ledger to look at it while a server may write to it; null where none was made yet. */
export async function withUsageDatabase<Result>(
  dataDir: string,
  run: (database: Database) => Promise<Result>,
): Promise<Result | null> {
  const path = join(dataDir, USAGE_NAME);
  if (!hasUsageDatabase(path)) return null;
  // Open as long as the other, and closed after it: SQLite's read-only mode would leave the files behind that it needs.
  const keeper = openSqliteReader(path);
  try {
    const database = withSetupErrors(path, () => openForReading(path));
    try {
      return await run(database);
    } finally {
      database.close();
    }
  } finally {
    keeper.close();
  }
}
