import { one, type Script } from "#storage/sql/script.ts";
import { DAY_US, HOUR_US, type InstantUs } from "#kernel/clock.ts";
import type { LedgerEdges, RawRange } from "./window-cut.ts";

interface StateRow {
  readonly first_hour: number | null;
  readonly last_hour: number | null;
  readonly first_pending: number | null;
  readonly last_pending: number | null;
  readonly pruned_before_us: number;
  readonly refused_before_us: number;
}

/** Null when nothing was ever recorded. A few microseconds: the state and the edges of some tables. */
export function* readEdges(): Script<LedgerEdges | null> {
  const state = yield* one<StateRow>(
    `SELECT (SELECT min(hour) FROM hour_total) AS first_hour, (SELECT max(hour) FROM hour_total) AS last_hour,
       (SELECT min(id) FROM pending_event) AS first_pending, (SELECT max(id) FROM pending_event) AS last_pending,
       pruned_before_us, refused_before_us FROM ledger_state`,
  );
  if (state === null || state.first_hour === null || state.last_hour === null) return null;
  const firstUs = state.first_hour * HOUR_US;
  const endUs = (state.last_hour + 1) * HOUR_US;
  // Whole days may be removed at once: a day before the bound is the first that may still have rows, but for pending ones.
  const rowsFromUs = Math.max(firstUs, state.refused_before_us - DAY_US);
  // The last hour is looked at alone: to plan a statement about a log that has a table for each day takes long.
  const lastUs =
    (yield* findLastRow({ fromUs: endUs - HOUR_US, toUs: endUs })) ??
    (yield* findLastRow({ fromUs: rowsFromUs, toUs: endUs })) ??
    state.last_pending;
  const { first_pending: firstPendingUs } = state;
  return {
    firstUs,
    endUs,
    prunedBeforeUs: state.pruned_before_us,
    rows: lastUs === null ? null : { firstUs: Math.min(rowsFromUs, firstPendingUs ?? rowsFromUs), lastUs },
  };
}

function* findLastRow({ fromUs, toUs }: RawRange): Script<InstantUs | null> {
  const row = yield* one<{ id: InstantUs }>(
    "SELECT id FROM event WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT 1",
    [fromUs, toUs],
  );
  return row?.id ?? null;
}
