import type { Database, Statement } from "bun:sqlite";
import type { InstantUs } from "#kernel/clock.ts";
import type { Settlement } from "#usage/event.ts";
import { decodeSettlement, encodeJournalLine } from "#usage/journal-line.ts";

/** The table `settlement`: what was told of requests that are still open. Only within the writer's transaction. */
export class EarlySettlements {
  readonly #database: Database;
  readonly #add: Statement<unknown, [number, Uint8Array]>;
  readonly #drop: Statement<unknown, [number]>;
  /** The table's, by event, so that an end asks memory alone. */
  readonly #waiting = new Map<InstantUs, Settlement>();

  constructor(database: Database) {
    this.#database = database;
    this.#add = database.prepare("INSERT INTO settlement (id, line) VALUES (?, ?)");
    this.#drop = database.prepare("DELETE FROM settlement WHERE id = ?");
  }

  /** From the table: what memory held before does not count. */
  reload(): void {
    this.#waiting.clear();
    const rows = this.#database.query<{ line: Uint8Array }, []>("SELECT line FROM settlement").all();
    for (const { line } of rows) {
      const settlement = decodeSettlement(line);
      if (settlement !== null) this.#waiting.set(settlement.event.eventId, settlement);
    }
  }

  /** The first of an event stays. */
  keep(settlement: Settlement): void {
    const { eventId } = settlement.event;
    if (this.#waiting.has(eventId)) return;
    this.#waiting.set(eventId, settlement);
    this.#add.run(eventId, Buffer.from(encodeJournalLine({ kind: "settle", settlement })));
  }

  /** What waits for the event, which does no longer; null when nothing does. */
  take(eventId: InstantUs): Settlement | null {
    const settlement = this.#waiting.get(eventId);
    if (settlement === undefined) return null;
    this.#waiting.delete(eventId);
    this.#drop.run(eventId);
    return settlement;
  }
}
