import type { InstantUs } from "#kernel/clock.ts";
import { byUnit, type Quantities, UNITS } from "#kernel/units.ts";

import {
  addFigures,
  type AppliedSums,
  NO_FIGURES,
  type PlannedStep,
  type RepricingTerms,
} from "#stats/repricing.ts";
import { toMonth } from "#storage/cells/calendar.ts";
import { toAddedSums, toPart } from "#storage/cells/cells.ts";
import { COST_MEASURES, type CostChange } from "#storage/cells/counting.ts";
import { readPrunedBefore } from "#storage/cells/retention.ts";
import { changeCells, type ChangedCells, readCells, type StoredCells } from "#storage/cells/stored-cells.ts";
import { splitCost } from "#storage/cells/sums.ts";
import { groupLabelSets, NOT_CHOSEN } from "#storage/reports/label-groups.ts";
import { readEdges } from "#storage/reports/window-cut.ts";
import { all, dialectOf, each, one, type Script } from "#storage/sql/script.ts";
import { priceDisjoint, toDisjointQuantities } from "#usage/cost.ts";
import { toShape } from "#usage/journal-line.ts";
import {
  ChangeGatherer,
  decodeFormers,
  type EventChanges,
  type EventRow,
  type FormerEvents,
  readApplied,
  toSharedBytes,
} from "./event-changes.ts";
import { FigureSums, readCost, readEventClasses, readUsage, Repricer, toEventColumns } from "./repricer.ts";

/** What is written of a stretch of the ledger, in one transaction. */
export interface Stretch {
  readonly fromUs: InstantUs;
  readonly untilUs: InstantUs;
  /** Events that were looked at. */
  readonly eventCount: number;
  readonly changes: EventChanges;
  /** The cells of sealed hours with the changes in them; null where these go to `open_cell`. */
  readonly cells: readonly ChangedCells[] | null;
}

interface StretchQuestion {
  readonly terms: RepricingTerms;
  /** Where the last one ended; null for the first. */
  readonly fromUs: InstantUs | null;
}

interface RepriceQuestion extends StretchQuestion {
  /** The re-pricing's id. */
  readonly id: string;
  /** Rows that are looked at at once, of one UTC day: what changes of them is one transaction. */
  readonly rowsMax: number;
}

/** Part of a plan that is read at once, in rows: others are read in between. */
const PLANNED_ROWS_MAX = 250_000;
/** Those of them that are in memory at a time. */
const PLANNED_AT_ONCE_MAX = 8_192;

/** `RepricingStore.plan`. */
export function* planStretch({ terms, fromUs }: StretchQuestion): Script<PlannedStep> {
  const rowsFromUs = yield* readPrunedBefore();
  const range = yield* findRange(terms, fromUs);
  if (range === null) return { untilUs: null, figures: NO_FIGURES, eventCount: 0, rowsFromUs };
  const repricer = yield* Repricer.open(terms, PLANNED_AT_ONCE_MAX);
  const sums = new FigureSums();
  let eventCount = 0;
  let atUs = range.fromUs;
  while (atUs < range.endUs && eventCount < PLANNED_ROWS_MAX) {
    const priced = yield* repricer.price(atUs, range.endUs, (change) => sums.add(change));
    atUs = priced.untilUs;
    eventCount += priced.eventCount;
  }
  const figures = addFigures(NO_FIGURES, sums.toFigures());
  return { untilUs: atUs < range.endUs ? atUs : null, figures, eventCount, rowsFromUs };
}

/**
 * Prices the next stretch of the ledger again that something changes in; null at the end. Nothing is written. What was written
 * says where it goes on, however far the one that asks has come.
 */
