import { DAY_US, HOUR_US, type InstantUs } from "#kernel/clock.ts";
import type { Window } from "#stats/filter.ts";
import type { ReportNotes } from "#stats/store.ts";
import { toDay, toFirstDay, toMonth } from "#storage/cells/calendar.ts";
import type { CellPeriod, CellRange } from "#storage/cells/stored-cells.ts";
import { one, type Script } from "#storage/sql/script.ts";

/** `[fromUs, toUs)`. Never empty. */
export interface RawRange {
  readonly fromUs: InstantUs;
  readonly toUs: InstantUs;
}

/** Periods of one length whose cells are added up. */
export interface CellSpan extends CellRange {
  readonly period: CellPeriod;
}

/** A window in parts that do not overlap: what lies in it is counted in exactly one of them. */
export interface WindowCut {
  /** The whole hours: counted in the totals of hours, or by cells. */
  readonly hours: CellRange;
  /** The longest periods that `hours` fill, in the order of time. What is not sealed of them is in `open_cell`. */
  readonly cells: readonly CellSpan[];
  /** Counted event by event: ends shorter than an hour, and all of it for a filter on single requests. */
  readonly raw: readonly RawRange[];
  readonly snapped: ReportNotes["snapped"];
}

/** The cut of a window in which nothing was recorded. */
export const NOTHING: WindowCut = { hours: { first: 0, end: 0 }, cells: [], raw: [], snapped: null };

/** Where the ledger begins and ends. */
export interface LedgerEdges {
  /** No event ever arrived before it. */
  readonly firstUs: InstantUs;
  /** No event ever arrived at it or later; a whole hour. */
  readonly endUs: InstantUs;
  /** Rows that arrived before it were removed. */
  readonly prunedBeforeUs: InstantUs;
  /** An instant before which no row is, and the last row; null when there is none. */
  readonly rows: { readonly firstUs: InstantUs; readonly lastUs: InstantUs } | null;
}

interface StateRow {
  readonly first_hour: number | null;
  readonly last_hour: number | null;
  readonly first_pending: number | null;
  readonly last_pending: number | null;
  readonly pruned_before_us: number;
  readonly refused_before_us: number;
}

/** Null when nothing was ever recorded. A few microseconds: the state and the edges of some tables. */
export function* readEdges(): Script<LedgerEdges | null> {
  const state = yield* one<StateRow>(
    `SELECT (SELECT min(hour) FROM hour_total) AS first_hour, (SELECT max(hour) FROM hour_total) AS last_hour,
       (SELECT min(id) FROM pending_event) AS first_pending, (SELECT max(id) FROM pending_event) AS last_pending,
       pruned_before_us, refused_before_us FROM ledger_state`,
  );
  if (state === null || state.first_hour === null || state.last_hour === null) return null;
  const firstUs = state.first_hour * HOUR_US;
  const endUs = (state.last_hour + 1) * HOUR_US;
  // Whole days may be removed at once: a day before the bound is the first that may still have rows, but for pending ones.
  const rowsFromUs = Math.max(firstUs, state.refused_before_us - DAY_US);
  // The last hour is looked at alone: to plan a statement about a log that has a table for each day takes long.
  const lastUs =
    (yield* findLastRow({ fromUs: endUs - HOUR_US, toUs: endUs })) ??
    (yield* findLastRow({ fromUs: rowsFromUs, toUs: endUs })) ??
    state.last_pending;
  const { first_pending: firstPendingUs } = state;
  return {
    firstUs,
    endUs,
    prunedBeforeUs: state.pruned_before_us,
    rows: lastUs === null ? null : { firstUs: Math.min(rowsFromUs, firstPendingUs ?? rowsFromUs), lastUs },
  };
}

function* findLastRow({ fromUs, toUs }: RawRange): Script<InstantUs | null> {
  const row = yield* one<{ id: InstantUs }>(
    "SELECT id FROM event WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT 1",
    [fromUs, toUs],
  );
  return row?.id ?? null;
}

