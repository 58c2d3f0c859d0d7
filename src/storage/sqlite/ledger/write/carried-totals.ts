import type { Database, Statement } from "bun:sqlite";
import { CARRIED_MEASURES, TOKEN_COLUMNS } from "#storage/ledger/queries/counted-columns.ts";
import { toCarriedRow } from "#storage/ledger/rows/batch-sums.ts";
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

  add(event: CountedEvent): void {
    const row = toCarriedRow(event, TOKENS_AT);
    if (row === null) return;
    const { endedDay, arrivedDay, combination, unpriced, costHi, costLo, tokens } = row;
    this.#add.run(endedDay, arrivedDay, combination, 1, unpriced, costHi, costLo, tokens);
  }
}
