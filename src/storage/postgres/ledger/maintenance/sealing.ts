import type { Outcome } from "#usage/event.ts";
import type { DimensionLimits } from "#storage/cells/dimension-values.ts";
import { DimensionValues } from "#storage/cells/dimension-values.ts";
import { type StoredMeasures, Sum } from "#storage/cells/sums.ts";
import { DAY_MEASURES, HOUR_MEASURES, onConflict } from "#storage/cells/total-columns.ts";
import { toMonth } from "#storage/cells/calendar.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import { readBounds } from "#storage/postgres/ledger/write/bounds.ts";
import { loadDimensions } from "#storage/postgres/ledger/write/dimensions.ts";
import type { Value } from "#storage/postgres/ledger/write/rows.ts";
import {
  addTotals,
  DIMENSION,
  MONTH,
  SEALED_DAY,
  toAggregates,
} from "#storage/postgres/ledger/write/totals.ts";

interface DayRow extends StoredMeasures {
  readonly combination: number;
  readonly outcome: Outcome;
}

/**
 * A step: moves the oldest day that is not sealed yet and lies before `beforeDay`, of all lanes together; true when there may
 * be more. No batch is under way meanwhile: each holds a row of `spool`, and reads behind that lock which days are sealed. The
 * lock is that of the table, since the row of a new lane would not be among those that were locked.
 */
export async function sealDay(
  tx: Transaction,
  beforeDay: number,
  limits?: DimensionLimits,
): Promise<boolean> {
  const { sealedBeforeDay } = await readBounds(tx);
  if (beforeDay <= sealedBeforeDay) return false;
  await tx.run("LOCK TABLE spool IN SHARE ROW EXCLUSIVE MODE");
  await readBounds(tx, { isLocked: true });
  const [oldest] = await tx.all<{ day: number | null }>("SELECT min(day) AS day FROM day_total");
  const day = oldest?.day ?? null;
  const isLast = day === null || day >= beforeDay;
  if (!isLast) await moveDay(tx, day, limits);
  await tx.run("UPDATE ledger_state SET sealed_before_day = $1", [isLast ? beforeDay : day + 1]);
  return !isLast;
}

async function moveDay(tx: Sql, day: number, limits?: DimensionLimits): Promise<void> {
  await sealDimensions(tx, day, limits);
  const measures = DAY_MEASURES.join(", ");
  const sums = toAggregates(DAY_MEASURES);
  await tx.run(
    `INSERT INTO sealed_day_total (combination, day, result, ${measures})
     SELECT combination, day, result, ${sums} FROM day_total WHERE day = $1
     GROUP BY combination, day, result ORDER BY combination, result ${onConflict(SEALED_DAY)}`,
    [day],
  );
  await tx.run(
    `INSERT INTO month_total (combination, result, month, ${measures})
     SELECT combination, result, $2::integer, ${sums} FROM day_total WHERE day = $1
     GROUP BY combination, result ORDER BY combination, result ${onConflict(MONTH)}`,
    [day, toMonth(day)],
  );
  await tx.run("DELETE FROM day_total WHERE day = $1", [day]);
  await tx.run("DELETE FROM sealed_month WHERE month = $1", [toMonth(day)]);
}

// Summed here, in one pass: each row counts in several dimensions.
async function sealDimensions(tx: Sql, day: number, limits?: DimensionLimits): Promise<void> {
  const rows = await tx.all<DayRow>(
    `SELECT t.combination, r.outcome, t.* FROM (
       SELECT combination, result, ${toAggregates(HOUR_MEASURES)} FROM day_total WHERE day = $1 GROUP BY combination, result
     ) AS t JOIN result AS r ON r.id = t.result`,
    [day],
  );
  const values = new DimensionValues(limits);
  await loadDimensions(
    tx,
    values,
    rows.map(({ combination }) => combination),
  );
  for (const value of values.choose(rows)) {
    const [row] = await tx.all<{ id: number }>(
      "INSERT INTO dimension (kind, value, first_day) VALUES ($1, $2, $3) RETURNING id",
      [value.kind, value.text, day],
    );
    if (row === undefined) throw new Error("a dimension was not added");
    value.id = row.id;
    value.firstDay = day;
  }
  const sums = new Map<string, { readonly keys: readonly [number, Outcome]; readonly sum: Sum }>();
  for (const row of rows) {
    for (const dimension of values.idsOf(row.combination, day)) {
      const key = `${dimension} ${row.outcome}`;
      let known = sums.get(key);
      if (known === undefined) sums.set(key, (known = { keys: [dimension, row.outcome], sum: new Sum() }));
      known.sum.addStored(row);
    }
  }
  const totals = [...sums.values()].map(({ keys, sum }) => sum.hourMeasures<Value>(day, ...keys));
  await addTotals(tx, DIMENSION, totals);
}
