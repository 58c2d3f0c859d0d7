import { UNIT_COLUMNS } from "#kernel/units.ts";
import { isUnknown, type Outcome } from "#usage/event.ts";
import { toDay, toHour } from "./calendar.ts";
import { type CountedEvent, Sum } from "./sums.ts";
import { TOKEN_COLUMNS } from "./total-columns.ts";

/** What a batch adds to an hour, by outcome. */
export interface HourSum {
  readonly hour: number;
  readonly outcome: Outcome;
  readonly sum: Sum;
}

/** What a batch adds to a row of `open_cell`. */
export interface CellSum {
  readonly hour: number;
  readonly combination: number;
  readonly result: number;
  readonly sum: Sum;
}

/** A combination of one day mostly has one result. */
export interface DaySum {
  readonly day: number;
  readonly combination: number;
  readonly result: number;
  readonly outcome: Outcome;
  readonly sum: Sum;
}

/** What the events of a batch add to hours and days. They mostly fall into few rows, each of which is stored once. */
export class BatchSums {
  readonly #hours = new Map<number, Map<Outcome, HourSum>>();
  /** By day and combination. */
  readonly #days = new Map<number, Map<number, DaySum[]>>();
  /** By hour and combination. */
  readonly #cells = new Map<number, Map<number, CellSum[]>>();

  add(event: CountedEvent): void {
    for (const sum of this.#sumsOf(event)) sum.add(event);
  }

  /** See `Sum.take`. */
  take(event: CountedEvent): void {
    for (const sum of this.#sumsOf(event)) sum.take(event);
  }

  #sumsOf(event: CountedEvent): readonly Sum[] {
    const { id, combination, result } = event;
    const { outcome } = event.ending;
    const hour = toHour(id);
    const inHour = getOrMake(this.#hours, hour, () => new Map<Outcome, HourSum>());
    const ofHour = getOrMake(inHour, outcome, () => ({ hour, outcome, sum: new Sum() }));

    const day = toDay(id);
    const inDay = getOrMake(this.#days, day, () => new Map<number, DaySum[]>());
    const results = getOrMake(inDay, combination, () => []);
    let ofResult = results.find((known) => known.result === result);
    if (ofResult === undefined)
      results.push((ofResult = { day, combination, result, outcome, sum: new Sum() }));

    const cellsOfHour = getOrMake(this.#cells, hour, () => new Map<number, CellSum[]>());
    const cells = getOrMake(cellsOfHour, combination, () => []);
    let cell = cells.find((known) => known.result === result);
    if (cell === undefined) cells.push((cell = { hour, combination, result, sum: new Sum() }));
    return [ofHour.sum, ofResult.sum, cell.sum];
  }

  *hours(): Generator<HourSum> {
    for (const byOutcome of this.#hours.values()) yield* byOutcome.values();
  }

  *days(): Generator<DaySum> {
    for (const byCombination of this.#days.values()) {
      for (const results of byCombination.values()) yield* results;
    }
  }

  *cells(): Generator<CellSum> {
    for (const byCombination of this.#cells.values()) {
      for (const results of byCombination.values()) yield* results;
    }
  }

  clear(): void {
    this.#hours.clear();
    this.#cells.clear();
    this.#days.clear();
  }
}

/** What a request that ended on another day than it arrived adds to `carried_total`: limits count by the end. */
export interface CarriedRow {
  readonly endedDay: number;
  readonly arrivedDay: number;
  readonly combination: number;
  readonly unpriced: number;
  readonly unknown: number;
  readonly costHi: number;
  readonly costLo: number;
  readonly tokens: number;
}

const TOKENS_AT = TOKEN_COLUMNS.map((column) => UNIT_COLUMNS.indexOf(column));

/** Null for a request that ended on the day of its arrival. */
export function toCarriedRow({ id, combination, ending, cost, amounts }: CountedEvent): CarriedRow | null {
  const endedDay = toDay(id + ending.durationUs);
  const arrivedDay = toDay(id);
  if (endedDay === arrivedDay) return null;
  const tokens = TOKENS_AT.reduce((sum, at) => sum + (amounts[at] ?? 0), 0);
  return {
    endedDay,
    arrivedDay,
    combination,
    unpriced: ending.unpriced ? 1 : 0,
    unknown: isUnknown(ending) ? 1 : 0,
    costHi: cost?.hi ?? 0,
    costLo: cost?.lo ?? 0,
    tokens,
  };
}

function getOrMake<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
