import type { InstantUs } from "#kernel/clock.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";

/** How far days are sealed and rows removed. */
export interface Bounds {
  readonly sealedBeforeDay: number;
  /** Rows that arrived before it may have been removed: totals count them all the same, and readers rely on it. */
  readonly prunedBeforeUs: InstantUs;
  /** What arrives before it gets no row, so that nothing comes back by a late end. At most `prunedBeforeUs`. */
  readonly refusedBeforeUs: InstantUs;
}

interface StateRow {
  readonly sealed_before_day: number;
  readonly pruned_before_us: number;
  readonly refused_before_us: number;
}

/** `isLocked`: no other transaction moves them until the end of this one. */
export async function readBounds(sql: Sql, { isLocked = false } = {}): Promise<Bounds> {
  const [row] = await sql.all<StateRow>(
    `SELECT sealed_before_day, pruned_before_us, refused_before_us FROM ledger_state WHERE id = 1${isLocked ? " FOR UPDATE" : ""}`,
  );
  if (row === undefined) throw new Error("the ledger has no state row");
  return {
    sealedBeforeDay: row.sealed_before_day,
    prunedBeforeUs: row.pruned_before_us,
    refusedBeforeUs: row.refused_before_us,
  };
}
