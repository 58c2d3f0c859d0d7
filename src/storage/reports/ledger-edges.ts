import { dialectOf, one, type Script } from "#storage/sql/script.ts";
import { DAY_US, HOUR_US } from "#kernel/clock.ts";
import type { LedgerEdges, RawRange } from "./window-cut.ts";

interface StateRow {
  readonly first_hour: number | null;
  readonly last_hour: number | null;
  readonly pruned_before_us: number;
}

/** Null when nothing was ever recorded. A few microseconds: the state and the edges of two tables. */
export function* readEdges(): Script<LedgerEdges | null> {
  const state = yield* one<StateRow>(
    `SELECT (SELECT min(hour) FROM hour_total) AS first_hour, (SELECT max(hour) FROM hour_total) AS last_hour,
       pruned_before_us FROM ledger_state`,
  );
  if (state === null || state.first_hour === null || state.last_hour === null) return null;
  const { areEventsPartitioned } = yield* dialectOf();
  const firstUs = state.first_hour * HOUR_US;
  const endUs = (state.last_hour + 1) * HOUR_US;
  // Whole days are removed at once: a day before the bound is the first that may still have rows.
  const rowsFromUs = Math.max(firstUs, state.pruned_before_us - DAY_US);
  return {
    firstUs,
    endUs,
    prunedBeforeUs: state.pruned_before_us,
    rows: yield* areEventsPartitioned
      ? withPending(yield* findRowEdges({ fromUs: rowsFromUs, toUs: endUs }))
      : readRowEdges(),
  };
}

function* readRowEdges(): Script<LedgerEdges["rows"]> {
  const row = yield* one<{ first: number | null; last: number | null }>(
    "SELECT (SELECT min(id) FROM event) AS first, (SELECT max(id) FROM event) AS last",
  );
  return row === null || row.first === null || row.last === null
    ? null
    : { firstUs: row.first, lastUs: row.last };
}

/** The rows of pending events stay where all others of their time were removed. */
function* withPending(rows: LedgerEdges["rows"]): Script<LedgerEdges["rows"]> {
  const row = yield* one<{ first: number | null; last: number | null }>(
    "SELECT min(id) AS first, max(id) AS last FROM pending_event",
  );
  if (row === null || row.first === null || row.last === null) return rows;
  return {
    firstUs: Math.min(row.first, rows?.firstUs ?? row.first),
    lastUs: Math.max(row.last, rows?.lastUs ?? row.last),
  };
}

/** Whole days from either end, each time twice as many: where nothing was removed, or all but little, the first has one. */
function* findRowEdges(range: RawRange): Script<LedgerEdges["rows"]> {
  const fromUs = Math.floor(range.fromUs / DAY_US) * DAY_US;
  const toUs = Math.ceil(range.toUs / DAY_US) * DAY_US;
  const find = (direction: "ASC" | "DESC", within: RawRange) =>
    one<{ id: number }>(`SELECT id FROM event WHERE id >= ? AND id < ? ORDER BY id ${direction} LIMIT 1`, [
      within.fromUs,
      within.toUs,
    ]);
  let first: number | null = null;
  for (let [atUs, stepUs] = [fromUs, DAY_US]; first === null && atUs < toUs; atUs += stepUs, stepUs *= 2) {
    first = (yield* find("ASC", { fromUs: atUs, toUs: Math.min(atUs + stepUs, toUs) }))?.id ?? null;
  }
  if (first === null) return null;
  let last: number | null = null;
  for (let [endUs, stepUs] = [toUs, DAY_US]; last === null && endUs > first; endUs -= stepUs, stepUs *= 2) {
    last = (yield* find("DESC", { fromUs: Math.max(endUs - stepUs, first), toUs: endUs }))?.id ?? null;
  }
  return { firstUs: first, lastUs: last ?? first };
}
