import type { Database, Statement } from "bun:sqlite";
import { UNIT_COLUMNS } from "#kernel/units.ts";
import { type Cell, encodeCells, MONTH_CELLS_MAX } from "#storage/cells/outcome-cells.ts";
import { toCostSums } from "#storage/cells/sums.ts";
import { toFirstDay, toMonth } from "#storage/cells/calendar.ts";

/** Combinations whose months are read at a time, so that batches wait for some milliseconds only. */
const COMBINATIONS_PER_STEP = 2_048;

/**
 * The months of sealed days, each as the sums of its totals by combination and outcome, which are read in a tenth of the
 * time. A month that is not there is read from its totals. Only within the writer's transaction.
 */
export class SealedMonths {
  readonly #findFirst: Statement<{ readonly hour: number | null }, []>;
  readonly #find: Statement<unknown, [number]>;
  readonly #last: Statement<{ readonly id: number | null }, []>;
  readonly #read: Statement<Cell, [number, number, number]>;
  readonly #add: Statement<unknown, [number, Uint8Array]>;
  readonly #drop: Statement<unknown, [number]>;
  /** Every month before it was looked at. */
  #nextMonth: number | null = null;
  /** What was read of `#nextMonth`. */
  #cells: Cell[] = [];
  #nextCombination = 0;

  constructor(database: Database) {
    this.#findFirst = database.prepare("SELECT min(hour) AS hour FROM hour_total");
    this.#find = database.prepare("SELECT 1 FROM sealed_month WHERE month = ?");
    this.#last = database.prepare("SELECT max(id) AS id FROM combination");
    this.#read = database.prepare(CELLS);
    this.#add = database.prepare("INSERT INTO sealed_month (month, cells) VALUES (?, ?)");
    this.#drop = database.prepare("DELETE FROM sealed_month WHERE month = ?");
  }

  /** A step towards the next month that begins before `sealedBeforeDay` and has none; true when there may be more. */
  sealNext(sealedBeforeDay: number): boolean {
    const month = (this.#nextMonth ??= this.#toFirstMonth());
    if (month === null || toFirstDay(month) >= sealedBeforeDay) return false;
    const last = this.#last.get()?.id ?? 0;
    if (this.#find.get(month) !== null) {
      this.#goTo(month + 1);
    } else if (this.#cells.length > MONTH_CELLS_MAX) {
      this.#goTo(month + 1);
    } else if (this.#nextCombination <= last) {
      const first = this.#nextCombination;
      this.#nextCombination += COMBINATIONS_PER_STEP;
      for (const cell of this.#read.all(first, this.#nextCombination, month)) this.#cells.push(cell);
    } else {
      this.#add.run(month, encodeCells(this.#cells));
      this.#goTo(month + 1);
    }
    return true;
  }

  /** Forgets a month that gets another day, or another event of one. */
  dropMonthOf(day: number): void {
    const month = toMonth(day);
    this.#drop.run(month);
    if (this.#nextMonth !== null && month <= this.#nextMonth) this.#goTo(month);
  }

  /** Forgets what a rolled back transaction has looked at. */
  rollBack(): void {
    this.#goTo(null);
  }

  #toFirstMonth(): number | null {
    const hour = this.#findFirst.get()?.hour ?? null;
    return hour === null ? null : toMonth(Math.floor(hour / 24));
  }

  #goTo(month: number | null): void {
    this.#nextMonth = month;
    this.#cells = [];
    this.#nextCombination = 0;
  }
}

const CELLS = `SELECT combination, outcome,
    ${["requests", "priced_requests", "unpriced_requests", ...UNIT_COLUMNS].map((column) => `sum(${column}) AS ${column}`).join(", ")},
    ${toCostSums((column) => column)}
  FROM month_total JOIN result ON result.id = result
  WHERE combination >= ? AND combination < ? AND month = ? GROUP BY combination, outcome`;
