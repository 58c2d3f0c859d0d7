import { one, type Reading } from "#storage/ledger/queries/reading.ts";
import { HOUR_US } from "#kernel/clock.ts";
import type { LedgerEdges } from "#storage/ledger/windows/window-cut.ts";

interface EdgesRow {
  readonly first_hour: number | null;
  readonly last_hour: number | null;
  readonly first_row: number | null;
  readonly last_row: number | null;
  readonly sealed_before_day: number;
  readonly pruned_before_us: number;
}

/** Null when nothing was ever recorded. A few microseconds: the state and the edges of two tables. */
export function* readEdges(): Reading<LedgerEdges | null> {
  const row =
    yield* one<EdgesRow>(`SELECT (SELECT min(hour) FROM hour_total) AS first_hour, (SELECT max(hour) FROM hour_total) AS last_hour,
         (SELECT min(id) FROM event) AS first_row, (SELECT max(id) FROM event) AS last_row,
         sealed_before_day, pruned_before_us FROM ledger_state`);
  if (row === null || row.first_hour === null || row.last_hour === null) return null;
  const { first_row: firstUs, last_row: lastUs } = row;
  return {
    firstUs: row.first_hour * HOUR_US,
    endUs: (row.last_hour + 1) * HOUR_US,
    sealedBeforeDay: row.sealed_before_day,
    prunedBeforeUs: row.pruned_before_us,
    rows: firstUs === null || lastUs === null ? null : { firstUs, lastUs },
  };
}
