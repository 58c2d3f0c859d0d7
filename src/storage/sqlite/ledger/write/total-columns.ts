import type { Database, Statement } from "bun:sqlite";
import { onConflict, type TotalTable } from "#storage/cells/total-columns.ts";

export type Binding = string | number | null;

/** Takes keys; drops the row when it was left with nothing. */
export function prepareDropEmpty(
  database: Database,
  { table, keys }: Pick<TotalTable, "table" | "keys">,
): Statement<unknown, Binding[]> {
  return database.prepare(`DELETE FROM ${table} WHERE ${toIsKey(keys)} AND requests = 0`);
}

/** Takes the values of `last`, then keys. */
export function prepareLast(
  database: Database,
  { table, keys }: Pick<TotalTable, "table" | "keys">,
  last: string,
): Statement<unknown, Binding[]> {
  return database.prepare(`UPDATE ${table} AS t SET last_seen_us = ${last} WHERE ${toIsKey(keys)}`);
}

function toIsKey(keys: readonly string[]): string {
  return keys.map((key) => `${key} = ?`).join(" AND ");
}

/** Takes keys and measures; adds to the row that is there. */
export function prepareAdd(database: Database, total: TotalTable): Statement<unknown, Binding[]> {
  const columns = [...total.keys, ...total.measures];
  return database.prepare(
    `INSERT INTO ${total.table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")}) ${onConflict(total)}`,
  );
}
