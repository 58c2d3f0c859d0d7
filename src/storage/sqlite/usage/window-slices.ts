import type { Database } from "bun:sqlite";
import type { InstantUs } from "#kernel/clock.ts";
import type { Window } from "#stats/filter.ts";
import { DAY_US, HOUR_US, toDay, toFirstDay, toMonth } from "./calendar.ts";
import type { ResolvedFilter } from "./request-filter.ts";

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
  readonly isMonth: boolean;
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

/** The window in slices, newest first, each with its count. */
export function countSlices(
  database: Database,
  filter: ResolvedFilter,
  bounds: WindowBounds,
): readonly Slice[] {
  const periodUs = filter.isByOutcomeOnly ? HOUR_US : DAY_US;
  const first = Math.ceil(bounds.fromUs / periodUs);
  const end = Math.floor(bounds.toUs / periodUs);
  if (first >= end) return [countRaw(database, filter, bounds)];
  const slices: Slice[] = [];
  if (end * periodUs < bounds.toUs) {
    slices.push(countRaw(database, filter, { fromUs: end * periodUs, toUs: bounds.toUs }));
  }
  if (filter.isByOutcomeOnly) slices.push(...countHours(database, filter, { first, end }));
  else
    slices.push(
      ...countDaysAndMonths(database, filter, { first, end, sealedBefore: bounds.sealedBeforeDay }),
    );
  if (bounds.fromUs < first * periodUs) {
    slices.push(countRaw(database, filter, { fromUs: bounds.fromUs, toUs: first * periodUs }));
  }
  return slices;
}

/** The days of a sealed month that hold matching rows, newest first. */
export function toDaySlices(database: Database, filter: ResolvedFilter, month: Slice): readonly Slice[] {
  return countSealedDays(database, filter, toDay(month.fromUs), toDay(month.toUs));
}

function countRaw(
  database: Database,
  filter: ResolvedFilter,
  { fromUs, toUs }: { readonly fromUs: InstantUs; readonly toUs: InstantUs },
): Slice {
  const row = database
    .query<{ requests: number }, [number, number]>(
      `SELECT count(*) AS requests FROM event WHERE id >= ? AND id < ? ${filter.condition}`,
    )
    .get(fromUs, toUs);
  return { fromUs, toUs, count: row?.requests ?? 0, isMonth: false };
}

function countHours(
  database: Database,
  filter: ResolvedFilter,
  { first, end }: { readonly first: number; readonly end: number },
): readonly Slice[] {
  const isChosen = filter.outcomes === null ? "" : "AND outcome IN (SELECT value FROM json_each(?))";
  return database
    .query<PeriodCount, (number | string)[]>(
      `SELECT hour AS period, sum(requests) AS requests FROM hour_total
       WHERE hour >= ? AND hour < ? ${isChosen} GROUP BY hour ORDER BY hour DESC`,
    )
    .all(first, end, ...(filter.outcomes === null ? [] : [JSON.stringify(filter.outcomes)]))
    .map((row) => toSlice(row, HOUR_US));
}

function countDaysAndMonths(
  database: Database,
  filter: ResolvedFilter,
  {
    first,
    end,
    sealedBefore,
  }: { readonly first: number; readonly end: number; readonly sealedBefore: number },
): readonly Slice[] {
  const firstMonth = toFirstDay(toMonth(first)) === first ? toMonth(first) : toMonth(first) + 1;
  const sealedEnd = Math.min(end, sealedBefore);
  const endMonth = Math.max(firstMonth, toMonth(sealedEnd));
  const hasMonths = firstMonth < endMonth;
  const daysAfter = hasMonths ? toFirstDay(endMonth) : first;
  const slices: Slice[] = [
    ...countOpenDays(database, filter, first, end),
    ...countSealedDays(database, filter, daysAfter, end),
  ];
  if (hasMonths) {
    slices.push(...countMonths(database, filter, firstMonth, endMonth));
    slices.push(...countSealedDays(database, filter, first, toFirstDay(firstMonth)));
  }
  return slices;
}

function countOpenDays(
  database: Database,
  filter: ResolvedFilter,
  first: number,
  end: number,
): readonly Slice[] {
  return database
    .query<PeriodCount, [number, number]>(
      `SELECT day AS period, sum(requests) AS requests FROM day_total
       WHERE day >= ? AND day < ? ${filter.condition} GROUP BY day ORDER BY day DESC`,
    )
    .all(first, end)
    .map((row) => toSlice(row, DAY_US));
}

function countSealedDays(
  database: Database,
  filter: ResolvedFilter,
  first: number,
  end: number,
): readonly Slice[] {
  if (first >= end) return [];
  return database
    .query<PeriodCount, [number, number]>(
      `SELECT day AS period, sum(requests) AS requests FROM sealed_day_total
       WHERE day >= ? AND day < ? ${filter.condition} GROUP BY day ORDER BY day DESC`,
    )
    .all(first, end)
    .map((row) => toSlice(row, DAY_US));
}

function countMonths(
  database: Database,
  filter: ResolvedFilter,
  first: number,
  end: number,
): readonly Slice[] {
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
      isMonth: true,
    }));
}

function toSlice({ period, requests }: PeriodCount, periodUs: number): Slice {
  return { fromUs: period * periodUs, toUs: (period + 1) * periodUs, count: requests, isMonth: false };
}
