import type { Database, Statement } from "bun:sqlite";
import type { InstantUs } from "#kernel/clock.ts";

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
