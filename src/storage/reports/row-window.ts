import { DAY_US, HOUR_US, type InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { RowState } from "#stats/breakdown-query.ts";
import type { Window } from "#stats/filter.ts";
import { toDay, toHour } from "#storage/cells/calendar.ts";
import { one, type Script } from "#storage/sql/script.ts";
import type { Wanted } from "./chosen-events.ts";
import { countMatches, findFirstMatch, findFirstRow } from "./matches.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import {
  cutRange,
  cutWindow,
  type LedgerEdges,
  NOTHING,
  type RawRange,
  readEdges,
  TO_DAYS,
  toRowsEnd,
  toRowsFrom,
  type WindowCut,
} from "./window-cut.ts";

/** The part of a window that rows can tell of. */
interface RowWindow {
  /** The window's own start; else the hour of the first row that matches, or the first hour that has all of its rows, at most its end. */
  readonly startUs: InstantUs;
  /** No row stands here or later. */
  readonly endUs: InstantUs;
  /** True when something before `startUs` was removed that the window asks for. */
  readonly isSnapped: boolean;
  readonly edges: LedgerEdges;
}

/**
 * Where to read a window row by row, or by cells of hours. Hours that lost rows are left out whole, since one that has a part
 * of them would look like a quiet one. Null when nothing was ever recorded in it, and without a start when nothing in it matches.
 */
function* findRowWindow({ sinceUs, untilUs }: Window, wanted: Wanted): Script<RowWindow | null> {
  const edges = yield* readEdges();
  if (edges === null) return null;
  const { firstUs } = edges;
  const rowsFromUs = toRowsFrom(edges);
  const endUs = toRowsEnd(edges);
  const completeFromUs = Math.ceil(rowsFromUs / HOUR_US) * HOUR_US;
  const startAt = (startUs: InstantUs, isSnapped: boolean) => ({ startUs, endUs, isSnapped, edges });
  // Never beyond what was asked for: a window that ends before the rows begin has none of its hours.
  const startAtMost = (startUs: InstantUs, isSnapped: boolean) =>
    startAt(Math.min(startUs, untilUs ?? startUs), isSnapped);
  if (sinceUs !== null) {
    const isWithin = untilUs === null || (untilUs > firstUs && untilUs > sinceUs);
    const isSnapped = sinceUs < rowsFromUs && rowsFromUs > firstUs && isWithin;
    return isSnapped ? startAtMost(Math.max(completeFromUs, sinceUs), true) : startAt(sinceUs, false);
  }
  if (wanted.filter.rows !== null) {
    // A removed row may have matched: no cell tells.
    if (rowsFromUs > firstUs) return startAtMost(completeFromUs, true);
    const startUs = yield* findFirstRow({ fromUs: firstUs, toUs: Math.min(untilUs ?? endUs, endUs) }, wanted);
    return startUs === null ? null : startAt(startUs, false);
  }
  const days = cutWindow(edges, { sinceUs, untilUs }, TO_DAYS);
  const matchUs = yield* findFirstMatch(days, wanted);
  if (matchUs === null) return null;
  if (yield* isBefore({ matchUs, completeFromUs }, wanted, edges)) return startAtMost(completeFromUs, true);
  return startAtMost(Math.max(matchUs, completeFromUs), false);
}

/** A window as rows tell of it. */
export interface RowsCut {
  /** Its whole hours by their cells, but for a filter on single requests. */
  readonly cut: WindowCut;
  /** All of it; null when it is empty. */
  readonly range: RawRange | null;
  /** Null when nothing in it matches and it has no start of its own. */
  readonly startUs: InstantUs | null;
}

/** Cuts a window of this ledger to what rows can tell of. */
export function* cutToRows(window: Window, wanted: Wanted): Script<RowsCut> {
  const rows = yield* findRowWindow(window, wanted);
  if (rows === null) return { cut: NOTHING, range: null, startUs: window.sinceUs };
  const { startUs, endUs, edges } = rows;
  const untilUs = window.untilUs ?? endUs;
  const snapped = rows.isSnapped ? { sinceUs: startUs, untilUs: Math.max(untilUs, startUs) } : null;
  const range = { fromUs: startUs, toUs: Math.min(untilUs, endUs) };
  if (range.fromUs >= range.toUs) return { cut: { ...NOTHING, snapped }, range: null, startUs };
  const cut = wanted.filter.rows === null ? cutRange(range, "hour", edges) : { ...NOTHING, raw: [range] };
  return { cut: { ...cut, snapped }, range, startUs };
}

