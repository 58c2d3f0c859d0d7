import type { Database, Statement } from "bun:sqlite";
import { onConflict, type TotalTable } from "#storage/ledger/rows/total-columns.ts";

export type Binding = string | number | null;

/** Takes keys and measures; adds to the row that is there. */
export function prepareAdd(database: Database, total: TotalTable): Statement<unknown, Binding[]> {
  const columns = [...total.keys, ...total.measures];
  return database.prepare(
    `INSERT INTO ${total.table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")}) ${onConflict(total)}`,
  );
}
