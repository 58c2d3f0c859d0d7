import type { InstantUs } from "#kernel/clock.ts";
import { UNITS } from "#kernel/units.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import type { EndedEvent } from "./ended-event.ts";
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
const UNITS_AT = COLUMNS.length - UNITS.length;
const NAMES = COLUMNS.map(([name]) => name).join(", ");

const ADD_SQL = `INSERT INTO event (lane, ${NAMES}) SELECT $1::integer, ${NAMES} FROM ${toSource(COLUMNS, "given", 2)}
  ON CONFLICT DO NOTHING`;
/** Finds which of the ids have a row that another transaction has added. */
const REFUSED_SQL = `SELECT id FROM event WHERE lane = $1 AND id = ANY ($2::bigint[])
  AND xmin <> pg_current_xact_id()::xid`;
const TAKEN_SQL = `SELECT DISTINCT e.id FROM unnest($2::bigint[]) AS given(id)
  JOIN event AS e ON e.lane = $1::integer AND e.id >= given.id AND e.id < given.id + ${TAKEN_US}`;

/** The ids are bound alone as well: by them the partitions are chosen. */
const REPLACE_SQL = `UPDATE event AS e SET ${COLUMNS.slice(1)
  .map(([name]) => `${name} = given.${name}`)
  .join(", ")}
  FROM ${toSource(COLUMNS, "given", 2)} WHERE e.lane = $1 AND e.id = given.id AND e.id = ANY ($2::bigint[])`;

/** Puts what events of a lane are now in the place of their rows. */
export async function replaceEvents(sql: Sql, lane: number, events: readonly EndedEvent[]): Promise<void> {
  const rows = new Rows(COLUMNS);
  for (const event of events) fill(rows, event);
  await sql.run(REPLACE_SQL, [lane, ...rows.bindings]);
}

/** The request log of a lane. */
export class EventRows {
  readonly #lane: number;
  /** Many at one instant (a coarse clock) start where the last of them ended. */
  #clash = { arrivedAtUs: -1, nextId: 0 };

  constructor(lane: number) {
    this.#lane = lane;
  }

  /** Gives each its id and adds the rows, within the writer's transaction. */
  async add(sql: Sql, events: readonly EndedEvent[]): Promise<void> {
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

  #toFree({ arrivedAtUs, id: from }: EndedEvent, taken: Set<InstantUs>): InstantUs {
    let id = this.#clash.arrivedAtUs === arrivedAtUs ? Math.max(from, this.#clash.nextId) : from;
    while (taken.has(id)) id += 1;
    taken.add(id);
    this.#clash = { arrivedAtUs, nextId: id + 1 };
    return id;
  }

  /** Returns the ids that were taken, whose rows it has not added. */
  async #insert(sql: Sql, events: readonly EndedEvent[]): Promise<ReadonlySet<InstantUs>> {
    const rows = new Rows(COLUMNS);
    for (const event of events) fill(rows, event);
    const added = await sql.run(ADD_SQL, [this.#lane, ...rows.bindings]);
    if (added === events.length) return new Set();
    const refused = await sql.all<{ id: number }>(REFUSED_SQL, [this.#lane, events.map(({ id }) => id)]);
    return new Set(refused.map(({ id }) => id));
  }
}

function fill(rows: Rows, { id, combinationId, mannerId, ending, cost }: EndedEvent): void {
  const quantities = ending.usage?.quantities;
  rows.set(0, id);
  rows.set(1, combinationId);
  rows.set(2, mannerId);
  rows.set(3, ending.durationUs);
  rows.set(4, ending.timeToFirstByteUs);
  rows.set(5, cost?.hi ?? null);
  rows.set(6, cost?.lo ?? null);
  for (let index = 0; index < UNITS.length; index += 1) {
    const unit = UNITS[index];
    rows.set(UNITS_AT + index, unit === undefined ? null : (quantities?.[unit] ?? null));
  }
}
