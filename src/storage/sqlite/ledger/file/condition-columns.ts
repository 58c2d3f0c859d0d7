import type { Database } from "bun:sqlite";
import { SQLITE } from "#storage/ledger/queries/dialect.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";

export const RESULT_ONCE_SQL =
  "CREATE UNIQUE INDEX result_once ON result (outcome, ifnull(error_kind, ''), status_code, ifnull(failure, ''));";

function hasConditionColumns(database: Database): boolean {
  return database.query(SQLITE.conditions).get() !== null;
}

/**
 * Adds the tier of label sets and the failure of results to a ledger from before them, and gives relayed requests that only
 * asked or counted the shape that tells so: until then none of them had one.
 */
export function ensureConditionColumns(database: Database): void {
  if (hasConditionColumns(database)) return;
  database.run("BEGIN IMMEDIATE");
  try {
    // Asked again under the lock: another process may have added them meanwhile.
    if (!hasConditionColumns(database)) {
      database.run("ALTER TABLE combination ADD COLUMN tier TEXT");
      database.run("ALTER TABLE result ADD COLUMN failure TEXT");
      database.run("DROP INDEX result_once");
      database.run(RESULT_ONCE_SQL);
      database.run(
        `UPDATE combination SET shape = 'exclusive' WHERE shape IS NULL AND provider_id = '${RELAY_PROVIDER}'
           AND (endpoint LIKE '%/count_tokens' OR endpoint LIKE '/v1/models%' OR endpoint LIKE '/api/event_logging/%')`,
      );
    }
    database.run("COMMIT");
  } finally {
    if (database.inTransaction) database.run("ROLLBACK");
  }
}
