import { all, dialectOf, type Script } from "#storage/sql/script.ts";
import type { InstantUs } from "#kernel/clock.ts";

/** When keys were last used, as committed; an id that was never used is absent. */
export function* loadLastUsed(ids: readonly string[]): Script<ReadonlyMap<string, InstantUs>> {
  const { isAnyOf } = yield* dialectOf();
  const rows = yield* all<{ key_id: string; last_used_us: number }>(
    `SELECT key_id, last_used_us FROM key_use WHERE ${isAnyOf("key_id", "text")}`,
    [ids],
  );
  return new Map(rows.map((row) => [row.key_id, row.last_used_us]));
}
