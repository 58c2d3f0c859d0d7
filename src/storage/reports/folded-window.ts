import { DAY_US, HOUR_US, type InstantUs } from "#kernel/clock.ts";
import { AMOUNTS, CELL_MEASURES, HOUR_MEASURES } from "#storage/cells/measures.ts";
import { toCostSums } from "#storage/cells/sums.ts";
import { type Binding, dialectOf, each, type Script } from "#storage/sql/script.ts";
import { type OpenCellRow, toColumns } from "#storage/cells/cells.ts";
import { toChosenBindings, toChosenMeasures, toEventJoins, type Wanted } from "./chosen-events.ts";
import { Fold, type FoldKeys } from "./fold.ts";
import { type LabelGroups, NOT_CHOSEN } from "./label-groups.ts";
import { memoryOf } from "./report-memory.ts";
import type { ResolvedFilter, Result } from "./request-filter.ts";
import { type CellSpan, type RawRange, toPeriodUs, type WindowCut } from "./window-cut.ts";

/** A window that is added up: everything that counts in it is in exactly one part of the cut. */
export interface FoldedWindow {
  readonly cut: WindowCut;
  readonly filter: ResolvedFilter;
  readonly groups: LabelGroups;
  /** The period of the fold that an instant lies in; one for all without it. */
  readonly toPeriod?: (instantUs: InstantUs) => number;
  /** The time that lies in one period in any case: an hour where absent. */
  readonly stepUs?: number;
}

/** Adds up a window by cells or the totals of hours, and event by event where there are none. */
export function* foldWindow(fold: Fold, window: FoldedWindow): Script<void> {
  const { cut, toPeriod = () => 0 } = window;
  if (cut.hours.first < cut.hours.end && isToldByHours(window) && fold.measuresMax <= HOUR_MEASURES.length)
    yield* foldHours(fold, { ...window, toPeriod });
  else {
    for (const span of cut.cells) yield* foldSpan(fold, span, { ...window, toPeriod });
    if (cut.hours.first < cut.hours.end) yield* foldOpenCells(fold, { ...window, toPeriod });
  }
  for (const range of cut.raw)
    for (const part of toMonths(range)) yield* foldRange(fold, part, { ...window, toPeriod });
}

/** Adds up some measures of a window, all where none are named, by classes of results. */
export function* foldBy(
  window: FoldedWindow,
  measures?: readonly string[],
  toEnding?: (result: Result) => number,
): Script<Fold> {
  const fold = new Fold(toKeys(window.groups, window.filter, toEnding), measures);
  yield* foldWindow(fold, window);
  return fold;
}

/** Tells whether the totals of hours tell what is chosen: they are by outcome alone, and stay when the cells of hours go. */
export function isToldByHours({ filter, groups }: Wanted): boolean {
  return filter.isByOutcomeOnly && groups.isWhole;
}

/** The keys of a fold: groups of label sets, and results by what `toEnding` makes of them. */
export function toKeys(
  { groupOf, count }: Pick<LabelGroups, "groupOf" | "count">,
  { results, lastResult }: Pick<ResolvedFilter, "results" | "lastResult">,
  toEnding: (result: Result) => number = () => 0,
): FoldKeys {
  const endingOf = new Int32Array(lastResult + 1).fill(NOT_CHOSEN);
  let endingCount = 1;
  for (const result of results) {
    const ending = toEnding(result);
    endingOf[result.id] = ending;
    endingCount = Math.max(endingCount, ending + 1);
  }
  return { groupOf, groupCount: count, endingOf, endingCount };
}

type Periods = Required<Pick<FoldedWindow, "toPeriod">>;

function* foldSpan(fold: Fold, span: CellSpan, { groups, toPeriod }: FoldedWindow & Periods): Script<void> {
  const { cells } = yield* memoryOf();
  const wanted = {
    ...span,
    measuresMax: fold.measuresMax,
    isWanted: (part: number) => groups.parts.has(part),
  };
  yield* cells.read(wanted, (at, found) => {
    fold.begin(toPeriod(toPeriodUs(span.period, at)));
    fold.add(found);
  });
}

function* foldOpenCells(fold: Fold, { cut, groups, toPeriod }: FoldedWindow & Periods): Script<void> {
  const { isByte } = yield* dialectOf();
  yield* foldRows(fold, {
    toSql: (names) => `SELECT hour AS at, combination, result, ${names.join(", ")} FROM open_cell
      WHERE ${isByte("?1", "combination", ">", 0)} AND hour >= ? AND hour < ? ORDER BY hour`,
    bindings: [groups.shapes, cut.hours.first, cut.hours.end],
    toPeriod: (hour) => toPeriod(hour * HOUR_US),
  });
}

