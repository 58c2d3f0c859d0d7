import type { InstantUs } from "#kernel/clock.ts";
import { UNITS } from "#kernel/units.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import type { PendingEvent } from "./pending-event.ts";
import { type ColumnTypes, Rows, toSource } from "./rows.ts";

/** How far ahead of an id that is taken others are looked for at once. */
const TAKEN_US = 4_096;

const COLUMNS: ColumnTypes = [
  ["id", "bigint"],
  ["combination", "integer"],
  ["manner", "integer"],
  ["duration_us", "double precision"],
  ["first_byte_us", "double precision"],
  ["cost_hi", "double precision"],
  ["cost_lo", "double precision"],
  ...UNITS.map((unit) => [unit, "double precision"] as const),
];
const NAMES = COLUMNS.map(([name]) => name).join(", ");

/** Returns the ids that were taken, whose rows it has not added. */
const ADD_SQL = `WITH given AS MATERIALIZED (SELECT * FROM ${toSource(COLUMNS, "rows", 2)}),
  added AS (INSERT INTO event (lane, ${NAMES}) SELECT $1::integer, ${NAMES} FROM given ON CONFLICT DO NOTHING RETURNING id)
  SELECT id FROM given EXCEPT SELECT id FROM added`;
const TAKEN_SQL = `SELECT DISTINCT e.id FROM unnest($2::bigint[]) AS given(id)
  JOIN event AS e ON e.lane = $1::integer AND e.id >= given.id AND e.id < given.id + ${TAKEN_US}`;

/** The request log of a lane. */
export class EventRows {
  readonly #lane: number;
  /** Many at one instant (a coarse clock) start where the last of them ended. */
  #clash = { arrivedAtUs: -1, nextId: 0 };

  constructor(lane: number) {
    this.#lane = lane;
  }

  /** Gives each its id and adds the rows, within the writer's transaction. */
  async add(sql: Sql, events: readonly PendingEvent[]): Promise<void> {
    const taken = new Set<InstantUs>();
    let rest = events;
    for (const event of events) event.id = event.arrivedAtUs;
    while (rest.length > 0) {
      for (const event of rest) event.id = this.#toFree(event, taken);
      const refused = await this.#insert(sql, rest);
      if (refused.size === 0) return;
      const known = await sql.all<{ id: number }>(TAKEN_SQL, [this.#lane, [...refused]]);
      for (const { id } of known) taken.add(id);
      rest = rest.filter(({ id }) => refused.has(id));
    }
  }

  /** Forgets what a rolled back transaction has added. */
  clear(): void {
    this.#clash = { arrivedAtUs: -1, nextId: 0 };
  }

  #toFree({ arrivedAtUs, id: from }: PendingEvent, taken: Set<InstantUs>): InstantUs {
    let id = this.#clash.arrivedAtUs === arrivedAtUs ? Math.max(from, this.#clash.nextId) : from;
    while (taken.has(id)) id += 1;
    taken.add(id);
    this.#clash = { arrivedAtUs, nextId: id + 1 };
    return id;
  }

  async #insert(sql: Sql, events: readonly PendingEvent[]): Promise<ReadonlySet<InstantUs>> {
    const rows = new Rows(COLUMNS);
    for (const { id, combinationId, mannerId, ending, cost } of events) {
      const { durationUs, timeToFirstByteUs, usage } = ending;
      const quantities = usage?.quantities;
      rows.add([
        id,
        combinationId,
        mannerId,
        durationUs,
        timeToFirstByteUs,
        cost?.hi ?? null,
        cost?.lo ?? null,
        ...UNITS.map((unit) => quantities?.[unit] ?? null),
      ]);
    }
    const refused = await sql.all<{ id: number }>(ADD_SQL, [this.#lane, ...rows.bindings]);
    return new Set(refused.map(({ id }) => id));
  }
}
