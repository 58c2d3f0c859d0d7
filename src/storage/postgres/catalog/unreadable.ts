import { findUnreadableRows, type TextRow } from "#storage/catalog/unreadable-rows.ts";
import type { UnreadableRow } from "#storage/catalog/unreadable.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";

/** See `LocalStorage.findUnreadable`. */
export function findUnreadable(sql: Pick<Sql, "all">): Promise<readonly UnreadableRow[]> {
  return findUnreadableRows((text) => sql.all<TextRow>(text));
}
