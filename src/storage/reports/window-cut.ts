import { DAY_US, HOUR_US, type InstantUs } from "#kernel/clock.ts";
import type { Window } from "#stats/filter.ts";
import type { ReportNotes } from "#stats/store.ts";
import { toFirstDay, toMonth } from "#storage/cells/calendar.ts";

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
  /** Counted in the totals of hours; only when cut into hours, which then stand for days and months. */
  readonly hours: readonly Span[];
  /** Counted in the totals of months: whole months, and the sealed days of the present one. */
  readonly months: readonly Span[];
  /** Counted in the totals of sealed days. */
  readonly sealedDays: readonly Span[];
  /** Counted in the totals of days that still grow. */
  readonly openDays: readonly Span[];
  /** Counted event by event: the ragged ends. */
  readonly raw: readonly RawRange[];
  readonly snapped: ReportNotes["snapped"];
}

/** Where the ledger begins and ends. */
export interface LedgerEdges {
  /** No event ever arrived before it. */
  readonly firstUs: InstantUs;
  /** No event ever arrived at it or later; a whole hour. */
  readonly endUs: InstantUs;
  /** Days before it are sealed. */
  readonly sealedBeforeDay: number;
  /** Rows that arrived before it were removed. */
  readonly prunedBeforeUs: InstantUs;
  /** The first and the last row; null when there is none. */
  readonly rows: { readonly firstUs: InstantUs; readonly lastUs: InstantUs } | null;
}

/** Rows from here on are all there; not later than the ledger's end, and its beginning when nothing was removed. */
export function toRowsFrom({ firstUs, endUs, prunedBeforeUs }: LedgerEdges): InstantUs {
  return Math.min(Math.max(prunedBeforeUs, firstUs), endUs);
}

/** No row is found here or later. */
export function toRowsEnd(edges: LedgerEdges): InstantUs {
  return Math.max(toRowsFrom(edges), (edges.rows?.lastUs ?? edges.firstUs) + 1);
}

/**
 * Cuts a window. An end in the range whose rows were removed, and within a period, snaps outward to the whole period, which
 * `snapped` says. An end beyond everything recorded is widened to the whole period, so that nothing is read row by row for
 * it. Without edges nothing was ever recorded.
 */
export function cutWindow(edges: LedgerEdges | null, window: Window, into: CutInto): WindowCut {
  const ends = edges === null ? null : findEnds(edges, window, toPeriod(into));
  if (edges === null || ends === null) return NOTHING;
  return cutRange(ends, into, edges);
}

/**
 * Cuts a window for its rows: each part counts as many as there are rows in it. An end beyond the rows is widened to the
 * whole period. Periods that may have lost rows to retention are counted row by row: their totals count more. Those are the
 * first row's, and more of them only where a clock was ahead.
 */
export function cutRows(edges: LedgerEdges | null, window: Window, into: CutInto): WindowCut {
  if (edges === null || edges.rows === null) return NOTHING;
  const { firstUs, lastUs } = edges.rows;
  const periodUs = toPeriod(into);
  const firstPeriodUs = toPeriodStart(firstUs, periodUs);
  const sinceUs = window.sinceUs ?? 0;
  const untilUs = window.untilUs ?? Number.MAX_SAFE_INTEGER;
  const lossEndUs = toPeriodEnd(edges.prunedBeforeUs, periodUs);
  const wholeFromUs = edges.prunedBeforeUs > firstPeriodUs ? firstUs : firstPeriodUs;
  const fromUs = sinceUs > firstUs ? sinceUs : wholeFromUs;
  const toUs = untilUs <= lastUs ? untilUs : toPeriodStart(lastUs, periodUs) + periodUs;
  if (sinceUs >= untilUs || fromUs >= toUs) return NOTHING;
  if (fromUs >= lossEndUs) return cutRange({ fromUs, toUs, snapped: null }, into, edges);
  const raw = { fromUs, toUs: Math.min(lossEndUs, toUs) };
  if (raw.toUs === toUs) return { ...NOTHING, raw: [raw] };
  const rest = cutRange({ fromUs: lossEndUs, toUs, snapped: null }, into, edges);
  return { ...rest, raw: [raw, ...rest.raw] };
}

/** A part of a cut, with the instants that it reaches from and to. */
export type WindowPart =
  | ({ readonly kind: "raw" } & RawRange)
  | ({ readonly kind: "hours" | "months" | "sealedDays" | "openDays" } & Span & RawRange);

/** The parts in the order of time. The totals of the present month go before its open days. */
export function toParts(cut: WindowCut): readonly WindowPart[] {
  const inDays = (kind: "sealedDays" | "openDays") => (span: Span) => ({
    kind,
    ...span,
    ...toRange(span, DAY_US),
  });
  const parts: WindowPart[] = [
    ...cut.hours.map((span) => ({ kind: "hours" as const, ...span, ...toRange(span, HOUR_US) })),
    ...cut.months.map((span) => {
      const days = { first: toFirstDay(span.first), end: toFirstDay(span.end) };
      return { kind: "months" as const, ...span, ...toRange(days, DAY_US) };
    }),
    ...cut.sealedDays.map(inDays("sealedDays")),
    ...cut.openDays.map(inDays("openDays")),
    ...cut.raw.map((range) => ({ kind: "raw" as const, ...range })),
  ];
  return parts.sort((a, b) => a.fromUs - b.fromUs);
}

function toRange({ first, end }: Span, periodUs: number): RawRange {
  return { fromUs: first * periodUs, toUs: end * periodUs };
}

function toPeriod(into: CutInto): number {
  return into === "hours" ? HOUR_US : DAY_US;
}

/** Whole periods as far as they go, and what is left at either end. */
function cutRange(
  { fromUs, toUs, snapped }: Ends,
  into: CutInto,
  { sealedBeforeDay }: LedgerEdges,
): WindowCut {
  const periodUs = toPeriod(into);
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
  const months = into === "months" ? findMonths({ first, end }, sealedBeforeDay) : null;
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

/** The cut of a window in which nothing was recorded. */
export const NOTHING: WindowCut = {
  hours: [],
  months: [],
  sealedDays: [],
  openDays: [],
  raw: [],
  snapped: null,
};

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

/** Months whose sealed days all lie within `days`; null when there is none. */
function findMonths(days: Span, sealedBeforeDay: number): Span | null {
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
