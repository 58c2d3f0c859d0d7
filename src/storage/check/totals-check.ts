import { DAY_US, HOUR_US } from "#kernel/clock.ts";
import type { LedgerCheck, LedgerCheckOptions, LedgerFinding } from "#storage/engine.ts";
import { toFirstDay, toMonth } from "#storage/cells/calendar.ts";
import {
  type Cells,
  decodeCells,
  type OpenCellRow,
  sumCells,
  toCells,
  withoutEmpty,
} from "#storage/cells/cells.ts";
import { CELL_MEASURES, HOUR_MEASURES } from "#storage/cells/measures.ts";
import { type CellPeriod, type CellRange, readCells } from "#storage/cells/stored-cells.ts";
import { EVENT_JOINS, EVENT_OF_ROWS, toEventMeasures } from "#storage/reports/event-measures.ts";
import { toSums } from "#storage/reports/folded-window.ts";
import { all, type Binding, dialectOf, each, one, type Script } from "#storage/sql/script.ts";
import { readFirstWholeDay } from "#storage/cells/retention.ts";

const DAY_MS = DAY_US / 1000;
const HOURS = 24;

export type TotalsCheckOptions = Pick<LedgerCheckOptions, "onShare" | "signal">;

/**
 * Compares the totals of hours and days with the rows that they are of, as far as these are there, hours with days, and days
 * with months.
 */
export function* checkTotals(
  findings: LedgerFinding[],
  { onShare, signal }: TotalsCheckOptions,
): Script<Pick<LedgerCheck, "events" | "rowsFromUs">> {
  const firstDay = yield* readFirstWholeDay();
  const days = yield* all<{ day: number }>(
    `SELECT DISTINCT at AS day FROM cells WHERE period = 1 UNION SELECT DISTINCT hour / ${HOURS} FROM open_cell
     UNION SELECT DISTINCT hour / ${HOURS} FROM hour_total UNION SELECT DISTINCT id / ${DAY_US} FROM event ORDER BY day`,
  );
  const results = yield* all<{ id: number; first: number }>(
    "SELECT id, min(id) OVER (PARTITION BY outcome) AS first FROM result",
  );
  const ofOutcome = new Map(results.map(({ id, first }) => [id, first]));
  let events = 0;
  for (const [index, { day }] of days.entries()) {
    signal.throwIfAborted();
    events += yield* checkDay(day, { hasRows: day >= firstDay, ofOutcome, findings });
    onShare((index + 1) / (days.length + 1));
  }
  const months = yield* all<{ at: number }>("SELECT DISTINCT at FROM cells WHERE period = 2");
  for (const month of new Set([...days.map(({ day }) => toMonth(day)), ...months.map(({ at }) => at)])) {
    const sides = {
      expected: yield* readSealed("day", { first: toFirstDay(month), end: toFirstDay(month + 1) }),
      stored: yield* readSealed("month", { first: month, end: month + 1 }),
    };
    compare(findings, { where: `month ${month}`, what: "cells of a month", ...sides });
  }
  onShare(1);
  return { events, rowsFromUs: firstDay * DAY_US };
}

interface DayOptions {
  readonly hasRows: boolean;
  /** By the id of a result, the first that has its outcome. */
  readonly ofOutcome: ReadonlyMap<number, number>;
  readonly findings: LedgerFinding[];
}

type Sums = Cells<Float64Array>;
const NO_SUMS = toCells([]);
/** The measures of `hour_total`. */
const HOURLY = { measuresMax: HOUR_MEASURES.length };

/** Returns how many events the day has. */
function* checkDay(day: number, { hasRows, ofOutcome, findings }: DayOptions): Script<number> {
  const where = new Date(day * DAY_MS).toISOString().slice(0, 10);
  const range = [day * HOURS, (day + 1) * HOURS];
  const open = yield* readHours("SELECT * FROM open_cell WHERE hour >= ? AND hour < ? ORDER BY hour", range);
  const totals = yield* readHours(
    `SELECT t.*, 0 AS combination, coalesce((SELECT min(id) FROM result AS r WHERE r.outcome = t.outcome), 0) AS result
     FROM hour_total AS t WHERE hour >= ? AND hour < ? ORDER BY hour`,
    range,
  );
  const byOutcome = (cells: Sums) =>
    sumCells([
      {
        ...cells,
        combinations: new Int32Array(cells.count),
        results: cells.results.map((id) => ofOutcome.get(id) ?? 0),
      },
    ]);
  const ofDay = sumCells([yield* readSealed("day", { first: day, end: day + 1 }), ...open.values()]);
  const ofTotals = sumCells([...totals.values()]);
  const what = "totals by hour against those by day";
  compare(findings, { where, what, expected: byOutcome(ofDay), stored: ofTotals, ...HOURLY });
  if (!hasRows) return 0;
  const { count, hours } = yield* readEvents(day);
  const ofEvents = sumCells([...hours.values()]);
  compare(findings, { where, what: "cells of a day", expected: ofEvents, stored: ofDay });
  const astray = count - countRequests(ofEvents);
  if (astray > 0)
    findings.push({
      where,
      what: "events that name what is not there",
      expected: 0,
      stored: astray,
      rows: astray,
    });
  for (let hour = day * HOURS; hour < (day + 1) * HOURS; hour += 1) {
    const ofHour = { where: `${where}, hour ${hour % HOURS}`, expected: hours.get(hour) ?? NO_SUMS };
    const sealed = yield* readSealed("hour", { first: hour, end: hour + 1 });
    const stored = sumCells([sealed, open.get(hour) ?? NO_SUMS]);
    compare(findings, { ...ofHour, what: "cells of an hour", stored });
    const expected = byOutcome(ofHour.expected);
    const total = totals.get(hour) ?? NO_SUMS;
    compare(findings, { ...ofHour, what: "total by hour", expected, stored: total, ...HOURLY });
  }
  return count;
}

