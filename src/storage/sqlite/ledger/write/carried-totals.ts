import type { Database, Statement } from "bun:sqlite";
import { CARRIED_MEASURES, TOKEN_COLUMNS } from "#storage/sqlite/ledger/file/carried-totals.ts";
import { toDay } from "#storage/ledger/windows/calendar.ts";
import type { CountedEvent } from "#storage/ledger/rows/sums.ts";
import { UNIT_COLUMNS } from "#kernel/units.ts";
import { type Binding, prepareAdd } from "./total-columns.ts";

const CARRIED = {
  table: "carried_total",
  keys: ["ended_day", "arrived_day", "combination"],
  measures: CARRIED_MEASURES,
};
const TOKENS_AT = TOKEN_COLUMNS.map((column) => UNIT_COLUMNS.indexOf(column));

/** The totals of requests that ended on another day than they arrived (`ensureCarriedTotals`). Only within the writer's transaction. */
export class CarriedTotals {
  readonly #add: Statement<unknown, Binding[]>;

  constructor(database: Database) {
    this.#add = prepareAdd(database, CARRIED);
  }

  add({ id, combination, ending, cost, amounts }: CountedEvent): void {
    const endedDay = toDay(id + ending.durationUs);
    const arrivedDay = toDay(id);
    if (endedDay === arrivedDay) return;
    const tokens = TOKENS_AT.reduce((sum, at) => sum + (amounts[at] ?? 0), 0);
    const unpriced = ending.unpriced ? 1 : 0;
    this.#add.run(endedDay, arrivedDay, combination, 1, unpriced, cost?.hi ?? 0, cost?.lo ?? 0, tokens);
  }
}