/** Rows from here on are all there; not later than the ledger's end, and its beginning when nothing was removed. */
export function toRowsFrom({ firstUs, endUs, prunedBeforeUs }: LedgerEdges): InstantUs {
  return Math.min(Math.max(prunedBeforeUs, firstUs), endUs);
}

/** No row is found here or later. */
export function toRowsEnd(edges: LedgerEdges): InstantUs {
  return Math.max(toRowsFrom(edges), (edges.rows?.lastUs ?? edges.firstUs) + 1);
}

/** Where cells of hours may be gone, whole days are counted. */
export const TO_DAYS = { longest: "month", snapUs: DAY_US } as const;
/** Day by day. */
export const BY_DAY = { longest: "day", snapUs: DAY_US } as const;

/**
 * Cuts a window. An end in the range whose rows were removed, and within a period of `snapUs`, snaps outward to the whole
 * period, which `snapped` says. An end beyond everything recorded is widened, so that nothing is read row by row for it.
 * Without edges nothing was ever recorded.
 */
export function cutWindow(
  edges: LedgerEdges | null,
  window: Window,
  { longest, snapUs }: { readonly longest: CellPeriod; readonly snapUs: number },
): WindowCut {
  const ends = edges === null ? null : findEnds(edges, window, snapUs);
  if (edges === null || ends === null) return NOTHING;
  return { ...cutRange(ends, longest, edges), snapped: ends.snapped };
}

/**
 * Cuts a window for its rows: each part counts as many as there are rows in it. Hours that may have lost rows to retention are
 * counted row by row, since their cells count more.
 */
export function cutRows(edges: LedgerEdges | null, window: Window): WindowCut {
  if (edges === null || edges.rows === null) return NOTHING;
  const { firstUs, lastUs } = edges.rows;
  const lossEndUs = toPeriodEnd(edges.prunedBeforeUs, HOUR_US);
  const wholeFromUs = edges.prunedBeforeUs > firstUs ? firstUs : toPeriodStart(firstUs, HOUR_US);
  const fromUs = Math.max(window.sinceUs ?? 0, wholeFromUs);
  const untilUs = window.untilUs ?? Number.MAX_SAFE_INTEGER;
  const toUs = untilUs <= lastUs ? untilUs : toPeriodStart(lastUs, HOUR_US) + HOUR_US;
  if (fromUs >= toUs) return NOTHING;
  if (fromUs >= lossEndUs) return cutRange({ fromUs, toUs }, "month", edges);
  const raw = { fromUs, toUs: Math.min(lossEndUs, toUs) };
  const rest = raw.toUs === toUs ? NOTHING : cutRange({ fromUs: raw.toUs, toUs }, "month", edges);
  return { ...rest, raw: [raw, ...rest.raw] };
}

/** Whole hours as far as they go, as the longest periods, and what is left at either end. */
export function cutRange(range: RawRange, longest: CellPeriod, edges: LedgerEdges): WindowCut {
  const { fromUs, toUs } = widen(range, edges);
  const first = Math.ceil(fromUs / HOUR_US);
  const end = Math.floor(toUs / HOUR_US);
  if (first > end) return { ...NOTHING, raw: [{ fromUs, toUs }] };
  const raw = [
    { fromUs, toUs: first * HOUR_US },
    { fromUs: end * HOUR_US, toUs },
  ];
  return {
    hours: { first, end },
    cells: toSpans({ first, end }, longest),
    raw: raw.filter((part) => part.fromUs < part.toUs),
    snapped: null,
  };
}

/** Before the first hour and behind the last row nothing was recorded: what goes that far takes whole hours, and months. */
function widen({ fromUs, toUs }: RawRange, edges: LedgerEdges): RawRange {
  const hourEndUs = toUs >= toRowsEnd(edges) ? toPeriodEnd(toUs, HOUR_US) : toUs;
  return {
    fromUs: fromUs <= edges.firstUs ? toFirstDay(toMonth(toDay(fromUs))) * DAY_US : fromUs,
    toUs: hourEndUs >= edges.endUs ? toFirstDay(toMonth(toDay(hourEndUs - 1)) + 1) * DAY_US : hourEndUs,
  };
}