/** An hour counts as one of any label set that is chosen, and of any result with its outcome. */
function* foldHours(
  fold: Fold,
  { cut, filter, groups, toPeriod, stepUs = HOUR_US }: FoldedWindow & Periods,
): Script<void> {
  const { toStep } = yield* dialectOf();
  const resultOf = new Map<string, number>(filter.results.map(({ outcome, id }) => [outcome, id]));
  for (const [outcome, result] of resultOf) {
    yield* foldRows(fold, {
      toSql: (
        names,
      ) => `SELECT ${toStep("hour", stepUs / HOUR_US)} AS at, ${groups.groupOf.indexOf(0)} AS combination,
        ${result} AS result, ${toSums(names, (name) => name)}
        FROM hour_total WHERE hour >= ? AND hour < ? AND outcome = ? GROUP BY 1 ORDER BY 1`,
      bindings: [cut.hours.first, cut.hours.end, outcome],
      toPeriod: (hour) => toPeriod(hour * HOUR_US),
    });
  }
}

function* foldRange(
  fold: Fold,
  { fromUs, toUs }: RawRange,
  { toPeriod, stepUs = HOUR_US, ...wanted }: FoldedWindow & Periods,
): Script<void> {
  const dialect = yield* dialectOf();
  const isOnePeriod = toPeriod(fromUs) === toPeriod(toUs - 1);
  yield* foldEvents(fold, {
    ...wanted,
    at: isOnePeriod ? dialect.toConstant(fromUs) : dialect.toStep("e.id", stepUs),
    condition: "e.id >= ? AND e.id < ?",
    bindings: [fromUs, toUs],
    toPeriod,
  });
}

/** Events that are added up one by one. */
export interface FoldedEvents extends Wanted {
  /** The period of an event, in SQL over `event AS e`. */
  readonly at: string;
  readonly condition: string;
  readonly bindings: readonly Binding[];
  readonly toPeriod: (at: number) => number;
}

/** By label set and result, so that few rows leave the database, and in the order of periods: each begins once. */
export function* foldEvents(
  fold: Fold,
  { filter, groups, at, condition, bindings, toPeriod }: FoldedEvents,
): Script<void> {
  const dialect = yield* dialectOf();
  const measures = toChosenMeasures(dialect);
  const toSql = (names: readonly string[]) =>
    `SELECT ${at} AS at, e.combination, m.result, ${toSums(names, (name) => measures.get(name) ?? "NULL")}
     FROM event AS e ${toEventJoins(dialect, filter)} WHERE ${condition} GROUP BY 1, 2, 3 ORDER BY 1`;
  const chosen = toChosenBindings({ filter, groups });
  yield* foldRows(fold, { toSql, bindings: [...chosen, ...bindings], toPeriod });
}

/** Rows of `at`, a label set, a result, and the measures that are named. */
export interface FoldedRows extends Pick<FoldedEvents, "bindings" | "toPeriod"> {
  readonly toSql: (names: readonly string[]) => string;
}

/** Rows that are added at a time: half a megabyte. */
const ROWS_MAX = 4_096;

/** Adds up rows of a statement: those of one period should follow one another. */
export function* foldRows(fold: Fold, { toSql, bindings, toPeriod }: FoldedRows): Script<void> {
  const names = CELL_MEASURES.slice(0, fold.measuresMax).map(({ name }) => name);
  let period = 0;
  let cells: OpenCellRow[] = [];
  const flush = () => {
    fold.begin(period);
    fold.add(toColumns(cells, fold.measuresMax));
    cells = [];
  };
  yield* each<OpenCellRow & { readonly at: number }>(toSql(names), bindings, (row) => {
    const at = toPeriod(row.at);
    if (cells.length === ROWS_MAX || at !== period) flush();
    period = at;
    cells.push(row);
  });
  flush();
}

/** Some weeks at a time: to group them, the rows of a part are sorted. */
const PART_US = 31 * DAY_US;

function* toMonths({ fromUs, toUs }: RawRange): Generator<RawRange> {
  for (let at = fromUs; at < toUs;) {
    const end = Math.min((Math.floor(at / PART_US) + 1) * PART_US, toUs);
    yield { fromUs: at, toUs: end };
    at = end;
  }
}

const ADDED_IN_PAIRS = new Set(AMOUNTS.flatMap((amount) => [`${amount}_hi`, `${amount}_lo`]));

/** The SQL that adds up measures, each as it adds. */
export function toSums(names: readonly string[], toColumn: (name: string) => string): string {
  const sums = names
    .filter((name) => !ADDED_IN_PAIRS.has(name))
    .map((name) => `${name === "last_seen_us" ? "max" : "sum"}(${toColumn(name)}) AS ${name}`);
  const pairs = AMOUNTS.filter((amount) => names.includes(`${amount}_lo`));
  return [...sums, ...pairs.map((amount) => toCostSums(amount, toColumn))].join(", ");
}
