import type { Database, Statement } from "bun:sqlite";
import type { InstantUs } from "#kernel/clock.ts";
import { UNITS } from "#kernel/units.ts";
import type { CountedEvent } from "#storage/cells/sums.ts";

export interface EventRow extends Omit<CountedEvent, "id" | "result" | "amounts"> {
  readonly manner: number;
}

/** The request log. Only within the writer's transaction. */
export class EventRows {
  readonly #add: Statement<unknown, (number | null)[]>;
  readonly #replace: Statement<unknown, (number | null)[]>;
  /** Values of the row that is being added; reused, so that a row makes no array. */
  readonly #row: (number | null)[] = [];
  #clash = { arrivedAtUs: -1, nextId: 0 };

  constructor(database: Database) {
    this.#add = database.prepare(
      `INSERT INTO event (id, combination, manner, duration_us, first_byte_us, cost_hi, cost_lo, ${UNITS.join(", ")})
       VALUES (?, ?, ?, ?, ?, ?, ?, ${UNITS.map(() => "?").join(", ")}) ON CONFLICT DO NOTHING`,
    );
    this.#replace = database.prepare(
      `UPDATE event SET combination = ?, manner = ?, duration_us = ?, first_byte_us = ?, cost_hi = ?, cost_lo = ?,
         ${UNITS.map((unit) => `${unit} = ?`).join(", ")} WHERE id = ?`,
    );
  }

  /** Puts a row in the place of an event's. */
  replace(id: InstantUs, row: EventRow): void {
    this.#fill(row);
    this.#replace.run(...this.#row.slice(1), id);
  }

  /** Returns the id it got: its arrival, or the next that is free. */
  add(event: EventRow & { readonly arrivedAtUs: InstantUs }): InstantUs {
    const { arrivedAtUs } = event;
    const row = this.#row;
    this.#fill(event);
    // Many at one instant (a coarse clock) start where the last of them ended.
    let id = this.#clash.arrivedAtUs === arrivedAtUs ? this.#clash.nextId : arrivedAtUs;
    row[0] = id;
    while (this.#add.run(...row).changes === 0) row[0] = id += 1;
    this.#clash = { arrivedAtUs, nextId: id + 1 };
    return id;
  }

  #fill({ ending, combination, manner, cost }: EventRow): void {
    const { usage } = ending;
    const row = this.#row;
    row[1] = combination;
    row[2] = manner;
    row[3] = ending.durationUs;
    row[4] = ending.timeToFirstByteUs;
    row[5] = cost?.hi ?? null;
    row[6] = cost?.lo ?? null;
    for (let index = 0; index < UNITS.length; index += 1) {
      const unit = UNITS[index];
      row[7 + index] = unit === undefined ? null : (usage?.quantities[unit] ?? null);
    }
  }

  /** Forgets what a rolled back transaction has added. */
  clear(): void {
    this.#clash = { arrivedAtUs: -1, nextId: 0 };
  }
}

/** The events that are pending, so that they are found among millions. Only within the writer's transaction. */
export class PendingEvents {
  readonly #add: Statement<unknown, [number, number]>;
  readonly #drop: Statement<unknown, [number]>;

  constructor(database: Database) {
    this.#add = database.prepare("INSERT INTO pending_event (id, combination) VALUES (?, ?)");
    this.#drop = database.prepare("DELETE FROM pending_event WHERE id = ?");
  }

  add(id: InstantUs, combination: number): void {
    this.#add.run(id, combination);
  }

  /** Changes nothing where it is none. */
  drop(id: InstantUs): void {
    this.#drop.run(id);
  }
}
