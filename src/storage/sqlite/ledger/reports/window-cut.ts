import type { Database } from "bun:sqlite";
import { DAY_US, HOUR_US, type InstantUs } from "#kernel/clock.ts";
import type { Window } from "#stats/filter.ts";
import type { ReportNotes } from "#stats/store.ts";
import { toFirstDay, toMonth } from "#storage/ledger/windows/calendar.ts";

/** The longest periods that a window is cut into; what is shorter fills up its ends. */
export type CutInto = "hours" | "days" | "months";

/** Whole periods `[first, end)`, counted since 1970-01-01 UTC. Never empty. */
export interface Span {
  readonly first: number;
  readonly end: number;
}

/** `[fromUs, toUs)`, within one period of the cut. Never empty. */
export interface RawRange {
  readonly fromUs: InstantUs;
  readonly toUs: InstantUs;
}

/** A window in parts that do not overlap: what lies in it is counted in exactly one of them. */
export interface WindowCut {
  /** Of `hour_total`; only when cut into hours, which then stand for days and months. */
  readonly hours: readonly Span[];
  /** Of `month_total`: whole months, and the sealed days of the present one. */
  readonly months: readonly Span[];
  /** Of `sealed_day_total`. */
  readonly sealedDays: readonly Span[];
  /** Of `day_total`. */
  readonly openDays: readonly Span[];
  /** Of `event`: the ragged ends. */
  readonly raw: readonly RawRange[];
  readonly snapped: ReportNotes["snapped"];
}

/** Where the ledger begins and ends. */
export interface LedgerEdges {
  /** No event ever arrived before it. */
  readonly firstUs: InstantUs;
  /** No event ever arrived at it or later; a whole hour. */
  readonly endUs: InstantUs;
  /** No row stands here or later. */
  readonly rowsEndUs: InstantUs;
  /** Days before it are sealed. */
  readonly sealedBeforeDay: number;
  /** Rows from here on are all there; not later than `endUs`, and `firstUs` when nothing was removed. */
  readonly rowsFromUs: InstantUs;
}

/** Null when nothing was ever recorded. Microseconds. */
export function readEdges(database: Database): LedgerEdges | null {
  const row = database
    .query<EdgesRow, []>(
      `SELECT (SELECT min(hour) FROM hour_total) AS first_hour, (SELECT max(hour) FROM hour_total) AS last_hour,
         (SELECT max(id) FROM event) AS last_row, sealed_before_day, pruned_before_us FROM ledger_state`,
    )
    .get();
  if (row === null || row.first_hour === null || row.last_hour === null) return null;
  const firstUs = row.first_hour * HOUR_US;
  const endUs = (row.last_hour + 1) * HOUR_US;
  const rowsFromUs = Math.min(Math.max(row.pruned_before_us, firstUs), endUs);
  const rowsEndUs = Math.max(rowsFromUs, (row.last_row ?? firstUs) + 1);
  return { firstUs, endUs, rowsFromUs, rowsEndUs, sealedBeforeDay: row.sealed_before_day };
}

/**
 * Cuts a window. An end in the range whose rows were removed, and within a period, snaps outward to the whole period, which
 * `snapped` says. An end beyond everything recorded is widened to the whole period, so that nothing is read row by row for
 * it. A few microseconds: it reads the state and the edges of two tables.
 */
export function cutWindow(database: Database, window: Window, into: CutInto): WindowCut {
  const edges = readEdges(database);
  const periodUs = into === "hours" ? HOUR_US : DAY_US;
  const ends = edges === null ? null : findEnds(edges, window, periodUs);
  if (edges === null || ends === null) return NOTHING;
  const { fromUs, toUs, snapped } = ends;
  const first = Math.ceil(fromUs / periodUs);
  const end = Math.floor(toUs / periodUs);
  const raw =
    first > end
      ? [{ fromUs, toUs }]
      : [
          { fromUs, toUs: first * periodUs },
          { fromUs: end * periodUs, toUs },
        ].filter((range) => range.fromUs < range.toUs);
  if (into === "hours") return { ...NOTHING, raw, snapped, hours: toSpans({ first, end }) };
  const days = { first, end };
  const { sealedBeforeDay } = edges;
  const months = into === "months" ? findMonths(days, sealedBeforeDay) : null;
  const sealedEnd = Math.min(end, sealedBeforeDay);
  const sealedDays =
    months === null
      ? toSpans({ first, end: sealedEnd })
      : [
          ...toSpans({ first, end: toFirstDay(months.first) }),
          ...toSpans({ first: toFirstDay(months.end), end: sealedEnd }),
        ];
  return {
    hours: [],
    months: months === null ? [] : [months],
    sealedDays,
    openDays: toSpans({ first: Math.max(first, sealedBeforeDay), end }),
    raw,
    snapped,
  };
}

interface EdgesRow {
  readonly first_hour: number | null;
  readonly last_hour: number | null;
  readonly last_row: number | null;
  readonly sealed_before_day: number;
  readonly pruned_before_us: number;
}

const NOTHING: WindowCut = { hours: [], months: [], sealedDays: [], openDays: [], raw: [], snapped: null };

interface Ends extends RawRange {
  readonly snapped: ReportNotes["snapped"];
}

/** Null when nothing was recorded within the window. */
function findEnds(edges: LedgerEdges, window: Window, periodUs: number): Ends | null {
  const { firstUs, endUs, rowsFromUs, rowsEndUs } = edges;
  const sinceUs = window.sinceUs ?? firstUs;
  const untilUs = window.untilUs ?? endUs;
  if (sinceUs >= untilUs || sinceUs >= endUs || untilUs <= firstUs) return null;

  const periodOfSinceUs = toPeriodStart(Math.max(sinceUs, firstUs), periodUs);
  const isWholeFromStart = sinceUs <= firstUs || sinceUs === periodOfSinceUs;
  const isSinceSnapped = !isWholeFromStart && sinceUs < rowsFromUs;
  const fromUs = isWholeFromStart || isSinceSnapped ? periodOfSinceUs : sinceUs;

  const periodOfUntilUs = toPeriodStart(Math.min(untilUs, endUs), periodUs);
  // What arrived since the removed rows has a row: after the last one there is nothing.
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

/** Months of which every sealed day lies within `days`; null when there is none. */
export function findMonths(days: Span, sealedBeforeDay: number): Span | null {
  const first = toMonth(days.first - 1) + 1;
  // A month's total holds its sealed days only: when all of those lie within, the present month's will do as well.
  const end = days.end >= sealedBeforeDay ? toMonth(sealedBeforeDay - 1) + 1 : toMonth(days.end);
  return first < end ? { first, end } : null;
}

function toSpans(span: Span): readonly Span[] {
  return span.first < span.end ? [span] : [];
}

function toPeriodStart(instantUs: InstantUs, periodUs: number): InstantUs {
  return Math.floor(instantUs / periodUs) * periodUs;
}

function toPeriodEnd(instantUs: InstantUs, periodUs: number): InstantUs {
  return Math.ceil(instantUs / periodUs) * periodUs;
}
