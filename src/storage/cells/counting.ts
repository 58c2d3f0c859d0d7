import { type Quantities, REPORT_UNITS, UNIT_TABLE } from "#kernel/units.ts";
import type { Dialect } from "#storage/sql/dialect.ts";
import { dialectOf, insert, type InsertTarget, run, type Script } from "#storage/sql/script.ts";
import { sumDetails, toDisjointQuantities } from "#usage/cost.ts";
import { isUnmetered, NOTHING_USED } from "#usage/event.ts";
import { toDay, toHour } from "./calendar.ts";
import { lowerLastSeen, type TakenKey } from "./last-seen.ts";
import { BANDS, CELL_MEASURES, HOUR_MEASURES, isNullable, type Measure, toAddingSql } from "./measures.ts";
import { COST_SEAM, type CountedEvent } from "./sums.ts";

/** The changes of a transaction to the totals of a lane. */
export interface LaneChange {
  readonly lane: number;
  readonly added: readonly CountedEvent[];
  /** Events as they were counted before, and are no more: of their usage nothing was known. */
  readonly taken: readonly CountedEvent[];
}

/**
 * Adds changes to every total, behind the rows of their events and in the same transaction. Each total is stored once, however
 * many events it has, in the order of its key: two writers that add to the same rows never wait for each other in a circle.
 */
export function* countChanges(changes: readonly LaneChange[]): Script<void> {
  const [hours, cells, carried] = [new Sums(HOUR_TOTAL), new Sums(OPEN_CELL), new Sums(CARRIED_TOTAL)];
  const outcomeOf = new Map<Key, Key>();
  const takenKeys: TakenKey[] = [];
  // Filled in anew for each of some thousand events.
  const counts: Value[] = COUNTS.map(() => null);
  for (const { lane, added, taken } of changes) {
    const count = (event: CountedEvent, sign: 1 | -1) => {
      const { id, combination, result, ending } = event;
      const hour = toHour(id);
      const arrivedDay = toDay(id);
      const endedDay = toDay(id + ending.durationUs);
      const disjoint = toDisjointQuantities(ending.usage ?? NOTHING_USED);
      for (let index = 0; index < COUNTS.length; index += 1)
        counts[index] = COUNTS[index]?.(event, disjoint) ?? null;
      outcomeOf.set(result, ending.outcome);
      cells.add([hour, combination, result, lane], counts, sign);
      if (endedDay !== arrivedDay)
        carried.add([endedDay, arrivedDay, combination, result, lane], counts, sign);
      if (sign === -1) takenKeys.push({ hour, combination, result, lane });
    };
    for (const event of taken) count(event, -1);
    for (const event of added) count(event, 1);
  }
  for (const { keys, values } of cells.rows()) {
    const [hour = 0, , result = 0, lane = 0] = keys;
    hours.add([hour, outcomeOf.get(result) ?? "", lane], values);
  }
  for (const sums of [hours, cells, carried]) yield* sums.store();
  if (takenKeys.length === 0) return;
  yield* hours.dropEmpty();
  yield* carried.dropEmpty();
  yield* lowerLastSeen(takenKeys);
}

/** What totals of cost change by where events are priced again; sums of all events of one key. */
export interface CostChange {
  readonly hour: number;
  readonly endedDay: number;
  readonly combination: number;
  readonly result: number;
  readonly outcome: string;
  readonly lane: number;
  readonly priced: number;
  readonly unpriced: number;
  /** Requests that are billed by themselves. */
  readonly byRequest: number;
  /** Halves of an amount that may be negative; the low one may leave its seam. */
  readonly hi: number;
  readonly lo: number;
}

/** The measures that a `CostChange` has, by their names. */
export const COST_MEASURES = {
  priced_requests: "priced",
  unpriced_requests: "unpriced",
  priced_by_request: "byRequest",
  cost_hi: "hi",
  cost_lo: "lo",
} as const satisfies { readonly [measure: string]: keyof CostChange };

/**
 * Adds changes of costs to every total, or to all but `open_cell`: those of a sealed hour may be added to its cells instead. A row
 * of `open_cell` that has no requests is one of a sealed hour, like a late one.
 */
