import { HOUR_US } from "#kernel/clock.ts";
import { UNITS } from "#kernel/units.ts";
import { POSTGRES } from "#storage/sql/dialect.ts";
import { IS_INCLUSIVE, toEventMeasures, toUnpricedUnits } from "#storage/reports/event-measures.ts";
import { type Cell, encodeCells, HOUR_ROWS_MAX, MONTH_CELLS_MAX } from "#storage/cells/outcome-cells.ts";
import { HOUR_MEASURES } from "#storage/cells/total-columns.ts";
import { toFirstDay } from "#storage/cells/calendar.ts";
import type { Transaction } from "#storage/postgres/connection/transaction.ts";
import { readBounds } from "#storage/postgres/ledger/write/bounds.ts";
import { toAggregates } from "#storage/postgres/ledger/write/totals.ts";

/** Where the next step goes on: hours and months that stay without cells are passed once a look, not once a step. */
export interface CellsPlace {
  hour: number;
  month: number;
}

/**
 * A step: adds the next hour of sealed days whose rows are all there and that has no cells; true when there may be more. Who
 * adds a row to such an hour comes after and drops its cells, since both hold `ledger_state`.
 */
export async function sealHour(tx: Transaction, place: CellsPlace): Promise<boolean> {
  const { prunedBeforeUs, sealedBeforeDay } = await readBounds(tx, { isLocked: true });
  const until = sealedBeforeDay * 24;
  const first = Math.max(place.hour, Math.ceil(prunedBeforeUs / HOUR_US));
  const [next] = await tx.all<{ hour: number; requests: number }>(
    `SELECT hour, sum(requests) AS requests FROM hour_total AS t WHERE hour >= $1 AND hour < $2
       AND NOT EXISTS (SELECT FROM sealed_hour WHERE sealed_hour.hour = t.hour) GROUP BY hour ORDER BY hour LIMIT 1`,
    [first, until],
  );
  place.hour = next === undefined ? Math.max(first, until) : next.hour + 1;
  if (next === undefined) return false;
  if (next.requests <= HOUR_ROWS_MAX) {
    const cells = await tx.all<Cell>(HOUR_CELLS, [next.hour * HOUR_US, (next.hour + 1) * HOUR_US]);
    await tx.run("INSERT INTO sealed_hour (hour, cells) VALUES ($1, $2)", [next.hour, encodeCells(cells)]);
  }
  return true;
}

/** A step: adds the next month that begins before the first day that is not sealed and has no cells; true when there may be more. */
export async function sealMonth(tx: Transaction, place: CellsPlace): Promise<boolean> {
  const { sealedBeforeDay } = await readBounds(tx, { isLocked: true });
  const [next] = await tx.all<{ month: number | null }>(
    `SELECT min(month) AS month FROM month_total AS t WHERE month >= $1
       AND NOT EXISTS (SELECT FROM sealed_month WHERE sealed_month.month = t.month)`,
    [place.month],
  );
  const month = next?.month ?? null;
  if (month === null || toFirstDay(month) >= sealedBeforeDay) return false;
  place.month = month + 1;
  const cells = await tx.all<Cell>(MONTH_CELLS, [month, MONTH_CELLS_MAX + 1]);
  if (cells.length <= MONTH_CELLS_MAX)
    await tx.run("INSERT INTO sealed_month (month, cells) VALUES ($1, $2)", [month, encodeCells(cells)]);
  return true;
}

const MEASURES = toEventMeasures(POSTGRES, IS_INCLUSIVE);
const UNPRICED = toUnpricedUnits(POSTGRES);

// What prices leave unpriced is read once for each manner: some hundred of them, and many thousand events.
const HOUR_CELLS = `WITH m AS MATERIALIZED (
    SELECT manner.id, outcome, ${UNITS.map((unit, index) => `${UNPRICED[index]} AS ${unit}`).join(", ")}
    FROM manner JOIN result ON result.id = result JOIN price_set ON price_set.id = price_set)
  SELECT combination, outcome, ${toAggregates(HOUR_MEASURES)} FROM (
    SELECT e.combination, m.outcome, ${HOUR_MEASURES.map((column) => `${MEASURES.get(column)} AS ${column}`).join(", ")}
    FROM event AS e JOIN m ON m.id = e.manner JOIN combination AS c ON c.id = e.combination
    WHERE e.id >= $1 AND e.id < $2) AS events
  GROUP BY combination, outcome ORDER BY combination, outcome`;

const MONTH_CELLS = `SELECT combination, outcome, ${toAggregates(HOUR_MEASURES)}
  FROM month_total JOIN result ON result.id = result WHERE month = $1
  GROUP BY combination, outcome ORDER BY combination, outcome LIMIT $2`;