/** The events of a day, added up as cells are, and how many there are, also of those that name what is not there. */
function* readEvents(
  day: number,
): Script<{ readonly count: number; readonly hours: ReadonlyMap<number, Sums> }> {
  const dialect = yield* dialectOf();
  const range = [day * DAY_US, (day + 1) * DAY_US];
  const measures = toEventMeasures(dialect, EVENT_OF_ROWS);
  const names = CELL_MEASURES.map(({ name }) => name);
  const hours = yield* readHours(
    `SELECT e.id / ${HOUR_US} AS hour, e.combination, m.result, ${toSums(names, (name) => measures.get(name) ?? "NULL")}
     FROM event AS e ${EVENT_JOINS} WHERE e.id >= ? AND e.id < ? GROUP BY 1, 2, 3 ORDER BY 1`,
    range,
  );
  const found = yield* one<{ count: number }>(
    "SELECT count(*) AS count FROM event WHERE id >= ? AND id < ?",
    range,
  );
  return { count: found?.count ?? 0, hours };
}

type HourRow = OpenCellRow & { readonly hour: number };

/** Rows in the order of their hours, as cells. */
function* readHours(sql: string, range: readonly Binding[]): Script<ReadonlyMap<number, Sums>> {
  const hours = new Map<number, Sums>();
  let rows: HourRow[] = [];
  const finish = () => {
    const [first] = rows;
    if (first !== undefined) hours.set(first.hour, toCells(rows));
    rows = [];
  };
  yield* each<HourRow>(sql, range, (row) => {
    if (row.hour !== rows[0]?.hour) finish();
    rows.push(row);
  });
  finish();
  return hours;
}

/** Reads what is sealed of periods, all parts together. */
function* readSealed(period: CellPeriod, range: CellRange): Script<Sums> {
  const stored = yield* readCells(period, range);
  return sumCells(stored.map(({ columns }) => decodeCells(columns)));
}

interface Comparison extends Pick<LedgerFinding, "where" | "what"> {
  readonly expected: Sums;
  readonly stored: Sums;
  /** The number of measures that are compared; all where absent. */
  readonly measuresMax?: number;
}

/** Tells how many rows differ, if any. What was taken out of a sealed row is beside it until the next maintenance. */
function compare(
  findings: LedgerFinding[],
  { where, what, measuresMax = CELL_MEASURES.length, ...sides }: Comparison,
): void {
  const [expected, stored] = [withoutEmpty(sides.expected), withoutEmpty(sides.stored)];
  const rowOf = new Map(Array.from(stored.combinations, (_, row) => [toKey(stored, row), row]));
  let rows = 0;
  for (let row = 0; row < expected.count; row += 1) {
    const key = toKey(expected, row);
    const other = rowOf.get(key) ?? -1;
    rowOf.delete(key);
    const isSame = CELL_MEASURES.slice(0, measuresMax).every(({ adds }, measure) => {
      const [left, right] = [expected.measures[measure]?.[row], stored.measures[measure]?.[other]];
      return left === right || (adds === "reported" && isNear(left, right));
    });
    if (!isSame) rows += 1;
  }
  rows += rowOf.size;
  if (rows > 0)
    findings.push({ where, what, rows, expected: countRequests(expected), stored: countRequests(stored) });
}

function toKey({ combinations, results }: Cells, row: number): string {
  return `${combinations[row]} ${results[row]}`;
}

const ROUNDING = 1e-12;

/** The last digits of a sum of fractions depend on the order of the additions. What is not reported is -1. */
function isNear(left: number | undefined, right: number | undefined): boolean {
  if (left === undefined || right === undefined || left === -1 || right === -1) return false;
  return Math.abs(left - right) <= ROUNDING * Math.abs(right);
}

function countRequests({ measures: [requests] }: Sums): number {
  return requests?.reduce((sum, count) => sum + count, 0) ?? 0;
}