export function* repriceStretch({ id, terms, fromUs, rowsMax }: RepriceQuestion): Script<Stretch | null> {
  const written = yield* one<{ us: number | null }>(
    "SELECT max(until_us) AS us FROM repriced_stretch WHERE repricing = ?",
    [id],
  );
  const range = yield* findRange(terms, Math.max(fromUs ?? 0, written?.us ?? 0));
  if (range === null) return null;
  const repricer = yield* Repricer.open(terms, rowsMax);
  const gatherer = new ChangeGatherer();
  let [beginUs, untilUs, eventCount] = [range.fromUs, range.fromUs, 0];
  while (gatherer.isEmpty && untilUs < range.endUs && eventCount < PLANNED_ROWS_MAX) {
    beginUs = untilUs;
    const priced = yield* repricer.price(beginUs, range.endUs, (change) => gatherer.add(change));
    untilUs = priced.untilUs;
    eventCount += priced.eventCount;
  }
  const cells = yield* changeSealed(gatherer.totals());
  const changes = gatherer.toChanges({ isUndone: true, areCellsOpen: cells === null });
  return { fromUs: beginUs, untilUs, eventCount, changes, cells };
}

/** A stretch that was written, and what takes it back. */
interface WrittenStretch {
  readonly fromUs: InstantUs;
  readonly untilUs: InstantUs;
  readonly eventCount: number;
  readonly undo: Uint8Array<ArrayBuffer>;
}

/** Takes back the newest stretch of a re-pricing as far as its rows are there; null when none is left. Nothing is written. */
export function* revertStretch({ id }: { readonly id: string }): Script<Stretch | null> {
  const written = yield* one<WrittenStretch>(
    `SELECT from_us AS "fromUs", until_us AS "untilUs", events AS "eventCount", undo FROM repriced_stretch
     WHERE repricing = ? ORDER BY from_us DESC LIMIT 1`,
    [id],
  );
  if (written === null) return null;
  const { fromUs, untilUs, eventCount, undo } = written;
  const formers = decodeFormers(undo);
  const given = new Set(formers.given);
  const costs = new Map(formers.exceptions.map(({ at, cost }) => [at, cost]));
  const classes = yield* readEventClasses();
  const unpricedBits = yield* all<{ id: number; unpriced: number }>("SELECT id, unpriced FROM manner");
  const bitsOf = new Map(unpricedBits.map(({ id: manner, unpriced }) => [manner, unpriced]));
  const { eventKey } = yield* dialectOf();
  const groups = yield* groupLabelSets({ conditions: [] }, [{ label: "shape" }]);
  const shapes = groups.values.map(([shape = null]) => toShape(shape));
  const rows = yield* all<EventRow>(
    `SELECT ${yield* toEventColumns()} FROM event AS e
     WHERE e.id >= ? AND e.id < ? ORDER BY ${eventKey.map((column) => `e.${column}`).join(", ")}`,
    [fromUs, untilUs],
  );
  const gatherer = new ChangeGatherer();
  let at = 0;
  for (const row of rows) {
    while (isBehind(row, formers, at)) at += 1;
    if (formers.ids[at] !== row.id || formers.lanes[at] !== row.lane) continue;
    const from = classes.get(row.manner);
    const to = classes.get(formers.formers[at] ?? 0);
    if (from === undefined || to === undefined) continue;
    const shape = shapes[groups.groupOf[row.combination] ?? NOT_CHOSEN] ?? null;
    const billed = toDisjointQuantities(readUsage(row, shape));
    const isGiven = given.has(at);
    const before = priceDisjoint(isGiven ? withoutRequest(billed) : billed, to.prices);
    const { id: manner, result, streamed } = to;
    const wanted = { id: manner, result, streamed, prices: "", unpriced: bitsOf.get(manner) ?? 0 };
    gatherer.write({
      row,
      from,
      fromCost: readCost(row),
      fromUnpriced: priceDisjoint(billed, from.prices).unpriced,
      toPlace: gatherer.place(String(manner), wanted),
      toCost: costs.has(at) ? (costs.get(at) ?? null) : splitCost(before.costPico),
      toUnpriced: before.unpriced,
      byRequest: isGiven ? -1 : 0,
    });
  }
  const cells = yield* changeSealed(gatherer.totals());
  const changes = gatherer.toChanges({ isUndone: false, areCellsOpen: cells === null });
  return { fromUs, untilUs, eventCount, changes, cells };
}

