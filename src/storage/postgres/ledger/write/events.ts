import { DAY_US } from "#kernel/clock.ts";
import { BatchSums, toCarriedRow } from "#storage/cells/batch-sums.ts";
import type { DimensionLimits } from "#storage/cells/dimension-values.ts";
import { toAmounts } from "#storage/cells/sums.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import { readBounds } from "./bounds.ts";
import type { EventRows } from "./event-rows.ts";
import { storeLate } from "./late-totals.ts";
import type { EndedEvent } from "./ended-event.ts";
import type { Value } from "./rows.ts";
import { isPending, storePending } from "./settlements.ts";
import { addTotals, addUnique, CARRIED, DAY, HOUR, OPEN_CELL } from "./totals.ts";

/** How many batches of a lane are kept: a quarter of an hour at the usual pace. */
const BATCHES_KEPT_MAX = 6_000;
const BATCHES_PER_TRIM = 256;

export interface BatchPlace {
  readonly lane: number;
  /** The batch's place in its lane. */
  readonly number: number;
  readonly rows: EventRows;
  readonly dimensionLimits: DimensionLimits | undefined;
}

/** Adds events to everything that counts them, behind `moveSpool`. */
export async function storeEvents(
  tx: Sql,
  events: readonly EndedEvent[],
  { lane, number, rows, dimensionLimits }: BatchPlace,
): Promise<void> {
  // Behind the lock of the spool's row, which sealing takes of all: the bound cannot move any more.
  const { sealedBeforeDay, refusedBeforeUs } = await readBounds(tx);
  // What was pruned never comes back, also not by a late end; its totals do.
  const kept = events.filter((event) => event.arrivedAtUs >= refusedBeforeUs || isPending(event));
  await rows.add(tx, kept);
  await storePending(tx, lane, events.filter(isPending));
  const sums = new BatchSums();
  const carried: Value[][] = [];
  for (const event of events) {
    const { id, combinationId: combination, resultId: result, ending, cost } = event;
    const counted = { id, combination, result, ending, cost, amounts: toAmounts(ending.usage) };
    sums.add(counted);
    const row = toCarriedRow(counted);
    if (row !== null) {
      const { endedDay, arrivedDay, unpriced, unknown, costHi, costLo, tokens } = row;
      carried.push([endedDay, arrivedDay, combination, lane, 1, unpriced, unknown, costHi, costLo, tokens]);
    }
  }
  const hours = [...sums.hours()].map(({ hour, outcome, sum }) =>
    sum.hourMeasures<Value>(hour, outcome, lane),
  );
  await addUnique(tx, HOUR, hours);
  const cells = [...sums.cells()].map(({ hour, combination, result, sum }) =>
    sum.dayMeasures(hour, combination, result, lane),
  );
  await addUnique(tx, OPEN_CELL, cells);
  const days = [...sums.days()];
  const open = days.filter(({ day }) => day >= sealedBeforeDay);
  await addUnique(
    tx,
    DAY,
    open.map(({ day, combination, result, sum }) => sum.dayMeasures(day, combination, result, lane)),
  );
  if (open.length < days.length) {
    const late = days.filter(({ day }) => day < sealedBeforeDay);
    const arrivals = events.map(({ id }) => id).filter((id) => id < sealedBeforeDay * DAY_US);
    await storeLate(tx, late, arrivals, dimensionLimits);
  }
  await addTotals(tx, CARRIED, carried);
  await tx.run("INSERT INTO recorded_batch (lane, number, ids) VALUES ($1, $2, $3::bigint[])", [
    lane,
    number,
    events.map(({ id }) => id),
  ]);
  if (number % BATCHES_PER_TRIM === 0) {
    await tx.run("DELETE FROM recorded_batch WHERE lane = $1 AND number <= $2", [
      lane,
      number - BATCHES_KEPT_MAX,
    ]);
  }
}
