import { all, dialectOf, one, type Script } from "#storage/sql/script.ts";
import { DAY_US, HOUR_US, type InstantUs } from "#kernel/clock.ts";
import type { Window } from "#stats/filter.ts";
import { toDay, toFirstDay } from "#storage/cells/calendar.ts";
import type { RawRange, Span, WindowPart } from "./window-cut.ts";
import { cutRows, toParts } from "./window-cut.ts";
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

/** The parts of the window, newest first, and what counts the slices of one, newest first as well. */
export function* cutIntoSlices(
  { filter, window }: { readonly filter: ResolvedFilter; readonly window: Window },
  { rowsWanted }: SliceOptions,
): Script<{
  readonly parts: readonly WindowPart[];
  readonly count: (part: WindowPart) => Script<readonly Slice[]>;
}> {
  const isByDimension = !filter.isByOutcomeOnly && (yield* findDimensions(filter));
  const into = filter.isByOutcomeOnly ? "hours" : isByDimension ? "days" : "months";
  const parts = toParts(cutRows(yield* readEdges(), window, into)).toReversed();
  const count = function* slices(part: WindowPart) {
    if (part.kind === "raw") {
      if (rowsWanted === null) return [yield* countRaw(filter, part)];
      return [{ ...part, count: Number.POSITIVE_INFINITY, holdsDays: false }];
    }
    if (part.kind === "hours") return yield* countHours(filter, { ...part, hoursMax: rowsWanted });
    if (part.kind === "openDays") return yield* countOpenDays(filter, part);
    if (part.kind === "months") return yield* countMonths(filter, part);
    return yield* (isByDimension ? countByDimension : countSealedDays)(filter, part);
  };
  return { parts, count };
}

/** The days of a slice of several that hold matching rows, newest first. */
export function* toDaySlices(filter: ResolvedFilter, { fromUs, toUs }: Slice): Script<readonly Slice[]> {
  return (yield* all<PeriodCount>(
    `SELECT day AS period, sum(requests) AS requests FROM sealed_day_total
       WHERE day >= ? AND day < ? ${filter.condition} GROUP BY day ORDER BY day DESC`,
    [toDay(fromUs), toDay(toUs)],
  )).map((row) => toSlice(row, DAY_US));
}

function* countRaw(filter: ResolvedFilter, { fromUs, toUs }: RawRange): Script<Slice> {
  const row = yield* one<{ requests: number }>(
    `SELECT count(*) AS requests FROM event WHERE id >= ? AND id < ? ${filter.eventCondition}`,
    [fromUs, toUs],
  );
  return { fromUs, toUs, count: row?.requests ?? 0, holdsDays: false };
}

function* countHours(
  filter: ResolvedFilter,
  { first, end, hoursMax }: Span & { readonly hoursMax: number | null },
): Script<readonly Slice[]> {
  const { isAnyOf } = yield* dialectOf();
  const isChosen = filter.outcomes === null ? "" : `AND ${isAnyOf("outcome", "text")}`;
  return (yield* all<PeriodCount>(
    `SELECT hour AS period, sum(requests) AS requests FROM hour_total
       WHERE hour >= ? AND hour < ? ${isChosen} GROUP BY hour ORDER BY hour DESC LIMIT ?`,
    [first, end, ...(filter.outcomes === null ? [] : [filter.outcomes]), hoursMax ?? Number.MAX_SAFE_INTEGER],
  )).map((row) => toSlice(row, HOUR_US));
}

function* countOpenDays(filter: ResolvedFilter, { first, end }: Span): Script<readonly Slice[]> {
  return (yield* all<PeriodCount>(
    `SELECT day AS period, sum(requests) AS requests FROM day_total
       WHERE day >= ? AND day < ? ${filter.condition} GROUP BY day ORDER BY day DESC`,
    [first, end],
  )).map((row) => toSlice(row, DAY_US));
}

/** The window as one slice: to group a month of a broad filter by day takes ten times as long as to add it up. */
function* countSealedDays(filter: ResolvedFilter, { first, end }: Span): Script<readonly Slice[]> {
  const row = yield* one<{ requests: number | null }>(
    `SELECT sum(requests) AS requests FROM sealed_day_total WHERE day >= ? AND day < ? ${filter.condition}`,
    [first, end],
  );
  return [{ fromUs: first * DAY_US, toUs: end * DAY_US, count: row?.requests ?? 0, holdsDays: true }];
}

function* countByDimension(filter: ResolvedFilter, span: Span): Script<readonly Slice[]> {
  const counts = new Map<number, number>();
  for (const { from, bindings, day } of yield* toSealedSources(filter, span)) {
    const rows = yield* all<PeriodCount>(
      `SELECT ${day} AS period, sum(t.requests) AS requests FROM ${from} GROUP BY ${day}`,
      bindings,
    );
    for (const { period, requests } of rows) counts.set(period, (counts.get(period) ?? 0) + requests);
  }
  return [...counts]
    .map(([period, requests]) => toSlice({ period, requests }, DAY_US))
    .sort((a, b) => b.fromUs - a.fromUs);
}

function* countMonths(filter: ResolvedFilter, { first, end }: Span): Script<readonly Slice[]> {
  return (yield* all<PeriodCount>(
    `SELECT month AS period, sum(requests) AS requests FROM month_total
       WHERE month >= ? AND month < ? ${filter.condition} GROUP BY month ORDER BY month DESC`,
    [first, end],
  )).map(({ period, requests }) => ({
    fromUs: toFirstDay(period) * DAY_US,
    toUs: toFirstDay(period + 1) * DAY_US,
    count: requests,
    holdsDays: true,
  }));
}

function toSlice({ period, requests }: PeriodCount, periodUs: number): Slice {
  return { fromUs: period * periodUs, toUs: (period + 1) * periodUs, count: requests, holdsDays: false };
}
