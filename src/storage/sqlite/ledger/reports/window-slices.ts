import type { Database } from "bun:sqlite";
import { DAY_US, HOUR_US, type InstantUs } from "#kernel/clock.ts";
import type { Window } from "#stats/filter.ts";
import { toDay, toFirstDay } from "#storage/ledger/windows/calendar.ts";
import type { RawRange, Span } from "#storage/ledger/windows/window-cut.ts";
import { cutRows, toParts } from "#storage/ledger/windows/window-cut.ts";
import { findDimensions, toSealedSources } from "./dimension-sums.ts";
import { readEdges } from "./ledger-edges.ts";
import type { ResolvedFilter } from "./request-filter.ts";

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
  { filter, window }: { readonly filter: ResolvedFilter; readonly window: Window },
  { rowsWanted }: SliceOptions,
): Generator<Slice> {
  const isByDimension = !filter.isByOutcomeOnly && findDimensions(database, filter);
  const into = filter.isByOutcomeOnly ? "hours" : isByDimension ? "days" : "months";
  for (const part of toParts(cutRows(readEdges(database), window, into)).toReversed()) {
    if (part.kind === "raw") {
      if (rowsWanted === null) yield countRaw(database, filter, part);
      else yield { ...part, count: Number.POSITIVE_INFINITY, holdsDays: false };
    } else if (part.kind === "hours") {
      yield* countHours(database, filter, { ...part, hoursMax: rowsWanted });
    } else if (part.kind === "openDays") {
      yield* countOpenDays(database, filter, part);
    } else if (part.kind === "months") {
      yield* countMonths(database, filter, part);
    } else {
      yield* (isByDimension ? countByDimension : countSealedDays)(database, filter, part);
    }
  }
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

function countOpenDays(database: Database, filter: ResolvedFilter, { first, end }: Span): readonly Slice[] {
  return database
    .query<PeriodCount, [number, number]>(
      `SELECT day AS period, sum(requests) AS requests FROM day_total
       WHERE day >= ? AND day < ? ${filter.condition} GROUP BY day ORDER BY day DESC`,
    )
    .all(first, end)
    .map((row) => toSlice(row, DAY_US));
}

/** The window as one slice: to group a month of a broad filter by day takes ten times as long as to add it up. */
function countSealedDays(database: Database, filter: ResolvedFilter, { first, end }: Span): readonly Slice[] {
  const row = database
    .query<{ requests: number | null }, [number, number]>(
      `SELECT sum(requests) AS requests FROM sealed_day_total WHERE day >= ? AND day < ? ${filter.condition}`,
    )
    .get(first, end);
  return [{ fromUs: first * DAY_US, toUs: end * DAY_US, count: row?.requests ?? 0, holdsDays: true }];
}

function countByDimension(database: Database, filter: ResolvedFilter, span: Span): readonly Slice[] {
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
