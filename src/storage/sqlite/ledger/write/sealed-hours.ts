import type { Database, Statement } from "bun:sqlite";
import { HOUR_US, type InstantUs } from "#kernel/clock.ts";
import { UNIT_COLUMNS, UNITS } from "#kernel/units.ts";
import { type Cell, encodeCells, HOUR_ROWS_MAX } from "#storage/cells/outcome-cells.ts";
import { toCostSums } from "#storage/cells/sums.ts";
import { toHour } from "#storage/cells/calendar.ts";
import { SQLITE } from "#storage/sql/dialect.ts";
import { IS_INCLUSIVE, toEventMeasures, toUnpricedUnits } from "#storage/reports/event-measures.ts";

/**
 * The hours of sealed days, each as the sums of its rows by combination and outcome. They say nothing that the rows do not:
 * an hour that is not there is read row by row. Only within the writer's transaction.
 */
export class SealedHours {
  readonly #database: Database;
  readonly #findNext: Statement<{ readonly hour: number; readonly requests: number }, [number, number]>;
  readonly #add: Statement<unknown, [number, Uint8Array]>;
  readonly #drop: Statement<unknown, [number]>;
  readonly #dropBefore: Statement<unknown, [number]>;
  /** Every hour before it was looked at. */
  #nextHour = 0;

  constructor(database: Database) {
    this.#database = database;
    this.#findNext = database.prepare(
      `SELECT hour, sum(requests) AS requests FROM hour_total WHERE hour >= ? AND hour < ?
         AND hour NOT IN (SELECT hour FROM sealed_hour) GROUP BY hour ORDER BY hour LIMIT 1`,
    );
    this.#add = database.prepare("INSERT INTO sealed_hour (hour, cells) VALUES (?, ?)");
    this.#drop = database.prepare("DELETE FROM sealed_hour WHERE hour = ?");
    this.#dropBefore = database.prepare("DELETE FROM sealed_hour WHERE hour < ?");
  }

  /** Adds the next hour that lies in `[fromUs, toUs)` and has none; true when there may be more. */
  sealNext({ fromUs, toUs }: { readonly fromUs: InstantUs; readonly toUs: InstantUs }): boolean {
    const first = Math.max(this.#nextHour, Math.ceil(fromUs / HOUR_US));
    const next = this.#findNext.get(first, toHour(toUs));
    this.#nextHour = next === null ? Math.max(first, toHour(toUs)) : next.hour + 1;
    if (next === null) return false;
    if (next.requests <= HOUR_ROWS_MAX) this.#add.run(next.hour, encodeCells(this.#sum(next.hour)));
    return true;
  }

  /** Forgets an hour that gets another row. */
  dropHourOf(atUs: InstantUs): void {
    const hour = toHour(atUs);
    this.#drop.run(hour);
    this.#nextHour = Math.min(this.#nextHour, hour);
  }

  /** Forgets the hours that have lost rows. */
  dropBefore(untilUs: InstantUs): void {
    this.#dropBefore.run(Math.ceil(untilUs / HOUR_US));
  }

  /** Forgets what a rolled back transaction has looked at. */
  rollBack(): void {
    this.#nextHour = 0;
  }

  #sum(hour: number): readonly Cell[] {
    this.#saveManners();
    return this.#database.query<Cell, [number, number]>(CELLS).all(hour * HOUR_US, (hour + 1) * HOUR_US);
  }

  // Some hundred rows: to read what prices leave unpriced for each event would take several times as long.
  #saveManners(): void {
    this.#database.run(
      `CREATE TEMP TABLE IF NOT EXISTS priced_manner (id INTEGER PRIMARY KEY, outcome TEXT, ${UNITS.join(", ")})`,
    );
    this.#database.run("DELETE FROM priced_manner");
    this.#database.run(
      `INSERT INTO priced_manner SELECT manner.id, outcome, ${toUnpricedUnits(SQLITE).join(", ")}
       FROM manner JOIN result ON result.id = result JOIN price_set ON price_set.id = price_set`,
    );
  }
}

const MEASURES = toEventMeasures(SQLITE, IS_INCLUSIVE);
const toMeasure = (column: string) => MEASURES.get(column) ?? "";

const CELLS = `SELECT e.combination, m.outcome, ${[
  "requests",
  "priced_requests",
  "unpriced_requests",
  ...UNIT_COLUMNS,
]
  .map((column) => `sum(${toMeasure(column)}) AS ${column}`)
  .join(", ")}, ${toCostSums(toMeasure)}
  FROM event AS e CROSS JOIN priced_manner AS m ON m.id = e.manner CROSS JOIN combination AS c ON c.id = e.combination
  WHERE e.id >= ? AND e.id < ? GROUP BY e.combination, m.outcome`;
