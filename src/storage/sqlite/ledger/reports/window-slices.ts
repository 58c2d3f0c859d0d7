import type { Database } from "bun:sqlite";
import { DAY_US, HOUR_US, type InstantUs } from "#kernel/clock.ts";
import type { Window } from "#stats/filter.ts";
import { toDay, toFirstDay } from "#storage/ledger/windows/calendar.ts";
import { findDimensions, toSealedSources } from "./dimension-sums.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import type { RawRange, Span } from "./window-cut.ts";
import { findMonths } from "./window-cut.ts";

/** A window cut to where rows are, on which it rests: whole periods wherever an end lies beyond the rows. */
export interface WindowBounds {
  readonly fromUs: InstantUs;
  readonly toUs: InstantUs;
  readonly sealedBeforeDay: number;
}

/** A part of the window and how many rows of it match. */
export interface Slice {
  readonly fromUs: InstantUs;
  readonly toUs: InstantUs;
  readonly count: number;
  /** Several sealed days, counted as one: `toDaySlices` tells how many each of them has. */
  readonly holdsDays: boolean;
}

interface PeriodCount {
  readonly period: number;
  readonly requests: number;
}

/** Null when no row can lie in the window. */
export function findBounds(database: Database, window: Window, filter: ResolvedFilter): WindowBounds | null {
  const edges = database
    .query<{ first: number | null; last: number | null; pruned: number; sealed: number }, []>(
      `SELECT (SELECT min(id) FROM event) AS first, (SELECT max(id) FROM event) AS last,
         pruned_before_us AS pruned, sealed_before_day AS sealed FROM ledger_state`,
    )
    .get();
  if (edges === null || edges.first === null || edges.last === null) return null;
  const periodUs = filter.isByOutcomeOnly ? HOUR_US : DAY_US;
  const firstPeriodUs = Math.floor(edges.first / periodUs) * periodUs;
  // A period that retention has cut into counts more in the totals than there are rows.
  const isCut = edges.pruned > firstPeriodUs;
  const sinceUs = window.sinceUs ?? 0;
  const untilUs = window.untilUs ?? Number.MAX_SAFE_INTEGER;
  const fromUs = sinceUs > edges.first ? sinceUs : isCut ? edges.first : firstPeriodUs;
  const toUs = untilUs <= edges.last ? untilUs : (Math.floor(edges.last / periodUs) + 1) * periodUs;
  if (sinceUs >= untilUs || fromUs >= toUs) return null;
  return { fromUs, toUs, sealedBeforeDay: edges.sealed };
}

export interface SliceOptions {
  /**
   * Null when the slices are read to their end. Else one slice after the other until so many rows are found: ragged ends are
   * not counted then (their `count` is infinite), and hours not beyond those that are needed.
   */
  readonly rowsWanted: number | null;
}

/** The window in slices, newest first, each with its count. Nothing is counted before it is asked for. */
export function* countSlices(
  database: Database,
  { filter, bounds }: { readonly filter: ResolvedFilter; readonly bounds: WindowBounds },
  { rowsWanted }: SliceOptions,
): Generator<Slice> {
  const periodUs = filter.isByOutcomeOnly ? HOUR_US : DAY_US;
  const first = Math.ceil(bounds.fromUs / periodUs);
  const end = Math.floor(bounds.toUs / periodUs);
  const toRaw = (range: RawRange) =>
    rowsWanted === null
      ? countRaw(database, filter, range)
      : { ...range, count: Number.POSITIVE_INFINITY, holdsDays: false };
  if (first >= end) {
    yield toRaw({ fromUs: bounds.fromUs, toUs: bounds.toUs });
    return;
  }
  if (end * periodUs < bounds.toUs) yield toRaw({ fromUs: end * periodUs, toUs: bounds.toUs });
  if (filter.isByOutcomeOnly) yield* countHours(database, filter, { first, end, hoursMax: rowsWanted });
  else yield* countDaysAndMonths(database, filter, { first, end, sealedBefore: bounds.sealedBeforeDay });
  if (bounds.fromUs < first * periodUs) yield toRaw({ fromUs: bounds.fromUs, toUs: first * periodUs });
}

/** The days of a slice of several that hold matching rows, newest first. */
export function toDaySlices(
  database: Database,
  filter: ResolvedFilter,
  { fromUs, toUs }: Slice,
): readonly Slice[] {
  return database
    .query<PeriodCount, [number, number]>(
      `SELECT day AS period, sum(requests) AS requests FROM sealed_day_total
       WHERE day >= ? AND day < ? ${filter.condition} GROUP BY day ORDER BY day DESC`,
    )
    .all(toDay(fromUs), toDay(toUs))
    .map((row) => toSlice(row, DAY_US));
}

