import type { Database } from "bun:sqlite";
import { DAY_US, type InstantUs } from "#kernel/clock.ts";
import { type CalendarWindow, toWindowStart } from "#limits/limit-window.ts";
import { toFirstDay, toMonth } from "#storage/ledger/windows/calendar.ts";
import { toCostSums } from "#storage/ledger/rows/sums.ts";
import {
  COUNTED_COLUMNS,
  COUNTED_JOINS,
  hasCarriedTotals,
  LONG_REQUEST_US,
  TOKEN_COLUMNS,
} from "#storage/sqlite/ledger/file/carried-totals.ts";

/** What one combination used in a part of a window. Quantities may be negative: what is carried to another part. */
export interface CountedRow {
  readonly combination: number;
  readonly startUs: InstantUs;
  readonly requests: number;
  readonly unpriced: number;
  readonly costHi: number;
  readonly costLo: number;
  readonly tokens: number;
}

type TotalRow = Omit<CountedRow, "startUs">;

const TOKENS = TOKEN_COLUMNS.map((column) => `ifnull(sum(${column}), 0.0)`).join(" + ");
const TOTALS = `sum(requests) AS requests, sum(unpriced_requests) AS unpriced, ${TOKENS} AS tokens, ${toCosts()}`;

function toCosts(): string {
  return toCostSums((column) => column)
    .replace("AS cost_hi", "AS costHi")
    .replace("AS cost_lo", "AS costLo");
}

export interface CalendarRange {
  readonly window: CalendarWindow;
  readonly fromDay: number;
  /** Leaves out what arrived before it; 0 for nothing. */
  readonly arrivedFromDay: number;
}

/**
 * What ended from a day on, by calendar windows. Totals are by arrival: what ended on another day is taken from one
 * window and added to the other.
 */
export function* readCalendarRows(
  database: Database,
  { window, fromDay, arrivedFromDay }: CalendarRange,
): Generator<CountedRow> {
  const toStart = (day: number) => toWindowStart(window, day * DAY_US);
  // A month's total has no days: a window that is cut within is added up by day.
  const byMonth = (window === "month" || window === "total") && arrivedFromDay <= fromDay;
  const spans = { byMonth, fromDay: Math.max(fromDay, arrivedFromDay), toStart };
  yield* window === "total" && byMonth ? readWhole(database) : readTotals(database, spans);
  for (const row of readCarried(database, fromDay)) {
    const { arrivedDay, endedDay, ...total } = row;
    const [from, to] = [toStart(arrivedDay), toStart(endedDay)];
    if (from === to || arrivedDay < arrivedFromDay) continue;
    if (endedDay >= fromDay) yield { ...total, startUs: to };
    if (arrivedDay >= fromDay) yield { ...toNegative(total), startUs: from };
  }
}

interface Spans {
  readonly byMonth: boolean;
  readonly fromDay: number;
  readonly toStart: (day: number) => InstantUs;
}

/** All there is: to tell months apart would make a row of each. */
function* readWhole(database: Database): Generator<CountedRow> {
  for (const table of ["month_total", "day_total"]) {
    const rows = database
      .query<TotalRow, []>(`SELECT combination, ${TOTALS} FROM ${table} GROUP BY combination`)
      .iterate();
    for (const row of rows) yield { ...row, startUs: 0 };
  }
}

/** Every day is in one of three tables: in a month's total, or in a day's that is sealed, or in one that still grows. */
function* readTotals(database: Database, { byMonth, fromDay, toStart }: Spans): Generator<CountedRow> {
  if (byMonth) {
    const rows = database
      .query<TotalRow & { month: number }, [number]>(
        `SELECT combination, month, ${TOTALS} FROM month_total WHERE month >= ? GROUP BY combination, month`,
      )
      .iterate(toMonth(fromDay));
    for (const { month, ...row } of rows) yield { ...row, startUs: toStart(toFirstDay(month)) };
  }
  const { sealed } = database
    .query<{ sealed: number }, []>("SELECT sealed_before_day AS sealed FROM ledger_state")
    .get() ?? { sealed: 0 };
  const isSealedWanted = !byMonth && fromDay < sealed;
  for (const table of isSealedWanted ? ["sealed_day_total", "day_total"] : ["day_total"]) {
    // Its key begins with the combination: each is looked up rather than every row read.
    const seek = table === "day_total" ? "" : "AND combination IN (SELECT id FROM combination)";
    const rows = database
      .query<TotalRow & { day: number }, [number]>(
        `SELECT combination, day, ${TOTALS} FROM ${table} WHERE day >= ? ${seek} GROUP BY combination, day`,
      )
      .iterate(fromDay);
    for (const { day, ...row } of rows) yield { ...row, startUs: toStart(day) };
  }
}

type CarriedRow = TotalRow & { readonly arrivedDay: number; readonly endedDay: number };

/** None in a ledger that no server has opened since there are such totals. */
function readCarried(database: Database, fromDay: number): Iterable<CarriedRow> {
  if (!hasCarriedTotals(database)) return [];
  return database
    .query<CarriedRow, [number, number]>(
      `SELECT combination, arrived_day AS arrivedDay, ended_day AS endedDay, requests, unpriced_requests AS unpriced,
         cost_hi AS costHi, cost_lo AS costLo, tokens FROM carried_total WHERE ended_day >= ? OR arrived_day >= ?`,
    )
    .iterate(fromDay, fromDay);
}

function toNegative({ combination, requests, unpriced, costHi, costLo, tokens }: TotalRow): TotalRow {
  return {
    combination,
    requests: -requests,
    unpriced: -unpriced,
    costHi: -costHi,
    costLo: -costLo,
    tokens: -tokens,
  };
}

export interface SlidingRange {
  readonly fromUs: InstantUs;
  readonly stepUs: number;
  /** By which end of a request its place in the window goes. */
  readonly by: "begin" | "end";
}

/** What began or ended from an instant on, by steps, row by row: those that took long are found by their end. */
export function readSlidingRows(
  database: Database,
  { fromUs, stepUs, by }: SlidingRange,
): Iterable<CountedRow> {
  const at = by === "begin" ? "e.id" : "e.id + e.duration_us";
  const select = (condition: string) =>
    `SELECT e.combination, ${at} AS at, ${COUNTED_COLUMNS} FROM event AS e ${COUNTED_JOINS} WHERE ${condition}`;
  const sources =
    by === "begin"
      ? [select("e.id >= ?1")]
      : [
          select(`e.id >= ?1 - ${LONG_REQUEST_US} AND e.duration_us < ${LONG_REQUEST_US} AND ${at} >= ?1`),
          select(`e.duration_us >= ${LONG_REQUEST_US} AND ${at} >= ?1`),
        ];
  return database
    .query<CountedRow, [number]>(
      `SELECT combination, at / ${stepUs} * ${stepUs} AS startUs, sum(requests) AS requests,
         sum(unpriced_requests) AS unpriced, sum(tokens) AS tokens, ${toCosts()}
       FROM (${sources.join(" UNION ALL ")}) GROUP BY 1, 2`,
    )
    .iterate(fromUs);
}
