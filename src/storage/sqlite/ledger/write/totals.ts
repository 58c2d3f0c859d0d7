import type { Database, Statement } from "bun:sqlite";
import type { DimensionLimits } from "#storage/cells/dimension-values.ts";
import { BatchSums, type CellSum, type DaySum } from "#storage/cells/batch-sums.ts";
import { lowerLastSeen } from "#storage/cells/last-seen.ts";
import { readFrom } from "#storage/sqlite/drive.ts";
import type { CountedEvent } from "#storage/cells/sums.ts";
import {
  DAY_MEASURES,
  HOUR_MEASURES,
  onConflict,
  toLastOfDay,
  toLastOfMonth,
} from "#storage/cells/total-columns.ts";
import { toFirstDay, toMonth } from "#storage/cells/calendar.ts";
import { DimensionTotals } from "./dimension-totals.ts";
import type { Binding } from "./total-columns.ts";
import { prepareAdd, prepareDropEmpty, prepareLast } from "./total-columns.ts";

const HOUR = { table: "hour_total", keys: ["hour", "outcome"], measures: HOUR_MEASURES };
const OPEN_CELL = { table: "open_cell", keys: ["hour", "combination", "result"], measures: DAY_MEASURES };
const DAY = { table: "day_total", keys: ["day", "combination", "result"], measures: DAY_MEASURES };
const SEALED_DAY = {
  table: "sealed_day_total",
  keys: ["combination", "day", "result"],
  measures: DAY_MEASURES,
};
const MONTH = { table: "month_total", keys: ["combination", "result", "month"], measures: DAY_MEASURES };

/**
 * The totals of hours, days, months and dimensions. Events are summed in memory and stored once per row and batch. Only
 * within the writer's transaction.
 */
export class Totals {
  readonly #database: Database;
  readonly #addHour: Statement<unknown, Binding[]>;
  readonly #addCell: Statement<unknown, Binding[]>;
  readonly #addDay: Statement<unknown, Binding[]>;
  readonly #addSealedDay: Statement<unknown, Binding[]>;
  readonly #addMonth: Statement<unknown, Binding[]>;
  readonly #sealDay: Statement<unknown, [number]>;
  readonly #sealMonth: Statement<unknown, [number, number]>;
  readonly #dropDay: Statement<unknown, [number]>;
  readonly #trimHour: Statement<unknown, Binding[]>;
  readonly #trimDay: Statement<unknown, Binding[]>;
  readonly #trimSealedDay: Statement<unknown, Binding[]>;
  readonly #trimMonth: Statement<unknown, Binding[]>;
  readonly #seeDay: Statement<unknown, Binding[]>;
  readonly #seeSealedDay: Statement<unknown, Binding[]>;
  readonly #seeMonth: Statement<unknown, Binding[]>;
  readonly #dimensions: DimensionTotals;
  readonly #sums = new BatchSums();

  constructor(database: Database, limits?: DimensionLimits) {
    this.#database = database;
    this.#addHour = prepareAdd(database, HOUR);
    this.#addCell = prepareAdd(database, OPEN_CELL);
    this.#addDay = prepareAdd(database, DAY);
    this.#addSealedDay = prepareAdd(database, SEALED_DAY);
    this.#addMonth = prepareAdd(database, MONTH);
    this.#dimensions = new DimensionTotals(database, "day_total", limits);

    this.#trimHour = prepareDropEmpty(database, HOUR);
    this.#trimDay = prepareDropEmpty(database, DAY);
    this.#trimSealedDay = prepareDropEmpty(database, SEALED_DAY);
    this.#trimMonth = prepareDropEmpty(database, MONTH);
    this.#seeDay = prepareLast(database, DAY, toLastOfDay());
    this.#seeSealedDay = prepareLast(database, SEALED_DAY, toLastOfDay());
    this.#seeMonth = prepareLast(database, MONTH, toLastOfMonth("?", "?"));

    const measures = DAY_MEASURES.join(", ");
    this.#sealDay = database.prepare(
      `INSERT INTO sealed_day_total (combination, day, result, ${measures})
       SELECT combination, day, result, ${measures} FROM day_total WHERE day = ? ORDER BY combination, result
       ${onConflict(SEALED_DAY)}`,
    );
    this.#sealMonth = database.prepare(
      `INSERT INTO month_total (combination, result, month, ${measures})
       SELECT combination, result, ?, ${measures} FROM day_total WHERE day = ? ORDER BY combination, result
       ${onConflict(MONTH)}`,
    );
    this.#dropDay = database.prepare("DELETE FROM day_total WHERE day = ?");
  }

  add(event: CountedEvent): void {
    this.#sums.add(event);
  }

  /** See `Sum.take`. */
  take(event: CountedEvent): void {
    this.#sums.take(event);
  }

  /** Writes down what was added since the last time. */
  store(sealedBeforeDay: number): void {
    for (const { hour, outcome, sum } of this.#sums.hours()) {
      this.#addHour.run(...sum.hourMeasures<Binding>(hour, outcome));
      if (sum.isReduced) this.#trimHour.run(hour, outcome);
    }
    const taken: CellSum[] = [];
    for (const cell of this.#sums.cells()) {
      const { hour, combination, result, sum } = cell;
      this.#addCell.run(...sum.dayMeasures(hour, combination, result));
      if (sum.isReduced) taken.push(cell);
    }
    if (taken.length > 0) readFrom(this.#database, lowerLastSeen(taken));
    for (const total of this.#sums.days()) {
      const { day, combination, result, sum } = total;
      if (day < sealedBeforeDay) this.#storeLate(total);
      else {
        this.#addDay.run(...sum.dayMeasures(day, combination, result));
        if (sum.isReduced) {
          this.#trimDay.run(day, combination, result);
          this.#seeDay.run(day, combination, result);
        }
      }
    }
    this.#sums.clear();
  }

  /** Forgets what a rolled back transaction has added. */
  rollBack(): void {
    this.#sums.clear();
    this.#dimensions.rollBack();
  }

  /** Moves one day; the caller's transaction makes it happen once. */
  seal(day: number): void {
    this.#dimensions.seal(day);
    this.#sealDay.run(day);
    this.#sealMonth.run(toMonth(day), day);
    this.#dropDay.run(day);
  }

  /** Into a day that was moved already. */
  #storeLate({ day, combination, result, outcome, sum }: DaySum): void {
    const month = toMonth(day);
    this.#addSealedDay.run(...sum.dayMeasures(combination, day, result));
    this.#addMonth.run(...sum.dayMeasures(combination, result, month));
    if (sum.isReduced) {
      this.#trimSealedDay.run(combination, day, result);
      this.#seeSealedDay.run(combination, day, result);
      this.#trimMonth.run(combination, result, month);
      this.#seeMonth.run(toFirstDay(month), toFirstDay(month + 1), combination, result, month);
    }
    this.#dimensions.addLate({ day, combination, outcome, sum });
  }
}