export function* changeCosts(
  changes: readonly CostChange[],
  { areCellsOpen }: { readonly areCellsOpen: boolean },
): Script<void> {
  const [hours, cells, carried] = [new Sums(HOUR_TOTAL), new Sums(OPEN_CELL), new Sums(CARRIED_TOTAL)];
  const measures = CELL_MEASURES.map(({ name }) => COST_CHANGES.get(name) ?? null);
  for (const change of changes) {
    const { hour, endedDay, combination, result, outcome, lane } = change;
    const arrivedDay = Math.floor(hour / HOURS_PER_DAY);
    const values = measures.map((member) => (member === null ? null : change[member]));
    hours.add([hour, outcome, lane], values);
    if (areCellsOpen) cells.add([hour, combination, result, lane], values);
    if (endedDay !== arrivedDay) carried.add([endedDay, arrivedDay, combination, result, lane], values);
  }
  for (const sums of [hours, cells, carried]) yield* sums.store();
}

const COST_CHANGES = new Map<string, (typeof COST_MEASURES)[keyof typeof COST_MEASURES]>(
  Object.entries(COST_MEASURES),
);
const HOURS_PER_DAY = 24;

type Value = number | null;
/** `disjoint`: what the event used, each token once. */
type Counted = (event: CountedEvent, disjoint: Quantities) => Value;

const SECOND_US = 1e6;
/** Where the time bands begin, and the last one ends (decisions, "Reports"). */
const BAND_US = [0, 1, 5, 15, 30, 60, 120, Number.POSITIVE_INFINITY].map((seconds) => seconds * SECOND_US);

/** By measure, the function that returns what an event adds to it. */
const COUNT_OF = new Map<string, Counted>([
  ["requests", () => 1],
  ["priced_requests", ({ cost }) => (cost === null ? 0 : 1)],
  ["unpriced_requests", ({ ending }) => (ending.unpriced ? 1 : 0)],
  ["pending_requests", ({ ending }) => (ending.usage?.shape === "pending" ? 1 : 0)],
  ["unmetered_requests", ({ ending }) => (isUnmetered(ending) ? 1 : 0)],
  ["cost_hi", ({ cost }) => cost?.hi ?? 0],
  ["cost_lo", ({ cost }) => cost?.lo ?? 0],
  ...REPORT_UNITS.map((unit): [string, Counted] => {
    const { column, scale } = UNIT_TABLE[unit];
    return [column, (_, disjoint) => toMultiple(sumDetails(disjoint, unit), scale)];
  }),
  ["cost_reported_requests", ({ costReported }) => (costReported === null ? 0 : 1)],
  ["cost_reported_hi", ({ costReported }) => costReported?.hi ?? 0],
  ["cost_reported_lo", ({ costReported }) => costReported?.lo ?? 0],
  ["duration_us", ({ ending }) => ending.durationUs],
  ["last_seen_us", ({ id }) => id],
  ...BANDS.map((band, index): [string, Counted] => {
    const [fromUs = 0, toUs = 0] = BAND_US.slice(index);
    return [band, ({ ending }) => (ending.durationUs >= fromUs && ending.durationUs < toUs ? 1 : 0)];
  }),
]);
const COUNTS = CELL_MEASURES.map(({ name }) => {
  const count = COUNT_OF.get(name);
  if (count === undefined) throw new Error(`nothing is known of the measure ${name}`);
  return count;
});

function toMultiple(quantity: number | undefined, scale: number): Value {
  if (quantity === undefined) return null;
  return scale === 1 ? quantity : Math.round(quantity * scale);
}

/** A table of totals. Where there are lanes, replicas write no row of each other. */
interface TotalTable {
  readonly name: string;
  /** By their columns; the last one is `lane`. */
  readonly keys: readonly (readonly [name: string, type: "integer" | "text"])[];
  readonly measures: readonly Measure[];
}

const LANE = ["lane", "integer"] as const;
const HOUR_TOTAL: TotalTable = {
  name: "hour_total",
  keys: [["hour", "integer"], ["outcome", "text"], LANE],
  measures: HOUR_MEASURES,
};
const OPEN_CELL: TotalTable = {
  name: "open_cell",
  keys: [["hour", "integer"], ["combination", "integer"], ["result", "integer"], LANE],
  measures: CELL_MEASURES,
};
const CARRIED_TOTAL: TotalTable = {
  name: "carried_total",
  keys: [
    ["ended_day", "integer"],
    ["arrived_day", "integer"],
    ["combination", "integer"],
    ["result", "integer"],
    LANE,
  ],
  measures: HOUR_MEASURES,
};

