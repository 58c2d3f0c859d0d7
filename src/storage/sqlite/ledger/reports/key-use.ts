import type { Database } from "bun:sqlite";
import type { InstantUs } from "#kernel/clock.ts";

/** When keys were last used, as committed; an id that was never used is absent. */
export function loadLastUsed(database: Database, ids: readonly string[]): ReadonlyMap<string, InstantUs> {
  const rows = database
    .query<{ key_id: string; last_used_us: number }, [string]>(
      "SELECT key_id, last_used_us FROM key_use WHERE key_id IN (SELECT value FROM json_each(?))",
    )
    .all(JSON.stringify(ids));
  return new Map(rows.map((row) => [row.key_id, row.last_used_us]));
}
