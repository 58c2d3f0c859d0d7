import type { Database, Statement } from "bun:sqlite";
import type { InstantUs } from "#kernel/clock.ts";
import { UNITS } from "#kernel/units.ts";
import type { EndedEvent } from "#storage/writer/ended-event.ts";

/** The request log. Only within the writer's transaction. */
export class EventRows {
  readonly #add: Statement<unknown, (number | null)[]>;
  /** Values of the row that is being added; reused, so that a row makes no array. */
  readonly #row: (number | null)[] = [];
  #clash = { arrivedAtUs: -1, nextId: 0 };

  constructor(database: Database) {
    this.#add = database.prepare(
      `INSERT INTO event (id, combination, manner, duration_us, first_byte_us, cost_hi, cost_lo, ${UNITS.join(", ")})
       VALUES (?, ?, ?, ?, ?, ?, ?, ${UNITS.map(() => "?").join(", ")}) ON CONFLICT DO NOTHING`,
    );
  }

  /** Returns the id it got: its arrival, or the next that is free. */
  add({ arrivedAtUs, combination, eventClass, ending, cost }: EndedEvent): InstantUs {
    const row = this.#row;
    // Many at one instant (a coarse clock) start where the last of them ended.
    let id = this.#clash.arrivedAtUs === arrivedAtUs ? this.#clash.nextId : arrivedAtUs;
    row[0] = id;
    row[1] = combination;
    row[2] = eventClass;
    row[3] = ending.durationUs;
    row[4] = ending.timeToFirstByteUs;
    row[5] = cost?.hi ?? null;
    row[6] = cost?.lo ?? null;
    const quantities = ending.usage?.quantities;
    for (let index = 0; index < UNITS.length; index += 1) {
      const unit = UNITS[index];
      row[7 + index] = unit === undefined ? null : (quantities?.[unit] ?? null);
    }
    while (this.#add.run(...row).changes === 0) row[0] = id += 1;
    this.#clash = { arrivedAtUs, nextId: id + 1 };
    return id;
  }

  /** Forgets what a rolled back transaction has added. */
  clear(): void {
    this.#clash = { arrivedAtUs: -1, nextId: 0 };
  }
}
