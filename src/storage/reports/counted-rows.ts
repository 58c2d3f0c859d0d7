import { DAY_US, type InstantUs } from "#kernel/clock.ts";
import { type CalendarWindow, toWindowStart } from "#limits/limit-window.ts";
import { TOKEN_COLUMNS } from "#storage/cells/measures.ts";
import { toCostSums } from "#storage/cells/sums.ts";
import type { Dialect } from "#storage/sql/dialect.ts";
import { all, dialectOf, type Script, scan } from "#storage/sql/script.ts";
import { LONG_REQUEST_US, toCountedColumns } from "./counted-columns.ts";
import { EVENT_JOINS } from "./event-measures.ts";
import { Fold, type FoldSum } from "./fold.ts";
import { foldWindow, toKeys } from "./folded-window.ts";
import { groupLabelSets } from "./label-groups.ts";
import { readEdges } from "./ledger-edges.ts";
import { readResults } from "./request-filter.ts";
import { cutRange, toPeriodAt } from "./window-cut.ts";

/** What one combination used in a part of a window. Quantities may be negative: what is carried to another part. */
export interface CountedRow {
  readonly combination: number;
  readonly startUs: InstantUs;
  readonly requests: number;
  readonly unpriced: number;
  /** Requests whose usage is unknown (`isUnknown`). */
  readonly unknown: number;
  readonly costHi: number;
  readonly costLo: number;
  readonly tokens: number;
}

type TotalRow = Omit<CountedRow, "startUs">;

/** Told of some thousand rows at a time. */
export type OnCounted = (rows: readonly CountedRow[]) => Script<void>;

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
 * What ended from a day on, by calendar windows. Cells are by arrival: what ended on another day is taken from one window and
 * added to the other.
 */
export function* readCalendarRows(
  { window, fromDay, arrivedFromDay }: CalendarRange,
  onRows: OnCounted,
): Script<void> {
  const toStart = (day: number) => toWindowStart(window, day * DAY_US);
  const results = yield* readResults();
  const filter = {
    conditions: [],
    results,
    lastResult: results.at(-1)?.id ?? 0,
    rows: null,
    isByOutcomeOnly: true,
    outcomes: null,
  };
  const groups = yield* groupLabelSets(filter, "each");
  const keys = toKeys(groups, filter);
  const fold = new Fold(keys, MEASURES);
  const edges = yield* readEdges();
  const fromUs = Math.max(fromDay, arrivedFromDay) * DAY_US;
  if (edges !== null && fromUs < edges.endUs) {
    const longest = window === "month" || window === "total" ? "month" : "day";
    const cut = cutRange({ fromUs, toUs: edges.endUs }, longest, edges);
    const toPeriod = (instantUs: InstantUs) => toPeriodAt("day", toStart(toPeriodAt("day", instantUs)));
    yield* foldWindow(fold, { cut, filter, groups, toPeriod });
  }
  yield* onRows([...fold.sums()].map(toCountedRow));
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

const MEASURES = [
  "requests",
  "unpriced_requests",
  "pending_requests",
  "unmetered_requests",
  "cost_hi",
  "cost_lo",
  ...TOKEN_COLUMNS,
];

/** Groups are label sets, and periods days on which a window begins. */
function toCountedRow(sum: FoldSum): CountedRow {
  return {
    combination: sum.group,
    startUs: sum.period * DAY_US,
    requests: sum.requests,
    unpriced: sum.unpriced_requests,
    unknown: sum.pending_requests + sum.unmetered_requests,
    costHi: sum.cost_hi,
    costLo: sum.cost_lo,
    tokens: TOKEN_COLUMNS.reduce((tokens, column) => tokens + (sum[column] ?? 0), 0),
  };
}

type CarriedRow = TotalRow & { readonly arrivedDay: number; readonly endedDay: number };

function* readCarried(fromDay: number): Script<readonly CarriedRow[]> {
  return yield* all<CarriedRow>(
    `SELECT combination, arrived_day AS "arrivedDay", ended_day AS "endedDay", requests, unpriced_requests AS unpriced,
       unknown_requests AS unknown, cost_hi AS "costHi", cost_lo AS "costLo", tokens FROM carried_total WHERE ended_day >= ? OR arrived_day >= ?`,
    [fromDay, fromDay],
  );
}

function toNegative({
  combination,
  requests,
  unpriced,
  unknown,
  costHi,
  costLo,
  tokens,
}: TotalRow): TotalRow {
  return {
    combination,
    requests: -requests,
    unpriced: -unpriced,
    unknown: -unknown,
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
       sum(unpriced_requests) AS unpriced, sum(unknown_requests) AS unknown, sum(tokens) AS tokens, ${toCountedCosts()}
     FROM (${sources.join(" UNION ALL ")}) AS s GROUP BY 1, 2`,
    by === "begin" ? [fromUs] : [fromUs, fromUs - LONG_REQUEST_US],
    onRows,
  );
}

function toEvents(dialect: Dialect, at: string, condition: string): string {
  return `SELECT e.combination, ${at} AS at, ${toCountedColumns(dialect)}
    FROM event AS e ${EVENT_JOINS} WHERE ${condition}`;
}
