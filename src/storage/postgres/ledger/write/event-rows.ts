import type { InstantUs } from "#kernel/clock.ts";
import { UNITS } from "#kernel/units.ts";
import { all, type ColumnTypes, insert, type Script } from "#storage/sql/script.ts";
import type { EndedEvent } from "#storage/writer/ended-event.ts";

/** How far ahead of an id that is taken others are looked for at once. */
const TAKEN_US = 4_096;

const COLUMNS: ColumnTypes = [
  ["lane", "integer"],
  ["id", "bigint"],
  ["combination", "integer"],
  ["manner", "integer"],
  ["duration_us", "double precision"],
  ["first_byte_us", "double precision"],
  ["cost_hi", "double precision"],
  ["cost_lo", "double precision"],
  ...UNITS.map((unit) => [unit, "double precision"] as const),
];
const EVENTS = { table: "event", columns: COLUMNS, ending: "ON CONFLICT DO NOTHING" } as const;
/** Finds which of the ids have a row that another transaction has added. */
const REFUSED_SQL = `SELECT id FROM event WHERE lane = ? AND id = ANY (?::bigint[])
  AND xmin <> pg_current_xact_id()::xid`;
const TAKEN_SQL = `SELECT DISTINCT e.id FROM unnest(?2::bigint[]) AS given(id)
  JOIN event AS e ON e.lane = ?1::integer AND e.id >= given.id AND e.id < given.id + ${TAKEN_US}`;

/** The request log of a lane. Only within the writer's transaction. */
export class EventRows {
  readonly #lane: number;
  /** Many at one instant (a coarse clock) start where the last of them ended. */
  #clash = { arrivedAtUs: -1, nextId: 0 };

  constructor(lane: number) {
    this.#lane = lane;
  }

  /** Gives each its id, its arrival or the next that is free, and adds the rows. */
  *add(events: readonly EndedEvent[]): Script<void> {
    const taken = new Set<InstantUs>();
    let rest = events;
    for (const event of events) event.id = event.arrivedAtUs;
    while (rest.length > 0) {
      for (const event of rest) event.id = this.#toFree(event, taken);
      const added = yield* insert(
        EVENTS,
        rest.map((event) => this.#toRow(event)),
      );
      if (added === rest.length) return;
      const refused = yield* this.#find(REFUSED_SQL, rest);
      rest = rest.filter(({ id }) => refused.has(id));
      for (const id of yield* this.#find(TAKEN_SQL, rest)) taken.add(id);
    }
  }

  /** Forgets what a rolled back transaction has added. */
  clear(): void {
    this.#clash = { arrivedAtUs: -1, nextId: 0 };
  }

  #toFree({ arrivedAtUs, id: from }: EndedEvent, taken: Set<InstantUs>): InstantUs {
    let id = this.#clash.arrivedAtUs === arrivedAtUs ? Math.max(from, this.#clash.nextId) : from;
    while (taken.has(id)) id += 1;
    taken.add(id);
    this.#clash = { arrivedAtUs, nextId: id + 1 };
    return id;
  }

  *#find(sql: string, events: readonly EndedEvent[]): Script<ReadonlySet<InstantUs>> {
    const rows = yield* all<{ id: number }>(sql, [this.#lane, events.map(({ id }) => id)]);
    return new Set(rows.map(({ id }) => id));
  }

  #toRow({ id, combination, eventClass, ending, cost }: EndedEvent): (number | null)[] {
    const quantities = ending.usage?.quantities;
    const row = [this.#lane, id, combination, eventClass, ending.durationUs, ending.timeToFirstByteUs];
    row.push(cost?.hi ?? null, cost?.lo ?? null);
    for (const unit of UNITS) row.push(quantities?.[unit] ?? null);
    return row;
  }
}
