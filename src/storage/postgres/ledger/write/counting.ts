import { DAY_US } from "#kernel/clock.ts";
import { BatchSums, toCarriedRow } from "#storage/cells/batch-sums.ts";
import type { DimensionLimits } from "#storage/cells/dimension-values.ts";
import { lowerLastSeen } from "#storage/cells/last-seen.ts";
import type { CountedEvent } from "#storage/cells/sums.ts";
import { toLastOfDay } from "#storage/cells/total-columns.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import { drive } from "#storage/postgres/drive.ts";
import { POSTGRES } from "#storage/sql/dialect.ts";
import type { LaneChange } from "#storage/writer/writer-engine.ts";
import { readBounds } from "./bounds.ts";
import { storeLate } from "./late-totals.ts";
import type { Value } from "./rows.ts";
import { addTotals, addUnique, CARRIED, DAY, dropEmpty, HOUR, moveLast, OPEN_CELL } from "./totals.ts";

/**
 * Adds changes to every total, behind the rows of their events, in an order that all transactions keep: hours, cells, days,
 * the ledger's state, late ends. The caller holds a lock of `spool`, which sealing takes of all: the bound cannot move.
 */
export async function countChanges(
  tx: Transaction,
  changes: readonly LaneChange[],
  limits: DimensionLimits | undefined,
): Promise<void> {
  const sums = changes.map((change) => ({ lane: change.lane, batch: toSums(change) }));
  const hours = sums.flatMap(({ lane, batch }) =>
    [...batch.hours()].map((hour) => Object.assign(hour, { lane })),
  );
  await addUnique(
    tx,
    HOUR,
    hours.map(({ hour, outcome, lane, sum }) => sum.hourMeasures<Value>(hour, outcome, lane)),
  );
  await dropEmpty(
    tx,
    HOUR,
    hours.filter(({ sum }) => sum.isReduced).map(({ hour, outcome, lane }) => [hour, outcome, lane]),
  );
  const cells = sums.flatMap(({ lane, batch }) =>
    [...batch.cells()].map((cell) => Object.assign(cell, { lane })),
  );
  await addUnique(
    tx,
    OPEN_CELL,
    cells.map(({ hour, combination, result, lane, sum }) => sum.dayMeasures(hour, combination, result, lane)),
  );
  const lowered = cells.filter(({ sum }) => sum.isReduced);
  if (lowered.length > 0) await drive(tx, { dialect: POSTGRES }, lowerLastSeen(lowered));
  const { sealedBeforeDay } = await readBounds(tx);
  const days = sums.flatMap(({ lane, batch }) =>
    [...batch.days()].map((day) => Object.assign(day, { lane })),
  );
  const open = days.filter(({ day }) => day >= sealedBeforeDay);
  await addUnique(
    tx,
    DAY,
    open.map(({ day, combination, result, lane, sum }) => sum.dayMeasures(day, combination, result, lane)),
  );
  const reduced = open
    .filter(({ sum }) => sum.isReduced)
    .map(({ day, combination, result, lane }) => [day, combination, result, lane]);
  await dropEmpty(tx, DAY, reduced);
  await moveLast(tx, DAY, { rows: reduced, last: toLastOfDay("AND e.lane = t.lane") });
  if (open.length < days.length) {
    const late = days.filter(({ day }) => day < sealedBeforeDay);
    const ids = changes.flatMap(({ added }) => added.map(({ id }) => id));
    await storeLate(
      tx,
      late,
      ids.filter((id) => id < sealedBeforeDay * DAY_US),
      limits,
    );
  }
  const carried = changes.flatMap(toCarried);
  await addTotals(tx, CARRIED, carried);
  const takenFrom = carried.filter(([, , , , requests]) => Number(requests) < 0);
  await dropEmpty(
    tx,
    CARRIED,
    takenFrom.map((row) => row.slice(0, CARRIED.keys.length)),
  );
}

function toSums({ added, taken }: LaneChange): BatchSums {
  const batch = new BatchSums();
  for (const event of taken) batch.take(event);
  for (const event of added) batch.add(event);
  return batch;
}

function toCarried({ lane, added, taken }: LaneChange): readonly Value[][] {
  const toRows = (events: readonly CountedEvent[], sign: 1 | -1) =>
    events.flatMap((event) => {
      const row = toCarriedRow(event);
      if (row === null) return [];
      const { endedDay, arrivedDay, combination, unpriced, unknown, costHi, costLo, tokens } = row;
      const measures = [1, unpriced, unknown, costHi, costLo, tokens].map((measure) => measure * sign);
      return [[endedDay, arrivedDay, combination, lane, ...measures]];
    });
  return [...toRows(taken, -1), ...toRows(added, 1)];
}