function toSpans(hours: CellRange, longest: CellPeriod): readonly CellSpan[] {
  const days = { first: Math.ceil(hours.first / 24), end: Math.floor(hours.end / 24) };
  if (longest === "hour" || days.first >= days.end) return toFilled([{ period: "hour", ...hours }]);
  const months = { first: toMonth(days.first - 1) + 1, end: toMonth(days.end) };
  const isByMonth = longest === "month" && months.first < months.end;
  const ofDays: readonly CellSpan[] = isByMonth
    ? [
        { period: "day", first: days.first, end: toFirstDay(months.first) },
        { period: "month", ...months },
        { period: "day", first: toFirstDay(months.end), end: days.end },
      ]
    : [{ period: "day", ...days }];
  return toFilled([
    { period: "hour", first: hours.first, end: days.first * 24 },
    ...ofDays,
    { period: "hour", first: days.end * 24, end: hours.end },
  ]);
}

function toFilled(spans: readonly CellSpan[]): readonly CellSpan[] {
  return spans.filter(({ first, end }) => first < end);
}

/** The period in which an instant lies. */
export function toPeriodAt(period: CellPeriod, instantUs: InstantUs): number {
  if (period === "hour") return Math.floor(instantUs / HOUR_US);
  return period === "day" ? toDay(instantUs) : toMonth(toDay(instantUs));
}

/** The instant at which a period begins. */
export function toPeriodUs(period: CellPeriod, at: number): InstantUs {
  if (period === "hour") return at * HOUR_US;
  return (period === "day" ? at : toFirstDay(at)) * DAY_US;
}

interface Ends extends RawRange {
  readonly snapped: ReportNotes["snapped"];
}

/** Null when nothing was recorded within the window. */
function findEnds(edges: LedgerEdges, window: Window, periodUs: number): Ends | null {
  const { firstUs, endUs } = edges;
  const rowsFromUs = toRowsFrom(edges);
  const rowsEndUs = toRowsEnd(edges);
  const sinceUs = window.sinceUs ?? firstUs;
  const untilUs = window.untilUs ?? endUs;
  if (sinceUs >= untilUs || sinceUs >= endUs || untilUs <= firstUs) return null;

  const periodOfSinceUs = toPeriodStart(Math.max(sinceUs, firstUs), periodUs);
  const isWholeFromStart = sinceUs <= firstUs || sinceUs === periodOfSinceUs;
  const isSinceSnapped = !isWholeFromStart && sinceUs < rowsFromUs;
  const fromUs = isWholeFromStart || isSinceSnapped ? periodOfSinceUs : sinceUs;

  const periodOfUntilUs = toPeriodStart(Math.min(untilUs, endUs), periodUs);
  // An event that arrived since the removed rows has a row: after the last one there is nothing.
  const isWholeToEnd = untilUs >= rowsEndUs || untilUs === periodOfUntilUs;
  const isUntilSnapped = !isWholeToEnd && Math.max(periodOfUntilUs, fromUs, firstUs) < rowsFromUs;
  const toUs = isWholeToEnd || isUntilSnapped ? toPeriodEnd(Math.min(untilUs, endUs), periodUs) : untilUs;

  const snapped =
    isSinceSnapped || isUntilSnapped
      ? {
          sinceUs: isSinceSnapped ? fromUs : (window.sinceUs ?? fromUs),
          untilUs: isUntilSnapped ? toUs : (window.untilUs ?? toUs),
        }
      : null;
  return { fromUs, toUs, snapped };
}

function toPeriodStart(instantUs: InstantUs, periodUs: number): InstantUs {
  return Math.floor(instantUs / periodUs) * periodUs;
}

function toPeriodEnd(instantUs: InstantUs, periodUs: number): InstantUs {
  return Math.ceil(instantUs / periodUs) * periodUs;
}
