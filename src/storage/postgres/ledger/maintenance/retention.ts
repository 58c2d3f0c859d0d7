import { DAY_US, HOUR_US, type InstantUs } from "#kernel/clock.ts";
import type { Retention } from "#storage/threads/writer-tasks.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import { dropHourCells } from "#storage/cells/sealing.ts";
import { POSTGRES } from "#storage/sql/dialect.ts";
import { drive } from "#storage/postgres/drive.ts";
import { readBounds } from "#storage/postgres/ledger/write/bounds.ts";
import { listPartitions, toPartitionName } from "./partitions.ts";

/** Rows removed in one transaction, as in usage.db. */
const PRUNE_ROWS_MAX = 5_000;
/** A cursor that is older is told that there is a gap. */
const RECORDED_KEPT_MINUTES = 15;
/** Batches removed in one transaction. */
const RECORDED_BATCHES_MAX = 1_000;

/**
 * A look at the clock: the instant before which rows go now. Bounds ahead of the present go back to the present, so that a
 * clock that was ahead for a moment does not keep the log empty until that moment comes. What was recorded and removed while
 * it was ahead still lies before `pruned_before_us`: its totals would be taken for rows.
 */
export async function boundRetention(tx: Transaction, { nowUs, ageUsMax }: Retention): Promise<InstantUs> {
  const bounds = await readBounds(tx, { isLocked: true });
  let { prunedBeforeUs } = bounds;
  if (prunedBeforeUs > nowUs)
    prunedBeforeUs = Math.max(nowUs, Math.min(prunedBeforeUs, await findLossEnd(tx, prunedBeforeUs)));
  const refusedBeforeUs = Math.min(bounds.refusedBeforeUs, nowUs);
  await saveBounds(tx, prunedBeforeUs, refusedBeforeUs);
  return ageUsMax === null ? refusedBeforeUs : nowUs - ageUsMax;
}

/**
 * A step: drops the oldest partition whose day lies before `beforeUs` as a whole and that holds no pending event; false when
 * there is none. The rows of the others are removed in slices.
 */
export async function dropDay(tx: Transaction, beforeUs: InstantUs): Promise<boolean> {
  const pending = await tx.all<{ day: number }>(
    `SELECT DISTINCT id / ${DAY_US} AS day FROM pending_event WHERE id < $1`,
    [beforeUs],
  );
  const kept = new Set(pending.map(({ day }) => day));
  const day = (await listPartitions(tx)).find((one) => !kept.has(one));
  if (day === undefined || (day + 1) * DAY_US > beforeUs) return false;
  // Before the bounds: a batch has its rows first, and then those.
  await tx.run(`DROP TABLE ${toPartitionName(day)}`);
  await advance(tx, (day + 1) * DAY_US);
  return true;
}

const IS_REMOVABLE =
  "NOT EXISTS (SELECT FROM pending_event AS p WHERE p.id = event.id AND p.lane = event.lane)";

/** A step: removes the oldest rows that arrived before `beforeUs`, a slice of them; true when there may be more. */
export async function pruneRows(tx: Transaction, beforeUs: InstantUs): Promise<boolean> {
  const { refusedBeforeUs } = await readBounds(tx, { isLocked: true });
  if (beforeUs <= refusedBeforeUs) return false;
  const [slice] = await tx.all<{ id: number }>(
    `SELECT id FROM event WHERE id < $1 AND ${IS_REMOVABLE} ORDER BY id LIMIT 1 OFFSET $2`,
    [beforeUs, PRUNE_ROWS_MAX],
  );
  const untilUs = slice?.id ?? beforeUs;
  await tx.run(`DELETE FROM event WHERE id < $1 AND ${IS_REMOVABLE}`, [untilUs]);
  await advance(tx, untilUs);
  return slice !== undefined;
}

/** A step: removes old batches of the order in which events were recorded; true when there may be more. */
export async function trimRecorded(tx: Transaction): Promise<boolean> {
  const removed = await tx.run(
    `DELETE FROM recorded_batch WHERE (lane, number) IN (
       SELECT lane, number FROM recorded_batch WHERE recorded_at < now() - $1 * interval '1 minute'
       ORDER BY recorded_at LIMIT $2)`,
    [RECORDED_KEPT_MINUTES, RECORDED_BATCHES_MAX],
  );
  return removed === RECORDED_BATCHES_MAX;
}

async function advance(tx: Transaction, untilUs: InstantUs): Promise<void> {
  const { prunedBeforeUs, refusedBeforeUs } = await readBounds(tx, { isLocked: true });
  await tx.run("DELETE FROM sealed_hour WHERE hour < $1", [Math.ceil(untilUs / HOUR_US)]);
  await drive(tx, { dialect: POSTGRES }, dropHourCells(untilUs));
  await saveBounds(tx, Math.max(prunedBeforeUs, untilUs), Math.max(refusedBeforeUs, untilUs));
}

async function saveBounds(tx: Sql, prunedBeforeUs: InstantUs, refusedBeforeUs: InstantUs): Promise<void> {
  await tx.run("UPDATE ledger_state SET pruned_before_us = $1, refused_before_us = $2", [
    prunedBeforeUs,
    refusedBeforeUs,
  ]);
}

/** The end of the last hour with events that begins before the bound. */
async function findLossEnd(tx: Sql, boundUs: InstantUs): Promise<InstantUs> {
  const [row] = await tx.all<{ hour: number | null }>(
    "SELECT max(hour) AS hour FROM hour_total WHERE hour < $1::double precision",
    [boundUs / HOUR_US],
  );
  return row?.hour === null || row?.hour === undefined ? 0 : (row.hour + 1) * HOUR_US;
}
