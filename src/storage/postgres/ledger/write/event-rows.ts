import type { InstantUs } from "#kernel/clock.ts";
import { UNITS } from "#kernel/units.ts";
import { all, type ColumnTypes, run, type Script } from "#storage/sql/script.ts";
import type { EndedEvent } from "#storage/writer/ended-event.ts";
import { toNumbers, toSource } from "./rows.ts";

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
      const added = yield* run(ADD_SQL, [this.#lane, ...toColumns(rest)]);
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
}

/** Column by column: a row of its own for each event would take as long as all the rest. */
function toColumns(events: readonly EndedEvent[]): readonly (string | null)[] {
  const columns = COLUMNS.map((): (number | null)[] => []);
  for (const { id, combination, eventClass, ending, cost } of events) {
    columns[0]?.push(id);
    columns[1]?.push(combination);
    columns[2]?.push(eventClass);
    columns[3]?.push(ending.durationUs);
    columns[4]?.push(ending.timeToFirstByteUs);
    columns[5]?.push(cost?.hi ?? null);
    columns[6]?.push(cost?.lo ?? null);
    const quantities = ending.usage?.quantities;
    for (let index = 0; index < UNITS.length; index += 1) {
      const unit = UNITS[index];
      columns[UNITS_AT + index]?.push(unit === undefined ? null : (quantities?.[unit] ?? null));
    }
  }
  return columns.map(toNumbers);
}
