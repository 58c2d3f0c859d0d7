import { DAY_US } from "#kernel/clock.ts";
import type { LedgerFinding } from "#storage/ledger-check.ts";
import { toFirstDay, toMonth } from "#storage/cells/calendar.ts";
import { addCells, type CellColumns, decodeCells, type OpenCellRow, toCells } from "#storage/cells/cells.ts";
import { HOUR_MEASURES } from "#storage/cells/measures.ts";
import { type CellPeriod, type CellRange, readCells } from "#storage/cells/stored-cells.ts";
import { all, type Script } from "#storage/sql/script.ts";
import { compareCells, toOpenCellRows } from "./cell-comparison.ts";
import { readEventCells } from "./event-cells.ts";
import { readFirstWholeDay } from "./pruned-rows.ts";

const DAY_MS = DAY_US / 1000;
const HOURS = 24;
const NO_CELLS = toCells([]);

export interface TotalsCheckOptions {
  /** From 0 to 1. */
  readonly onShare: (share: number) => void;
  readonly signal: AbortSignal;
}

export interface TotalsChecked {
  readonly events: number;
  /** Rows of earlier events were removed: before it, only totals are compared with totals. */
  readonly rowsFromUs: number;
}

/**
 * Compares the totals of hours and days with the rows that they are of, as far as these are there, hours with days, and days
 * with months.
 */
export function* checkTotals(
  findings: LedgerFinding[],
  { onShare, signal }: TotalsCheckOptions,
): Script<TotalsChecked> {
  const firstDay = yield* readFirstWholeDay();
  const days = yield* all<{ day: number }>(
    `SELECT DISTINCT at AS day FROM cells WHERE period = 1 UNION SELECT DISTINCT hour / ${HOURS} FROM open_cell
     UNION SELECT DISTINCT hour / ${HOURS} FROM hour_total UNION SELECT DISTINCT id / ${DAY_US} FROM event ORDER BY day`,
  );
  const results = yield* all<{ id: number; outcome: string }>("SELECT id, outcome FROM result");
  const outcomes = new Map(results.map(({ id, outcome }) => [id, outcome]));
  let events = 0;
  for (const [index, { day }] of days.entries()) {
    signal.throwIfAborted();
    events += yield* checkDay(day, { hasRows: day >= firstDay, outcomes, findings });
    onShare((index + 1) / (days.length + 1));
  }
  const months = yield* all<{ at: number }>("SELECT DISTINCT at FROM cells WHERE period = 2");
  for (const month of new Set([...days.map(({ day }) => toMonth(day)), ...months.map(({ at }) => at)])) {
    const sides = {
      expected: yield* readSealed("day", { first: toFirstDay(month), end: toFirstDay(month + 1) }),
      stored: yield* readSealed("month", { first: month, end: month + 1 }),
    };
    add(findings, { where: `month ${month}`, what: "cells of a month", ...compareCells(sides) });
  }
  onShare(1);
  return { events, rowsFromUs: firstDay * DAY_US };
}

interface DayOptions {
  readonly hasRows: boolean;
  /** By the ids of results. */
  readonly outcomes: ReadonlyMap<number, string>;
  readonly findings: LedgerFinding[];
}

/** Returns how many events the day has. */
function* checkDay(day: number, { hasRows, outcomes, findings }: DayOptions): Script<number> {
  const where = new Date(day * DAY_MS).toISOString().slice(0, 10);
  const range = { first: day * HOURS, end: (day + 1) * HOURS };
  const open = yield* readHours("open_cell", range);
  const totals = yield* readHours("hour_total", range);
  const ofDay = addCells(
    yield* readSealed("day", { first: day, end: day + 1 }),
    toCells([...open.values()].flat()),
  );
  const toOutcomes = (rows: readonly StoredRow[]) => byOutcome(rows, outcomes);
  const byHours = {
    expected: toOutcomes(toOpenCellRows(ofDay)),
    stored: toOutcomes([...totals.values()].flat()),
  };
  add(findings, {
    where,
    what: "totals by hour against those by day",
    ...compareCells(byHours, HOUR_MEASURES.length),
  });
  if (!hasRows) return 0;
  const { count, hours } = yield* readEventCells(day);
  const ofEvents = [...hours.values()].reduce(addCells, NO_CELLS);
  const { expected: counted, ...difference } = compareCells({ expected: ofEvents, stored: ofDay });
  add(findings, { where, what: "cells of a day", expected: counted, ...difference });
  const astray = count - counted;
  add(findings, {
    where,
    what: "events that name what is not there",
    expected: 0,
    stored: astray,
    rows: astray,
  });
  for (let hour = range.first; hour < range.end; hour += 1) {
    const at = `${where}, hour ${hour - range.first}`;
    const expected = hours.get(hour) ?? NO_CELLS;
    const stored = addCells(
      yield* readSealed("hour", { first: hour, end: hour + 1 }),
      toCells(open.get(hour) ?? []),
    );
    add(findings, { where: at, what: "cells of an hour", ...compareCells({ expected, stored }) });
    const totalsOfHour = {
      expected: toOutcomes(toOpenCellRows(expected)),
      stored: toOutcomes(totals.get(hour) ?? []),
    };
    add(findings, { where: at, what: "total by hour", ...compareCells(totalsOfHour, HOUR_MEASURES.length) });
  }
  return count;
}

/** A row of `open_cell`, or of `hour_total`, which has an outcome in place of label set and result. */
type StoredRow = OpenCellRow & { readonly outcome?: string };

function* readHours(
  table: "open_cell" | "hour_total",
  { first, end }: CellRange,
): Script<ReadonlyMap<number, readonly StoredRow[]>> {
  const rows = yield* all<StoredRow & { hour: number }>(
    `SELECT * FROM ${table} WHERE hour >= ? AND hour < ?`,
    [first, end],
  );
  return Map.groupBy(rows, ({ hour }) => hour);
}

/** What is sealed of periods, all parts together. */
function* readSealed(period: CellPeriod, range: CellRange): Script<CellColumns> {
  const stored = yield* readCells(period, range);
  return stored.map(({ columns }) => decodeCells(columns)).reduce(addCells, NO_CELLS);
}

function byOutcome(rows: readonly StoredRow[], outcomes: DayOptions["outcomes"]): CellColumns {
  const names = [...new Set(outcomes.values())];
  return toCells(
    rows.map((row) => {
      const outcome = row.outcome ?? outcomes.get(row.result) ?? "";
      return Object.assign(row, { combination: 0, result: names.indexOf(outcome) });
    }),
  );
}

function add(findings: LedgerFinding[], finding: LedgerFinding): void {
  if (finding.rows > 0) findings.push(finding);
}