function countRaw(database: Database, filter: ResolvedFilter, { fromUs, toUs }: RawRange): Slice {
  const row = database
    .query<{ requests: number }, [number, number]>(
      `SELECT count(*) AS requests FROM event WHERE id >= ? AND id < ? ${filter.eventCondition}`,
    )
    .get(fromUs, toUs);
  return { fromUs, toUs, count: row?.requests ?? 0, holdsDays: false };
}

function countHours(
  database: Database,
  filter: ResolvedFilter,
  { first, end, hoursMax }: Span & { readonly hoursMax: number | null },
): readonly Slice[] {
  const isChosen = filter.outcomes === null ? "" : "AND outcome IN (SELECT value FROM json_each(?))";
  return (
    database
      .query<PeriodCount, (number | string)[]>(
        `SELECT hour AS period, sum(requests) AS requests FROM hour_total
       WHERE hour >= ? AND hour < ? ${isChosen} GROUP BY hour ORDER BY hour DESC LIMIT ?`,
      )
      // Each has a row at least. A negative limit is none.
      .all(first, end, ...(filter.outcomes === null ? [] : [JSON.stringify(filter.outcomes)]), hoursMax ?? -1)
      .map((row) => toSlice(row, HOUR_US))
  );
}

function* countDaysAndMonths(
  database: Database,
  filter: ResolvedFilter,
  { first, end, sealedBefore }: Span & { readonly sealedBefore: number },
): Generator<Slice> {
  const sealedEnd = Math.min(end, sealedBefore);
  yield* countOpenDays(database, filter, { first, end });
  if (findDimensions(database, filter)) {
    yield* countByDimension(database, filter, { first, end: sealedEnd });
    return;
  }
  const months = findMonths({ first, end }, sealedBefore);
  if (months === null) {
    yield* countSealedDays(database, filter, { first, end: sealedEnd });
    return;
  }
  yield* countSealedDays(database, filter, { first: toFirstDay(months.end), end: sealedEnd });
  yield* countMonths(database, filter, months);
  yield* countSealedDays(database, filter, { first, end: toFirstDay(months.first) });
}

function countOpenDays(database: Database, filter: ResolvedFilter, { first, end }: Span): readonly Slice[] {
  return database
    .query<PeriodCount, [number, number]>(
      `SELECT day AS period, sum(requests) AS requests FROM day_total
       WHERE day >= ? AND day < ? ${filter.condition} GROUP BY day ORDER BY day DESC`,
    )
    .all(first, end)
    .map((row) => toSlice(row, DAY_US));
}

/** As one slice: to group a month of a broad filter by day takes ten times as long as to add it up. */
function countSealedDays(database: Database, filter: ResolvedFilter, { first, end }: Span): readonly Slice[] {
  if (first >= end) return [];
  const row = database
    .query<{ requests: number | null }, [number, number]>(
      `SELECT sum(requests) AS requests FROM sealed_day_total WHERE day >= ? AND day < ? ${filter.condition}`,
    )
    .get(first, end);
  return [{ fromUs: first * DAY_US, toUs: end * DAY_US, count: row?.requests ?? 0, holdsDays: true }];
}

function countByDimension(database: Database, filter: ResolvedFilter, span: Span): readonly Slice[] {
  if (span.first >= span.end) return [];
  const counts = new Map<number, number>();
  for (const { from, bindings, day } of toSealedSources(database, filter, span)) {
    const rows = database
      .query<PeriodCount, (string | number)[]>(
        `SELECT ${day} AS period, sum(t.requests) AS requests FROM ${from} GROUP BY ${day}`,
      )
      .all(...bindings);
    for (const { period, requests } of rows) counts.set(period, (counts.get(period) ?? 0) + requests);
  }
  return [...counts]
    .map(([period, requests]) => toSlice({ period, requests }, DAY_US))
    .sort((a, b) => b.fromUs - a.fromUs);
}

function countMonths(database: Database, filter: ResolvedFilter, { first, end }: Span): readonly Slice[] {
  return database
    .query<PeriodCount, [number, number]>(
      `SELECT month AS period, sum(requests) AS requests FROM month_total
       WHERE month >= ? AND month < ? ${filter.condition} GROUP BY month ORDER BY month DESC`,
    )
    .all(first, end)
    .map(({ period, requests }) => ({
      fromUs: toFirstDay(period) * DAY_US,
      toUs: toFirstDay(period + 1) * DAY_US,
      count: requests,
      holdsDays: true,
    }));
}

function toSlice({ period, requests }: PeriodCount, periodUs: number): Slice {
  return { fromUs: period * periodUs, toUs: (period + 1) * periodUs, count: requests, holdsDays: false };
}
