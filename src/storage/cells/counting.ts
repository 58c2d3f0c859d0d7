import type { Dialect } from "#storage/sql/dialect.ts";
import { dialectOf, insert, type InsertTarget, run, type Script } from "#storage/sql/script.ts";
import { isUnmetered, type Outcome } from "#usage/event.ts";
import { toDay, toHour } from "./calendar.ts";
import { lowerLastSeen } from "./last-seen.ts";
import { BANDS, CELL_MEASURES, HOUR_MEASURES, type Measure, toAddingSql } from "./measures.ts";
import { COST_SEAM, type CountedEvent } from "./sums.ts";

/** What a transaction changes in the totals of a lane. */
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
  for (const { lane, added, taken } of changes) {
    const sums = new CellSums();
    const count = (event: CountedEvent, sign: 1 | -1) => {
      sums.add(event, sign);
      const [endedDay, arrivedDay] = [toDay(event.id + event.ending.durationUs), toDay(event.id)];
      if (endedDay === arrivedDay) return;
      const { values } = new CellSums().add(event, sign);
      carried.add([endedDay, arrivedDay, event.combination, event.result, lane], values);
    };
    for (const event of taken) count(event, -1);
    for (const event of added) count(event, 1);
    for (const { hour, combination, result, outcome, values } of sums.rows) {
      hours.add([hour, outcome, lane], values);
      cells.add([hour, combination, result, lane], values);
    }
  }
  const takenKeys = changes.flatMap(({ lane, taken }) =>
    taken.map(({ id, combination, result }) => ({ hour: toHour(id), combination, result, lane })),
  );
  for (const sums of [hours, cells, carried]) yield* sums.store();
  if (takenKeys.length === 0) return;
  yield* hours.dropEmpty();
  yield* carried.dropEmpty();
  yield* lowerLastSeen(takenKeys);
}

type Value = number | null;

interface CellSum {
  readonly hour: number;
  readonly combination: number;
  readonly result: number;
  readonly outcome: Outcome;
  /** In the order of `CELL_MEASURES`. */
  readonly values: Value[];
}

/** What the events of one lane add up to by hour, label set and result. A batch has few of these, so little is done for each event. */
class CellSums {
  readonly rows: CellSum[] = [];
  /** By hour and label set, which mostly has one result. */
  readonly #byHour = new Map<number, Map<number, CellSum[]>>();

  /**
   * Returns the sum of the event's hour. An event that is taken out was counted as what was known of it: its duration, and
   * whether its usage was still to come.
   */
  add(event: CountedEvent, sign: 1 | -1): CellSum {
    const { id, ending, cost, amounts } = event;
    const sum = this.#findOrAdd(event);
    const { values } = sum;
    plus(values, AT.requests, sign);
    plus(values, AT.duration, ending.durationUs * sign);
    plus(values, AT.bands + toBand(ending.durationUs), sign);
    if (ending.usage?.shape === "pending") plus(values, AT.pending, sign);
    if (sign === -1) return sum;
    if (cost !== null) {
      plus(values, AT.priced, 1);
      plus(values, AT.costHigh, cost.hi);
      plus(values, AT.costHigh + 1, cost.lo);
    }
    if (ending.unpriced) plus(values, AT.unpriced, 1);
    if (isUnmetered(ending)) plus(values, AT.unmetered, 1);
    for (let index = 0; index < amounts.length; index += 1) {
      const amount = amounts[index] ?? null;
      // Nothing reported and nothing reported stay nothing; a zero counts as reported.
      if (amount !== null) plus(values, AT.units + index, amount);
    }
    values[AT.lastSeen] = Math.max(values[AT.lastSeen] ?? 0, id);
    return sum;
  }

  #findOrAdd({ id, combination, result, ending: { outcome } }: CountedEvent): CellSum {
    const hour = toHour(id);
    let ofHour = this.#byHour.get(hour);
    if (ofHour === undefined) this.#byHour.set(hour, (ofHour = new Map<number, CellSum[]>()));
    let results = ofHour.get(combination);
    if (results === undefined) ofHour.set(combination, (results = []));
    const known = results.find((sum) => sum.result === result);
    if (known !== undefined) return known;
    const values = CELL_MEASURES.map(({ adds }) => (adds === "reported" ? null : 0));
    const added = { hour, combination, result, outcome, values };
    results.push(added);
    this.rows.push(added);
    return added;
  }
}

const toPlace = (name: string) => CELL_MEASURES.findIndex((measure) => measure.name === name);
/** Where measures stand in `CELL_MEASURES`; the low half of a cost stands behind the high one. */
const AT = {
  requests: toPlace("requests"),
  priced: toPlace("priced_requests"),
  unpriced: toPlace("unpriced_requests"),
  pending: toPlace("pending_requests"),
  unmetered: toPlace("unmetered_requests"),
  costHigh: toPlace("cost_hi"),
  units: CELL_MEASURES.findIndex(({ adds }) => adds === "reported"),
  duration: toPlace("duration_us"),
  lastSeen: CELL_MEASURES.findIndex(({ adds }) => adds === "last"),
  bands: toPlace(BANDS[0]),
};

function plus(values: Value[], at: number, more: number): void {
  values[at] = (values[at] ?? 0) + more;
}

const SECOND_US = 1e6;
/** Upper ends of the time bands, exclusive (decisions, "Reports"). */
const BAND_US = [1, 5, 15, 30, 60, 120].map((seconds) => seconds * SECOND_US);

function toBand(durationUs: number): number {
  let band = 0;
  while (durationUs >= (BAND_US[band] ?? Number.POSITIVE_INFINITY)) band += 1;
  return band;
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

/** What a transaction adds to the rows of a table of totals. */
class Sums {
  readonly #table: TotalTable;
  readonly #rows = new Map<string, Row>();

  constructor(table: TotalTable) {
    this.#table = table;
  }

  /** The first values are those of the table's measures. */
  add(keys: readonly Key[], values: readonly Value[]): void {
    const { measures } = this.#table;
    const name = keys.join(" ");
    const row = this.#rows.get(name);
    if (row === undefined) {
      this.#rows.set(name, { keys, values: values.slice(0, measures.length) });
      return;
    }
    for (let index = 0; index < measures.length; index += 1) {
      const [sum = null, value = null] = [row.values[index], values[index]];
      // Nothing reported and nothing reported stay nothing; a zero counts as reported.
      if (value === null) continue;
      row.values[index] = measures[index]?.adds === "last" ? Math.max(sum ?? 0, value) : (sum ?? 0) + value;
    }
  }

  *store(): Script<void> {
    const rows = [...this.#rows.values()].sort(({ keys: one }, { keys: other }) => compareKeys(one, other));
    const high = this.#table.measures.findIndex(({ adds }) => adds === "high");
    for (const { values } of rows) carry(values, high);
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
    for (const row of this.#rows.values())
      yield* run(`DELETE FROM ${name} WHERE ${isRow} AND requests = 0`, row.keys);
  }
}

function compareKeys(one: readonly Key[], other: readonly Key[]): number {
  for (const [index, key] of one.entries()) {
    const against = other[index] ?? key;
    if (key !== against) return key < against ? -1 : 1;
  }
  return 0;
}

/** Keeps the low half of a cost below the seam; it stands behind the high one. */
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
