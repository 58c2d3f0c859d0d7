import { DAY_US, type InstantUs } from "#kernel/clock.ts";
import { advanceBounds } from "#storage/cells/retention.ts";
import type { Connection } from "#storage/sql/script.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import { drive } from "#storage/postgres/connection/drive.ts";
import { listPartitions, toPartitionName } from "./partitions.ts";

/** A cursor that is older is told that there is a gap. */
const RECORDED_KEPT_MINUTES = 15;
/** Batches removed in one transaction. */
const RECORDED_BATCHES_MAX = 1_000;

/**
 * A step: drops the oldest partition whose day lies before `beforeUs` as a whole and that holds no pending event; false when
 * there is none. The rows of the others are removed in slices.
 */
export async function dropDay(
  tx: Transaction,
  connection: Connection,
  beforeUs: InstantUs,
): Promise<boolean> {
  const pending = await tx.all<{ day: number }>(
    `SELECT DISTINCT id / ${DAY_US} AS day FROM pending_event WHERE id < $1`,
    [beforeUs],
  );
  const kept = new Set(pending.map(({ day }) => day));
  const day = (await listPartitions(tx)).find((one) => !kept.has(one));
  if (day === undefined || (day + 1) * DAY_US > beforeUs) return false;
  // Before the bounds: a batch has its rows first, and then those.
  await tx.run(`DROP TABLE ${toPartitionName(day)}`);
  await drive(tx, connection, advanceBounds((day + 1) * DAY_US));
  return true;
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