type Key = number | string;

interface Row {
  readonly keys: readonly Key[];
  /** In the order of the table's measures. */
  readonly values: Value[];
}

/** The sums that a transaction adds to the rows of a table of totals. */
class Sums {
  readonly #table: TotalTable;
  /** By the third key from the end, the label set or the hour, which few rows share: a look-up makes no text of all keys. */
  readonly #rows = new Map<Key | undefined, Row[]>();
  readonly #last: number;

  constructor(table: TotalTable) {
    this.#table = table;
    this.#last = table.measures.findIndex(({ adds }) => adds === "last");
  }

  /** Adds the values of an event, or takes them out; the first ones are those of the table's measures. */
  add(keys: readonly Key[], values: readonly Value[], sign: 1 | -1 = 1): void {
    const sums = this.#findOrOpen(keys).values;
    for (let index = 0; index < sums.length; index += 1) {
      const value = values[index] ?? null;
      // Nothing reported and nothing reported stay nothing; a zero counts as reported.
      if (value === null) continue;
      const sum = sums[index] ?? 0;
      if (index !== this.#last) sums[index] = sum + value * sign;
      else if (sign === 1 && value > sum) sums[index] = value;
    }
  }

  #findOrOpen(keys: readonly Key[]): Row {
    const place = keys.at(-3);
    const alike = this.#rows.get(place) ?? [];
    for (const row of alike) if (compareKeys(row.keys, keys) === 0) return row;
    const { measures } = this.#table;
    const row = { keys, values: measures.map(({ adds }) => (isNullable(adds) ? null : 0)) };
    this.#rows.set(place, alike);
    alike.push(row);
    return row;
  }

  rows(): readonly Row[] {
    return [...this.#rows.values()].flat();
  }

  *store(): Script<void> {
    const rows = this.rows().toSorted(({ keys: one }, { keys: other }) => compareKeys(one, other));
    const highs = this.#table.measures.flatMap(({ adds }, index) => (adds === "high" ? [index] : []));
    const counted = this.#table.measures.flatMap(({ adds }, index) => (adds === "counted" ? [index] : []));
    for (const { values } of rows) {
      for (const high of highs) carry(values, high);
      for (const index of counted) values[index] ||= null;
    }
    yield* insert(
      toTarget(this.#table, yield* dialectOf()),
      rows.map(({ keys, values }) => [keys, values].flat()),
    );
  }

  /** Drops those of the rows that were left with nothing. */
  *dropEmpty(): Script<void> {
    const { toLane } = yield* dialectOf();
    const { name, keys } = this.#table;
    const isRow = keys.map(([key]) => `${key === "lane" ? toLane(name) : key} = ?`).join(" AND ");
    for (const row of this.rows())
      yield* run(`DELETE FROM ${name} WHERE ${isRow} AND requests = 0`, row.keys);
  }
}

function compareKeys(one: readonly Key[], other: readonly Key[]): number {
  for (let index = 0; index < one.length; index += 1) {
    const key = one[index] ?? 0;
    const against = other[index] ?? key;
    if (key !== against) return key < against ? -1 : 1;
  }
  return 0;
}

/** Keeps the low half of an amount below the seam; it stands behind the high one. */
function carry(values: Value[], high: number): void {
  const carried = Math.floor((values[high + 1] ?? 0) / COST_SEAM);
  values[high] = (values[high] ?? 0) + carried;
  values[high + 1] = (values[high + 1] ?? 0) - carried * COST_SEAM;
}

function toTarget({ name, keys, measures }: TotalTable, { eventKey }: Dialect): InsertTarget {
  // The one lane of a file is no column.
  const keyNames = keys.map(([key]) => key).filter((key) => key !== "lane" || eventKey.length > 1);
  return {
    table: name,
    columns: [...keys, ...measures.map((measure) => [measure.name, "double precision"] as const)],
    ending: toAddingSql(name, keyNames, measures),
  };
}