/** `RepricingStore.sumApplied`. */
export function* sumApplied({ id }: { readonly id: string }): Script<AppliedSums | null> {
  const applied: (AppliedSums | null)[] = [];
  yield* each<Pick<WrittenStretch, "undo">>(
    "SELECT undo FROM repriced_stretch WHERE repricing = ?",
    [id],
    ({ undo }) => applied.push(readApplied(undo)),
  );
  let sums: AppliedSums = { requests: 0, costPico: 0n, unpriced: 0 };
  for (const changed of applied) {
    if (changed === null) return null;
    const { requests, costPico, unpriced } = sums;
    sums = {
      requests: requests + changed.requests,
      costPico: costPico + changed.costPico,
      unpriced: unpriced + changed.unpriced,
    };
  }
  return sums;
}

function withoutRequest(quantities: Quantities): Quantities {
  return byUnit(UNITS, (unit) => (unit === "requests" ? undefined : quantities[unit]));
}

/** Tells whether a row comes after one of the formers, in the order of the log that both have. */
function isBehind(row: EventRow, { ids, lanes }: FormerEvents, at: number): boolean {
  const id = ids[at] ?? Number.POSITIVE_INFINITY;
  return id < row.id || (id === row.id && (lanes[at] ?? 0) < row.lane);
}

/** Where rows may be that a re-pricing concerns, behind what is done; null when none are. */
function* findRange(
  { query: { window }, plannedAtUs }: RepricingTerms,
  doneUs: InstantUs | null,
): Script<{ readonly fromUs: InstantUs; readonly endUs: InstantUs } | null> {
  const edges = yield* readEdges();
  if (edges === null || edges.rows === null) return null;
  const fromUs = Math.max(edges.rows.firstUs, window.sinceUs ?? edges.rows.firstUs, doneUs ?? 0);
  const endUs = Math.min(edges.rows.lastUs, plannedAtUs, (window.untilUs ?? plannedAtUs + 1) - 1) + 1;
  return fromUs < endUs ? { fromUs, endUs } : null;
}

/**
 * Adds changes of costs to the cells of a sealed day, which its rows of `open_cell` have left: to write as many rows of
 * `open_cell` and to seal them again takes three times as long. Null where the day is not sealed.
 */
function* changeSealed(totals: readonly CostChange[]): Script<readonly ChangedCells[] | null> {
  const [first] = totals;
  if (first === undefined) return [];
  const day = Math.floor(first.hour / 24);
  const open = yield* one("SELECT 1 FROM open_cell WHERE hour >= ? AND hour < ? LIMIT 1", [
    day * 24,
    day * 24 + 24,
  ]);
  if (open !== null) return null;
  const stored = yield* readStored(day);
  const changed: ChangedCells[] = [];
  for (const [part, ofPart] of Map.groupBy(totals, ({ combination }) => toPart(combination))) {
    const whole = toAddedSums(ofPart, COST_MEASURES);
    const places = [
      ...[...Map.groupBy(ofPart, ({ hour }) => hour)].map(([at, ofHour]) => ({
        period: "hour" as const,
        at,
        added: toAddedSums(ofHour, COST_MEASURES),
      })),
      { period: "day" as const, at: day, added: whole },
      { period: "month" as const, at: toMonth(day), added: whole },
    ];
    for (const { period, at, added } of places) {
      const found = stored.get(`${period} ${at} ${part}`);
      // The cells of an hour go with its rows.
      if (found === undefined && period === "hour") continue;
      const cells = found === undefined ? null : changeCells(found, { period, at, part }, added);
      // A label set and result of the changes is not among those that are sealed.
      if (cells === null) return null;
      changed.push({ ...cells, columns: toSharedBytes(cells.columns) });
    }
  }
  // The order in which all transactions take them.
  return changed.toSorted(
    (left, right) => left.period.localeCompare(right.period) || left.at - right.at || left.part - right.part,
  );
}

/** The cells of a day, its hours and its month, each by what `changeSealed` asks for: one by one they are 26 questions. */
function* readStored(day: number): Script<ReadonlyMap<string, StoredCells>> {
  const ranges = {
    hour: { first: day * 24, end: day * 24 + 24 },
    day: { first: day, end: day + 1 },
    month: { first: toMonth(day), end: toMonth(day) + 1 },
  };
  const stored = new Map<string, StoredCells>();
  for (const period of ["hour", "day", "month"] as const)
    for (const cells of yield* readCells(period, ranges[period]))
      stored.set(`${period} ${cells.at} ${cells.part}`, cells);
  return stored;
}
