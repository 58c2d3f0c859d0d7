import { HOUR_US, type InstantUs } from "#kernel/clock.ts";
import { toFirstDay } from "#storage/cells/calendar.ts";
import { all, dialectOf, one, type Script } from "#storage/sql/script.ts";
import { toChosenBindings, toEventJoins, type Wanted } from "./chosen-events.ts";
import type { Cells } from "#storage/cells/cells.ts";
import type { FoldKeys } from "./fold.ts";
import { foldBy, toKeys } from "./folded-window.ts";
import { NOT_CHOSEN } from "./label-groups.ts";
import { memoryOf } from "./report-memory.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import { type CellSpan, type RawRange, toPeriodAt, toPeriodUs, type WindowCut } from "./window-cut.ts";

/** The first hour of a cut that has an event that matches; the day where its hours have no cells any more, and in a ragged end the event. Null when there is none. */
export function* findFirstMatch(cut: WindowCut, wanted: Wanted): Script<InstantUs | null> {
  const found: InstantUs[] = [];
  for (const span of toSpans(cut, wanted.filter)) {
    const atUs = yield* findFirstIn(span, wanted);
    if (atUs === null) continue;
    found.push(atUs);
    break;
  }
  for (const range of cut.raw) {
    const atUs = yield* findFirstRow(range, wanted);
    if (atUs !== null) found.push(atUs);
  }
  return found.length === 0 ? null : Math.min(...found);
}

function* findFirstIn(span: CellSpan, wanted: Wanted): Script<InstantUs | null> {
  const [first] = yield* countPeriods(span, wanted, { isFirstEnough: true });
  if (first === undefined) return null;
  const within = toWithin(span, first.at);
  return (within === null ? null : yield* findFirstIn(within, wanted)) ?? toPeriodUs(span.period, first.at);
}

/** The arrival of the first row that matches; reads the range row by row up to it. */
export function* findFirstRow({ fromUs, toUs }: RawRange, wanted: Wanted): Script<InstantUs | null> {
  const row = yield* one<{ id: number }>(
    `SELECT e.id FROM event AS e ${toEventJoins(yield* dialectOf(), wanted.filter)} WHERE e.id >= ? AND e.id < ? ORDER BY e.id LIMIT 1`,
    [...toChosenBindings(wanted), fromUs, toUs],
  );
  return row?.id ?? null;
}

/** Counts the requests of a cut that match. */
export function* countMatches(cut: WindowCut, wanted: Wanted): Script<number> {
  const fold = yield* foldBy({ ...wanted, cut }, ["requests"]);
  return [...fold.sums()].reduce((count, { requests }) => count + requests, 0);
}

/** Counts the rows of a range that match. */
export function* countRows({ fromUs, toUs }: RawRange, wanted: Wanted): Script<number> {
  const row = yield* one<{ count: number }>(
    `SELECT count(*) AS count FROM event AS e ${toEventJoins(yield* dialectOf(), wanted.filter)} WHERE e.id >= ? AND e.id < ?`,
    [...toChosenBindings(wanted), fromUs, toUs],
  );
  return row?.count ?? 0;
}

/** The whole hours of a cut by periods, in the order of time. Where the totals of hours tell, nothing else is looked at. */
export function toSpans(
  { cells, hours }: WindowCut,
  { isByOutcomeOnly }: ResolvedFilter,
): readonly CellSpan[] {
  return isByOutcomeOnly && hours.first < hours.end ? [{ period: "hour", ...hours }] : cells;
}

/** The shorter periods of a period; null for an hour. */
export function toWithin({ period }: CellSpan, at: number): CellSpan | null {
  if (period === "hour") return null;
  return period === "month"
    ? { period: "day", first: toFirstDay(at), end: toFirstDay(at + 1) }
    : { period: "hour", first: at * 24, end: (at + 1) * 24 };
}

interface PeriodCount {
  readonly at: number;
  readonly requests: number;
}

/** Counts the requests of each period of a span that match, in the order of time; without periods of which none does, and where the first is enough without those behind it. */
export function* countPeriods(
  span: CellSpan,
  { filter, groups }: Wanted,
  { isFirstEnough = false } = {},
): Script<readonly PeriodCount[]> {
  const { isAnyOf, isByte } = yield* dialectOf();
  const isFilled = `GROUP BY hour HAVING sum(requests) <> 0 ORDER BY hour`;
  const hours = [span.first, span.end].map((at) => toPeriodUs(span.period, at) / HOUR_US);
  if (filter.isByOutcomeOnly) {
    return yield* all<PeriodCount>(
      `SELECT hour AS at, sum(requests) AS requests FROM hour_total WHERE hour >= ? AND hour < ? AND ${isAnyOf("outcome", "text")}
       ${isFilled} ${isFirstEnough ? "LIMIT 1" : ""}`,
      [...hours, [...new Set(filter.results.map(({ outcome }) => outcome))]],
    );
  }
  const counts = new Map<number, number>();
  const add = (at: number, requests: number) => {
    const count = (counts.get(at) ?? 0) + requests;
    counts.set(at, count);
    return count > 0;
  };
  // Before what is sealed: a settlement takes requests out that are sealed already.
  const open = yield* all<PeriodCount>(
    `SELECT hour AS at, sum(requests) AS requests FROM open_cell WHERE ${isByte("?1", "combination", ">", 0)}
       AND hour >= ? AND hour < ? AND ${isAnyOf("result", "number")} ${isFilled}`,
    [groups.shapes, ...hours, filter.results.map(({ id }) => id)],
  );
  for (const { at, requests } of open) add(toPeriodAt(span.period, at * HOUR_US), requests);
  const keys = toKeys(groups, filter);
  const wanted = { ...span, measuresMax: 1, isWanted: (part: number) => groups.parts.has(part) };
  const { cells } = yield* memoryOf();
  yield* cells.read(wanted, (at, found) => add(at, countChosen(found, keys)) && isFirstEnough);
  const found = [...counts].map(([at, requests]) => ({ at, requests }));
  return found.filter(({ requests }) => requests !== 0).sort((left, right) => left.at - right.at);
}

function countChosen(
  { count, combinations, results, measures: [requests] }: Cells,
  { groupOf, endingOf }: FoldKeys,
): number {
  let chosen = 0;
  for (let row = 0; row < count; row += 1) {
    const isChosen = (groupOf[combinations[row] ?? 0] ?? NOT_CHOSEN) !== NOT_CHOSEN;
    if (isChosen && (endingOf[results[row] ?? 0] ?? NOT_CHOSEN) !== NOT_CHOSEN)
      chosen += requests?.[row] ?? 0;
  }
  return chosen;
}
