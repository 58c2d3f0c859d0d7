import type { Database, Statement } from "bun:sqlite";
import { toCarriedRow } from "#storage/cells/batch-sums.ts";
import type { CountedEvent } from "#storage/cells/sums.ts";
import { CARRIED_MEASURES } from "#storage/cells/total-columns.ts";
import { type Binding, prepareAdd, prepareDropEmpty } from "./total-columns.ts";

const CARRIED = {
  table: "carried_total",
  keys: ["ended_day", "arrived_day", "combination"],
  measures: CARRIED_MEASURES,
};

/** The totals of requests that ended on another day than they arrived (`ensureCarriedTotals`). Only within the writer's transaction. */
export class CarriedTotals {
  readonly #add: Statement<unknown, Binding[]>;
  readonly #trim: Statement<unknown, Binding[]>;

  constructor(database: Database) {
    this.#add = prepareAdd(database, CARRIED);
    this.#trim = prepareDropEmpty(database, CARRIED);
  }

  add(event: CountedEvent): void {
    const row = toCarriedRow(event);
    if (row === null) return;
    const { endedDay, arrivedDay, combination, unpriced, unknown, costHi, costLo, tokens } = row;
    this.#add.run(endedDay, arrivedDay, combination, 1, unpriced, unknown, costHi, costLo, tokens);
  }

  /** See `Sum.take`. */
  take(event: CountedEvent): void {
    const row = toCarriedRow(event);
    if (row === null) return;
    const { endedDay, arrivedDay, combination, unknown } = row;
    this.#add.run(endedDay, arrivedDay, combination, -1, 0, -unknown, 0, 0, 0);
    this.#trim.run(endedDay, arrivedDay, combination);
  }
}
