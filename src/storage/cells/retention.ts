import { DAY_US, HOUR_US, type InstantUs } from "#kernel/clock.ts";
import { dialectOf, one, type Script, run } from "#storage/sql/script.ts";
import { CELL_PERIODS } from "./stored-cells.ts";

/** A pass of maintenance at an instant: days before it are sealed, and rows that are too old then are removed. */
export interface MaintenancePass {
  readonly nowUs: InstantUs;
  /** The age of the oldest rows that stay; null keeps rows for ever. */
  readonly ageUsMax: number | null;
}

/** The bounds up to which rows are removed. */
interface Bounds {
  /** Rows that arrived before it may have been removed: totals count them all the same, and readers rely on it. */
  readonly prunedBeforeUs: InstantUs;
  /** An event that arrives before it gets no row, so that none comes back by a late end. At most `prunedBeforeUs`. */
  readonly refusedBeforeUs: InstantUs;
}

/** Rows removed in one transaction: every pause stays under 150 ms. */
const PRUNE_ROWS_MAX = 5_000;

export function* readRefusedBefore(): Script<InstantUs> {
  const row = yield* one<{ us: InstantUs }>("SELECT refused_before_us AS us FROM ledger_state");
  return row?.us ?? 0;
}

/** The instant before which rows may have been removed. */
export function* readPrunedBefore(): Script<InstantUs> {
  const row = yield* one<{ us: InstantUs }>("SELECT pruned_before_us AS us FROM ledger_state");
  return row?.us ?? 0;
}

/** The first UTC day since 1970 of which all rows are there. */
export function* readFirstWholeDay(): Script<number> {
  return Math.ceil((yield* readPrunedBefore()) / DAY_US);
}

/**
 * A look at the clock: the instant before which rows go now. Bounds ahead of the present go back to the present, so that a
 * clock that was ahead for a moment does not keep the log empty until that moment comes. What was recorded and removed while
 * it was ahead still lies before `pruned_before_us`: its totals would be taken for rows.
 */
export function* boundRetention({ nowUs, ageUsMax }: MaintenancePass): Script<InstantUs> {
  let { prunedBeforeUs, refusedBeforeUs } = yield* lockBounds();
  if (prunedBeforeUs > nowUs)
    prunedBeforeUs = Math.max(nowUs, Math.min(prunedBeforeUs, yield* findLossEnd(prunedBeforeUs)));
  refusedBeforeUs = Math.min(refusedBeforeUs, nowUs);
  yield* saveBounds({ prunedBeforeUs, refusedBeforeUs });
  return ageUsMax === null ? refusedBeforeUs : nowUs - ageUsMax;
}

/**
 * A step: removes the oldest rows that arrived before `beforeUs`, a slice of them; true when there may be more. Those of pending
 * events stay.
 */
export function* pruneRows(beforeUs: InstantUs): Script<boolean> {
  const { toLane } = yield* dialectOf();
  const { refusedBeforeUs } = yield* lockBounds();
  if (beforeUs <= refusedBeforeUs) return false;
  const isRemovable = `NOT EXISTS (SELECT 1 FROM pending_event AS p WHERE p.id = event.id AND ${toLane("p")} = ${toLane("event")})`;
  const slice = yield* one<{ id: number }>(
    `SELECT id FROM event WHERE id < ? AND ${isRemovable} ORDER BY id LIMIT 1 OFFSET ?`,
    [beforeUs, PRUNE_ROWS_MAX],
  );
  const untilUs = slice?.id ?? beforeUs;
  yield* run(`DELETE FROM event WHERE id < ? AND ${isRemovable}`, [untilUs]);
  yield* advanceBounds(untilUs);
  return slice !== null;
}

/** Notes that rows before an instant are gone. The cells of hours go with their rows. */
export function* advanceBounds(untilUs: InstantUs): Script<void> {
  const { prunedBeforeUs, refusedBeforeUs } = yield* lockBounds();
  yield* run("DELETE FROM cells WHERE period = ? AND at < ?", [
    CELL_PERIODS.hour,
    Math.ceil(untilUs / HOUR_US),
  ]);
  // Nothing of what takes them back is left to be taken back.
  yield* run("DELETE FROM repriced_stretch WHERE until_us <= ?", [untilUs]);
  yield* saveBounds({
    prunedBeforeUs: Math.max(prunedBeforeUs, untilUs),
    refusedBeforeUs: Math.max(refusedBeforeUs, untilUs),
  });
}

function* lockBounds(): Script<Bounds> {
  const { forUpdate } = yield* dialectOf();
  const bounds = yield* one<Bounds>(
    `SELECT pruned_before_us AS "prunedBeforeUs", refused_before_us AS "refusedBeforeUs" FROM ledger_state${forUpdate}`,
  );
  return bounds ?? { prunedBeforeUs: 0, refusedBeforeUs: 0 };
}

function* saveBounds({ prunedBeforeUs, refusedBeforeUs }: Bounds): Script<void> {
  yield* run("UPDATE ledger_state SET pruned_before_us = ?, refused_before_us = ?", [
    prunedBeforeUs,
    refusedBeforeUs,
  ]);
}

/** The end of the last hour with events that begins before the bound. */
function* findLossEnd(boundUs: InstantUs): Script<InstantUs> {
  const row = yield* one<{ hour: number | null }>("SELECT max(hour) AS hour FROM hour_total WHERE hour < ?", [
    Math.ceil(boundUs / HOUR_US),
  ]);
  return row === null || row.hour === null ? 0 : (row.hour + 1) * HOUR_US;
}
