import type { Database, Statement } from "bun:sqlite";
import type { InstantUs } from "#kernel/clock.ts";
import { UNITS } from "#kernel/units.ts";
import type { Begun } from "#usage/journal-decoder.ts";
import type { CountedEvent } from "#storage/ledger/rows/sums.ts";

export interface EventRow extends Omit<CountedEvent, "id" | "result"> {
  readonly begun: Begun;
  readonly manner: number;
}

/** The request log. Only within the writer's transaction. */
export class EventRows {
  readonly #add: Statement<unknown, (number | null)[]>;
  #clash = { arrivedAtUs: -1, nextId: 0 };

  constructor(database: Database) {
    this.#add = database.prepare(
      `INSERT INTO event (id, combination, manner, duration_us, first_byte_us, cost_hi, cost_lo, ${UNITS.join(", ")})
       VALUES (?, ?, ?, ?, ?, ?, ?, ${UNITS.map(() => "?").join(", ")}) ON CONFLICT DO NOTHING`,
    );
  }

  /** Returns the id it got: its arrival, or the next that is free. */
  add({ begun, ending, combination, manner, cost }: EventRow): InstantUs {
    const { arrivedAtUs } = begun;
    const { usage } = ending;
    const rest = [
      combination,
      manner,
      ending.durationUs,
      ending.timeToFirstByteUs,
      cost?.hi ?? null,
      cost?.lo ?? null,
      ...UNITS.map((unit) => usage?.quantities[unit] ?? null),
    ];
    // Many at one instant (a coarse clock) start where the last of them ended.
    let id = this.#clash.arrivedAtUs === arrivedAtUs ? this.#clash.nextId : arrivedAtUs;
    while (this.#add.run(id, ...rest).changes === 0) id += 1;
    this.#clash = { arrivedAtUs, nextId: id + 1 };
    return id;
  }

  /** Forgets what a rolled back transaction has added. */
  clear(): void {
    this.#clash = { arrivedAtUs: -1, nextId: 0 };
  }
}
