import { one, type Script } from "#storage/sql/script.ts";
import { DAY_US, HOUR_US, type InstantUs } from "#kernel/clock.ts";
import type { Window } from "#stats/filter.ts";
import { ProxyError } from "#kernel/errors.ts";
import { toDay, toHour } from "#storage/cells/calendar.ts";
import type { CutInto, RawRange, WindowCut } from "./window-cut.ts";
import { cutWindow, NOTHING, toRowsEnd, toRowsFrom } from "./window-cut.ts";
import { findFirstMatch, findFirstRow } from "./first-match.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import { readEdges } from "./ledger-edges.ts";

/** The part of a window that rows can tell of. */
export interface RowWindow {
  /** The window's own start; else where the first row that matches stands, or the first hour that has all of its rows, at most its end. */
  readonly startUs: InstantUs;
  /** No row stands here or later. */
  readonly endUs: InstantUs;
  /** True when something before `startUs` was removed that the window asks for. */
  readonly isSnapped: boolean;
}

/**
 * Where to read a window row by row. Hours that lost rows are left out whole, since one that has a part of them would look
 * like a quiet one. Null when nothing was ever recorded in it, and without a start when nothing in it matches.
 */
export function* findRowWindow(window: Window, filter: ResolvedFilter): Script<RowWindow | null> {
  const edges = yield* readEdges();
  if (edges === null) return null;
  const { firstUs } = edges;
  const rowsFromUs = toRowsFrom(edges);
  const endUs = toRowsEnd(edges);
  const { sinceUs, untilUs } = window;
  const completeFromUs = Math.ceil(rowsFromUs / HOUR_US) * HOUR_US;
  // Never beyond what was asked for: a window that ends before the rows begin has none of its hours.
  const toStart = (instantUs: InstantUs) => Math.min(instantUs, untilUs ?? instantUs);
  if (sinceUs !== null) {
    const isWithin = untilUs === null || (untilUs > firstUs && untilUs > sinceUs);
    const isSnapped = sinceUs < rowsFromUs && rowsFromUs > firstUs && isWithin;
    return { startUs: isSnapped ? toStart(Math.max(completeFromUs, sinceUs)) : sinceUs, endUs, isSnapped };
  }
  if (filter.rows !== null) {
    // What was removed may have matched: no total tells.
    if (rowsFromUs > firstUs) return { startUs: toStart(completeFromUs), endUs, isSnapped: true };
    const range = { fromUs: firstUs, toUs: Math.min(untilUs ?? endUs, endUs) };
    const startUs = yield* findFirstRow(range, filter);
    return startUs === null ? null : { startUs, endUs, isSnapped: false };
  }
  const matchUs = yield* findFirstMatch(cutWindow(edges, window, "days"), filter);
  if (matchUs === null) return null;
  if (yield* isBefore({ matchUs, completeFromUs }, filter)) {
    return { startUs: toStart(completeFromUs), endUs, isSnapped: true };
  }
  const startUs = yield* findFirstRow(
    {
      fromUs: Math.max(matchUs, completeFromUs),
      toUs: Math.min((toDay(matchUs) + 1) * DAY_US, untilUs ?? endUs, endUs),
    },
    filter,
  );
  return startUs === null ? null : { startUs, endUs, isSnapped: false };
}

/** Rows that one report may look at one by one: some seconds. */
const ROWS_MAX = 25_000_000;

/** How many requests arrived in the hours of a range, whatever a filter makes of them. */
export function* countInHours({ fromUs, toUs }: RawRange): Script<number> {
  const row = yield* one<{ requests: number | null }>(
    "SELECT sum(requests) AS requests FROM hour_total WHERE hour >= ? AND hour < ?",
    [toHour(fromUs), Math.ceil(toUs / HOUR_US)],
  );
  return row?.requests ?? 0;
}

/** Throws `range_too_large` for more than `ROWS_MAX` rows. */
export function* refuseTooManyRows(range: RawRange): Script<void> {
  if ((yield* countInHours(range)) > ROWS_MAX) {
    throw new ProxyError(
      "range_too_large",
      `This is counted request by request, ${ROWS_MAX} at most: choose a later since, or a longer bucket or fewer filters.`,
      { param: "since" },
    );
  }
}

/**
 * Cuts a window of this ledger for a filter: one on single rows leaves nothing to totals. Throws `range_too_large` when those
 * are too many.
 */
export function* cutFiltered(
  { window, into }: { readonly window: Window; readonly into: CutInto },
  filter: ResolvedFilter,
): Script<WindowCut> {
  if (filter.rows === null) return cutWindow(yield* readEdges(), window, into);
  const rows = yield* findRowWindow(window, filter);
  if (rows === null) return NOTHING;
  const { startUs } = rows;
  const untilUs = window.untilUs ?? rows.endUs;
  const range = { fromUs: startUs, toUs: Math.min(untilUs, rows.endUs) };
  const snapped = rows.isSnapped ? { sinceUs: startUs, untilUs: Math.max(untilUs, startUs) } : null;
  if (range.fromUs >= range.toUs) return { ...NOTHING, snapped };
  yield* refuseTooManyRows(range);
  return { ...NOTHING, raw: [range], snapped };
}

/** Whether anything that matches arrived before the first complete hour; `matchUs` is as good as days can tell. */
function* isBefore(
  { matchUs, completeFromUs }: { readonly matchUs: InstantUs; readonly completeFromUs: InstantUs },
  { condition, eventCondition }: ResolvedFilter,
): Script<boolean> {
  const day = toDay(matchUs);
  if (matchUs >= completeFromUs) return false;
  if ((day + 1) * DAY_US <= completeFromUs) return true;
  const row = yield* one<{ requests: number | null; rows: number }>(
    `SELECT (SELECT sum(requests) FROM (
           SELECT requests FROM day_total WHERE day = ? ${condition} UNION ALL
           SELECT requests FROM sealed_day_total WHERE day = ? ${condition}) AS s) AS requests,
         (SELECT count(*) FROM event WHERE id >= ? AND id < ? ${eventCondition}) AS rows`,
    [day, day, completeFromUs, (day + 1) * DAY_US],
  );
  return row !== null && (row.requests ?? 0) > row.rows;
}
