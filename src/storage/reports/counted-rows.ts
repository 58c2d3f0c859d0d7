import { DAY_US, type InstantUs } from "#kernel/clock.ts";
import { type CalendarWindow, toWindowStart } from "#limits/limit-window.ts";
import { LONG_REQUEST_US, toCountedColumns, toCountedJoins } from "./counted-columns.ts";
import { UNMETERED_RESULT } from "./unmetered.ts";
import { TOKEN_COLUMNS } from "#storage/cells/total-columns.ts";
import type { Dialect } from "#storage/sql/dialect.ts";
import { all, dialectOf, one, type Script, scan } from "#storage/sql/script.ts";
import { toCostSums } from "#storage/cells/sums.ts";
import { toFirstDay, toMonth } from "#storage/cells/calendar.ts";

/** What one combination used in a part of a window. Quantities may be negative: what is carried to another part. */
export interface CountedRow {
  readonly combination: number;
  readonly startUs: InstantUs;
  readonly requests: number;
  readonly unpriced: number;
  /** Requests that should have told their usage, whether or not they did: those of a combination without a shape told none. */
  readonly untold: number;
  readonly costHi: number;
  readonly costLo: number;
  readonly tokens: number;
}

type TotalRow = Omit<CountedRow, "startUs">;

/** Told of some thousand rows at a time. */
export type OnCounted = (rows: readonly CountedRow[]) => Script<void>;

const TOKENS = TOKEN_COLUMNS.map((column) => `coalesce(sum(${column}), 0.0)`).join(" + ");
const UNTOLD = `sum(CASE WHEN result IN (SELECT id FROM result WHERE ${UNMETERED_RESULT}) THEN requests ELSE 0 END)`;
const TOTALS = `sum(requests) AS requests, sum(unpriced_requests) AS unpriced, ${UNTOLD} AS untold, ${TOKENS} AS tokens,
  ${toCountedCosts()}`;

/** The SQL of both halves of a cost, added up, by the names of `CountedRow`. */
export function toCountedCosts(): string {
  return toCostSums((column) => column)
    .replace("AS cost_hi", 'AS "costHi"')
    .replace("AS cost_lo", 'AS "costLo"');
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
  { window, fromDay, arrivedFromDay }: CalendarRange,
  onRows: OnCounted,
): Script<void> {
  const toStart = (day: number) => toWindowStart(window, day * DAY_US);
  // A month's total has no days: a window that is cut within is added up by day.
  const byMonth = (window === "month" || window === "total") && arrivedFromDay <= fromDay;
  const spans = { byMonth, fromDay: Math.max(fromDay, arrivedFromDay), toStart };
  yield* window === "total" && byMonth ? readWhole(onRows) : readTotals(spans, onRows);
  const carried = yield* readCarried(fromDay);
  const moved: CountedRow[] = [];
  for (const { arrivedDay, endedDay, ...total } of carried) {
    const [from, to] = [toStart(arrivedDay), toStart(endedDay)];
    if (from === to || arrivedDay < arrivedFromDay) continue;
    if (endedDay >= fromDay) moved.push({ ...total, startUs: to });
    if (arrivedDay >= fromDay) moved.push({ ...toNegative(total), startUs: from });
  }
  yield* onRows(moved);
}

interface Spans {
  readonly byMonth: boolean;
  readonly fromDay: number;
  readonly toStart: (day: number) => InstantUs;
}

/** All there is: to tell months apart would make a row of each. */
function* readWhole(onRows: OnCounted): Script<void> {
  for (const table of ["month_total", "day_total"]) {
    const sql = `SELECT combination, ${TOTALS} FROM ${table} GROUP BY combination`;
    yield* scan<TotalRow>(sql, [], (rows) => onRows(rows.map((row) => ({ ...row, startUs: 0 }))));
  }
}

/** Every day is in one of three tables: in a month's total, or in a day's that is sealed, or in one that still grows. */
function* readTotals({ byMonth, fromDay, toStart }: Spans, onRows: OnCounted): Script<void> {
  if (byMonth) {
    yield* scan<TotalRow & { month: number }>(
      `SELECT combination, month, ${TOTALS} FROM month_total WHERE month >= ? GROUP BY combination, month`,
      [toMonth(fromDay)],
      (rows) => onRows(rows.map(({ month, ...row }) => ({ ...row, startUs: toStart(toFirstDay(month)) }))),
    );
  }
  const { sealed } = (yield* one<{ sealed: number }>(
    "SELECT sealed_before_day AS sealed FROM ledger_state",
  )) ?? { sealed: 0 };
  const isSealedWanted = !byMonth && fromDay < sealed;
  for (const table of isSealedWanted ? ["sealed_day_total", "day_total"] : ["day_total"]) {
    // Its key begins with the combination: each is looked up rather than every row read.
    const seek = table === "day_total" ? "" : "AND combination IN (SELECT id FROM combination)";
    yield* scan<TotalRow & { day: number }>(
      `SELECT combination, day, ${TOTALS} FROM ${table} WHERE day >= ? ${seek} GROUP BY combination, day`,
      [fromDay],
      (rows) => onRows(rows.map(({ day, ...row }) => ({ ...row, startUs: toStart(day) }))),
    );
  }
}

type CarriedRow = TotalRow & { readonly arrivedDay: number; readonly endedDay: number };

function* readCarried(fromDay: number): Script<readonly CarriedRow[]> {
  return yield* all<CarriedRow>(
    `SELECT combination, arrived_day AS "arrivedDay", ended_day AS "endedDay", requests, unpriced_requests AS unpriced,
       unknown_requests AS untold, cost_hi AS "costHi", cost_lo AS "costLo", tokens FROM carried_total WHERE ended_day >= ? OR arrived_day >= ?`,
    [fromDay, fromDay],
  );
}

function toNegative({ combination, requests, unpriced, untold, costHi, costLo, tokens }: TotalRow): TotalRow {
  return {
    combination,
    requests: -requests,
    unpriced: -unpriced,
    untold: -untold,
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
export function* readSlidingRows({ fromUs, stepUs, by }: SlidingRange, onRows: OnCounted): Script<void> {
  const dialect = yield* dialectOf();
  const at = by === "begin" ? "e.id" : "e.id + e.duration_us";
  const sources =
    by === "begin"
      ? [toEvents(dialect, at, "e.id >= ?1")]
      : [
          toEvents(dialect, at, `e.id >= ?2 AND e.duration_us < ${LONG_REQUEST_US} AND ${at} >= ?1`),
          toEvents(dialect, at, `e.duration_us >= ${LONG_REQUEST_US} AND ${at} >= ?1`),
        ];
  yield* scan<CountedRow>(
    `SELECT combination, ${dialect.toStep("at", stepUs)} AS "startUs", sum(requests) AS requests,
       sum(unpriced_requests) AS unpriced, sum(unknown_requests) AS untold, sum(tokens) AS tokens, ${toCountedCosts()}
     FROM (${sources.join(" UNION ALL ")}) AS s GROUP BY 1, 2`,
    by === "begin" ? [fromUs] : [fromUs, fromUs - LONG_REQUEST_US],
    onRows,
  );
}

function toEvents(dialect: Dialect, at: string, condition: string): string {
  return `SELECT e.combination, ${at} AS at, ${toCountedColumns(dialect)}
    FROM event AS e ${toCountedJoins(dialect)} WHERE ${condition}`;
}
