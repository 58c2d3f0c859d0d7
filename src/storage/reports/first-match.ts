import { HOUR_US, type InstantUs } from "#kernel/clock.ts";
import { toFirstDay } from "#storage/cells/calendar.ts";
import { dialectOf, one, type Script } from "#storage/sql/script.ts";
import { toChosenBindings, toEventJoins, type Wanted } from "./chosen-events.ts";
import type { FoldedCells } from "./decoded-cells.ts";
import { Fold, type FoldKeys } from "./fold.ts";
import { foldWindow, toKeys } from "./folded-window.ts";
import { type LabelGroups, NOT_CHOSEN } from "./label-groups.ts";
import { memoryOf } from "./report-memory.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import { type CellSpan, type RawRange, toPeriodUs, type WindowCut } from "./window-cut.ts";

/** The first hour of a cut that has an event that matches; the day where its hours have no cells any more, and in a ragged end the event. Null when there is none. */
export function* findFirstMatch(cut: WindowCut, wanted: Wanted): Script<InstantUs | null> {
  const { filter, groups } = wanted;
  const found: number[] = [];
  if (filter.isByOutcomeOnly) {
    const atUs = yield* findFirstHour(cut, filter);
    if (atUs !== null) found.push(atUs);
  } else {
    const keys = toKeys(groups, filter);
    for (const span of cut.cells) {
      const atUs = yield* findInCells(span, { keys, groups });
      if (atUs === null) continue;
      found.push(atUs);
      break;
    }
    const openUs = yield* findInOpenCells(cut, wanted);
    if (openUs !== null) found.push(openUs);
  }
  for (const range of cut.raw) {
    const atUs = yield* findFirstRow(range, wanted);
    if (atUs !== null) found.push(atUs);
  }
  return found.length === 0 ? null : Math.min(...found);
}

/** The arrival of the first row that matches; reads the range row by row up to it. */
export function* findFirstRow({ fromUs, toUs }: RawRange, wanted: Wanted): Script<InstantUs | null> {
  const row = yield* one<{ id: number }>(
    `SELECT e.id FROM event AS e ${toEventJoins(yield* dialectOf(), wanted.filter)} WHERE e.id >= ? AND e.id < ? ORDER BY e.id LIMIT 1`,
    [...toChosenBindings(wanted), fromUs, toUs],
  );
  return row?.id ?? null;
}

/** How many requests of a cut match. */
export function* countMatches(cut: WindowCut, { filter, groups }: Wanted): Script<number> {
  const all = { ...groups, groupOf: groups.groupOf.map((group) => Math.min(group, 0)), count: 1 };
  const fold = new Fold(toKeys(all, filter), ["requests"]);
  yield* foldWindow(fold, { cut, filter, groups });
  return [...fold.sums()].reduce((count, { requests }) => count + requests, 0);
}

function* findFirstHour({ hours }: WindowCut, { outcomes }: ResolvedFilter): Script<InstantUs | null> {
  const { isAnyOf } = yield* dialectOf();
  const isChosen = outcomes === null ? "" : `AND ${isAnyOf("outcome", "text")}`;
  const row = yield* one<{ hour: number }>(
    `SELECT hour FROM hour_total WHERE hour >= ? AND hour < ? AND requests > 0 ${isChosen} ORDER BY hour LIMIT 1`,
    [hours.first, hours.end, ...(outcomes === null ? [] : [outcomes])],
  );
  return row === null ? null : row.hour * HOUR_US;
}

interface CellSearch {
  readonly keys: FoldKeys;
  readonly groups: LabelGroups;
}

/** From months to days, and from days to hours. */
function* findInCells(span: CellSpan, search: CellSearch): Script<InstantUs | null> {
  const { cells } = yield* memoryOf();
  let first = Number.POSITIVE_INFINITY;
  const isWanted = (part: number) => search.groups.parts.has(part);
  yield* cells.read({ ...span, measuresMax: 1, isWanted }, (at, found) => {
    if (!hasMatch(found, search.keys)) return false;
    first = at;
    return true;
  });
  if (!Number.isFinite(first)) return null;
  if (span.period === "hour") return first * HOUR_US;
  const within: CellSpan =
    span.period === "month"
      ? { period: "day", first: toFirstDay(first), end: toFirstDay(first + 1) }
      : { period: "hour", first: first * 24, end: (first + 1) * 24 };
  return (yield* findInCells(within, search)) ?? toPeriodUs(span.period, first);
}

function hasMatch({ count, combinations, results }: FoldedCells, { groupOf, endingOf }: FoldKeys): boolean {
  for (let row = 0; row < count; row += 1) {
    const isChosen = (groupOf[combinations[row] ?? 0] ?? NOT_CHOSEN) !== NOT_CHOSEN;
    if (isChosen && (endingOf[results[row] ?? 0] ?? NOT_CHOSEN) !== NOT_CHOSEN) return true;
  }
  return false;
}

function* findInOpenCells({ hours }: WindowCut, { filter, groups }: Wanted): Script<InstantUs | null> {
  const { isByte, isAnyOf } = yield* dialectOf();
  const row = yield* one<{ hour: number }>(
    `SELECT hour FROM open_cell WHERE ${isByte("?1", "combination", ">", 0)} AND hour >= ? AND hour < ? AND requests > 0
       AND ${isAnyOf("result", "number")} ORDER BY hour LIMIT 1`,
    [groups.shapes, hours.first, hours.end, filter.results.map(({ id }) => id)],
  );
  return row === null ? null : row.hour * HOUR_US;
}