/** Rows that one report may look at one by one: some seconds. */
const ROWS_MAX = 25_000_000;

/** Counts the requests that arrived in the hours of ranges, whatever a filter makes of them. */
function* countInHours(ranges: readonly RawRange[]): Script<number> {
  let requests = 0;
  for (const { fromUs, toUs } of ranges) {
    const row = yield* one<{ requests: number | null }>(
      "SELECT sum(requests) AS requests FROM hour_total WHERE hour >= ? AND hour < ?",
      [toHour(fromUs), Math.ceil(toUs / HOUR_US)],
    );
    requests += row?.requests ?? 0;
  }
  return requests;
}

/** Throws `range_too_large` when more than `ROWS_MAX` rows would be looked at: hours that have cells do not count. */
export function* refuseTooManyRows(ranges: readonly RawRange[]): Script<void> {
  if ((yield* countInHours(ranges)) <= ROWS_MAX) return;
  throw new ProxyError(
    "range_too_large",
    `This is counted request by request, ${ROWS_MAX} at most: choose a later since, or a longer bucket or fewer filters.`,
    { param: "since" },
  );
}

/**
 * Cuts a window of this ledger for a filter: one on single requests leaves nothing to cells. Throws `range_too_large` when those
 * are too many. `isByHour`: no part of it is longer than an hour.
 */
export function* cutFiltered(window: Window, wanted: Wanted, isByHour = false): Script<WindowCut> {
  if (wanted.filter.rows === null && !isByHour) return cutWindow(yield* readEdges(), window, TO_DAYS);
  const { cut } = yield* cutToRows(window, wanted);
  yield* refuseTooManyRows(cut.raw);
  return cut;
}

/** The rows of a window, each once; none where they are not read, of which `state` tells why. */
interface RowRanges {
  readonly state: RowState;
  readonly ranges: readonly RawRange[];
}

interface CutWindow {
  readonly cut: WindowCut;
  readonly window: Window;
  readonly filter: ResolvedFilter;
}

/** The rows of a window that was cut, if all are there and their hours have at most `rowsMax` requests. */
export function* findRowRanges({ cut, window, filter }: CutWindow, rowsMax: number): Script<RowRanges> {
  const ranges = filter.rows === null ? yield* findAllRows(cut, window) : cut.raw;
  if (ranges === null) return { state: "rows_removed", ranges: [] };
  const isTooMany = (yield* countInHours(ranges)) > rowsMax;
  return isTooMany ? { state: "too_many_requests", ranges: [] } : { state: "exact", ranges };
}

/** Null when retention has removed rows of the window. */
function* findAllRows({ snapped }: WindowCut, window: Window): Script<readonly RawRange[] | null> {
  const edges = yield* readEdges();
  if (edges === null) return [];
  const rowsFromUs = toRowsFrom(edges);
  const fromUs = Math.max(window.sinceUs ?? edges.firstUs, edges.firstUs);
  const toUs = Math.min(window.untilUs ?? edges.endUs, edges.endUs);
  const isRemoved = rowsFromUs > edges.firstUs && (snapped !== null || fromUs < rowsFromUs);
  if (fromUs >= toUs) return [];
  return isRemoved ? null : [{ fromUs, toUs }];
}

/** Tells whether anything that matches arrived before the first complete hour, of whose day only the day itself tells. */
function* isBefore(
  { matchUs, completeFromUs }: { readonly matchUs: InstantUs; readonly completeFromUs: InstantUs },
  wanted: Wanted,
  edges: LedgerEdges,
): Script<boolean> {
  const day = toDay(matchUs);
  const dayEndUs = (day + 1) * DAY_US;
  if (day * DAY_US >= completeFromUs || edges.prunedBeforeUs <= edges.firstUs) return false;
  if (dayEndUs <= completeFromUs) return true;
  const inDay = cutRange({ fromUs: day * DAY_US, toUs: dayEndUs }, "day", edges);
  const inRest = cutRange({ fromUs: completeFromUs, toUs: dayEndUs }, "hour", edges);
  return (yield* countMatches(inDay, wanted)) > (yield* countMatches(inRest, wanted));
}
