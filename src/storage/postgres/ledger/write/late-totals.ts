import type { DaySum } from "#storage/cells/batch-sums.ts";
import { type DimensionLimits, DimensionValues } from "#storage/cells/dimension-values.ts";
import { toLastOfDay, toLastOfMonth } from "#storage/cells/total-columns.ts";
import { toHour, toMonth } from "#storage/cells/calendar.ts";
import type { InstantUs } from "#kernel/clock.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import { readBounds } from "./bounds.ts";
import { loadDimensions } from "./dimensions.ts";
import { addTotals, DIMENSION, dropEmpty, MONTH, moveLast, SEALED_DAY, type Total } from "./totals.ts";
import type { Value } from "./rows.ts";

/**
 * Adds what came late to days that are sealed, of which no lane has rows of its own any more: one writer at a time, and none
 * beside maintenance. The sums of their hours and months are made anew later.
 */
export async function storeLate(
  tx: Sql,
  days: readonly DaySum[],
  arrivals: readonly InstantUs[],
  limits: DimensionLimits | undefined,
): Promise<void> {
  await readBounds(tx, { isLocked: true });
  const measured = (total: Total, toKeys: (day: DaySum) => number[]) =>
    addTotals(
      tx,
      total,
      days.map((day) => day.sum.dayMeasures(...toKeys(day))),
    );
  const reduced = days.filter(({ sum }) => sum.isReduced);
  const trimmed = async (total: Total, toKeys: (day: DaySum) => number[], last: string) => {
    const rows = reduced.map(toKeys);
    await dropEmpty(tx, total, rows);
    await moveLast(tx, total, { rows, last });
  };
  const toDayKeys = ({ combination, day, result }: DaySum) => [combination, day, result];
  const toMonthKeys = ({ combination, result, day }: DaySum) => [combination, result, toMonth(day)];
  await measured(SEALED_DAY, toDayKeys);
  await trimmed(SEALED_DAY, toDayKeys, toLastOfDay());
  await measured(MONTH, toMonthKeys);
  await trimmed(MONTH, toMonthKeys, toLastOfMonth(toFirstDaySql("t.month"), toFirstDaySql("t.month + 1")));
  const values = new DimensionValues(limits);
  await loadDimensions(
    tx,
    values,
    days.map(({ combination }) => combination),
  );
  const rows = days.flatMap(({ day, combination, outcome, sum }) =>
    values.idsOf(combination, day).map((id) => sum.hourMeasures<Value>(day, id, outcome)),
  );
  await addTotals(tx, DIMENSION, rows);
  const ofReduced = reduced.flatMap(({ day, combination, outcome }) =>
    values.idsOf(combination, day).map((id) => [day, id, outcome]),
  );
  await dropEmpty(tx, DIMENSION, ofReduced);
  await tx.run("DELETE FROM sealed_hour WHERE hour = ANY ($1::integer[])", [
    [...new Set(arrivals.map(toHour))],
  ]);
  await tx.run("DELETE FROM sealed_month WHERE month = ANY ($1::integer[])", [
    [...new Set(days.map(({ day }) => toMonth(day)))],
  ]);
}

/** The first day of a month, both since 1970. */
function toFirstDaySql(month: string): string {
  return `(make_date(1970 + (${month}) / 12, (${month}) % 12 + 1, 1) - DATE '1970-01-01')`;
}
