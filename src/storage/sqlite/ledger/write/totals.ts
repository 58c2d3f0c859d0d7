import type { Database, Statement } from "bun:sqlite";
import type { Outcome } from "#usage/event.ts";
import { toDay, toHour, toMonth } from "#storage/ledger/windows/calendar.ts";
import { DimensionTotals } from "./dimension-totals.ts";
import type { DimensionLimits } from "./dimensions.ts";
import type { CountedEvent } from "#storage/ledger/rows/sums.ts";
import { Sum } from "#storage/ledger/rows/sums.ts";
import type { Binding } from "./total-columns.ts";
import { DAY_MEASURES, HOUR_MEASURES, onConflict, prepareAdd } from "./total-columns.ts";

interface HourSum {
  readonly hour: number;
  readonly outcome: Outcome;
  readonly sum: Sum;
}

interface DaySum {
  readonly day: number;
  readonly combination: number;
  readonly result: number;
  readonly outcome: Outcome;
  readonly sum: Sum;
}

const HOUR = { table: "hour_total", keys: ["hour", "outcome"], measures: HOUR_MEASURES };
const DAY = { table: "day_total", keys: ["day", "combination", "result"], measures: DAY_MEASURES };
const SEALED_DAY = {
  table: "sealed_day_total",
  keys: ["combination", "day", "result"],
  measures: DAY_MEASURES,
};
const MONTH = { table: "month_total", keys: ["combination", "result", "month"], measures: DAY_MEASURES };

/**
 * The totals of hours, days, months and dimensions. Events are summed in memory and stored once per row and batch: events
 * of one batch mostly fall into few rows. Only within the writer's transaction.
 */
export class Totals {
  readonly #addHour: Statement<unknown, Binding[]>;
  readonly #addDay: Statement<unknown, Binding[]>;
  readonly #addSealedDay: Statement<unknown, Binding[]>;
  readonly #addMonth: Statement<unknown, Binding[]>;
  readonly #sealDay: Statement<unknown, [number]>;
  readonly #sealMonth: Statement<unknown, [number, number]>;
  readonly #dropDay: Statement<unknown, [number]>;
  readonly #dimensions: DimensionTotals;
  readonly #hours = new Map<string, HourSum>();
  readonly #days = new Map<string, DaySum>();

  constructor(database: Database, limits?: DimensionLimits) {
    this.#addHour = prepareAdd(database, HOUR);
    this.#addDay = prepareAdd(database, DAY);
    this.#addSealedDay = prepareAdd(database, SEALED_DAY);
    this.#addMonth = prepareAdd(database, MONTH);
    this.#dimensions = new DimensionTotals(database, "day_total", limits);

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
    const { id, combination, result } = event;
    const { outcome } = event.ending;
    const hour = toHour(id);
    const hourKey = `${hour} ${outcome}`;
    let inHour = this.#hours.get(hourKey);
    if (inHour === undefined) this.#hours.set(hourKey, (inHour = { hour, outcome, sum: new Sum() }));
    inHour.sum.add(event);

    const day = toDay(id);
    const dayKey = `${day} ${combination} ${result}`;
    let inDay = this.#days.get(dayKey);
    if (inDay === undefined)
      this.#days.set(dayKey, (inDay = { day, combination, result, outcome, sum: new Sum() }));
    inDay.sum.add(event);
  }

  /** Writes down what was added since the last time. */
  store(sealedBeforeDay: number): void {
    for (const { hour, outcome, sum } of this.#hours.values()) {
      this.#addHour.run(hour, outcome, ...sum.hourMeasures());
    }
    for (const { day, combination, result, outcome, sum } of this.#days.values()) {
      const measures = sum.dayMeasures();
      if (day >= sealedBeforeDay) {
        this.#addDay.run(day, combination, result, ...measures);
      } else {
        // Late ones: their day was moved already.
        this.#addSealedDay.run(combination, day, result, ...measures);
        this.#addMonth.run(combination, result, toMonth(day), ...measures);
        this.#dimensions.addLate({ day, combination, outcome, sum });
      }
    }
    this.#clearSums();
  }

  /** Forgets what a rolled back transaction has added. */
  rollBack(): void {
    this.#clearSums();
    this.#dimensions.rollBack();
  }

  /** Moves one day; the caller's transaction makes it happen once. */
  seal(day: number): void {
    this.#dimensions.seal(day);
    this.#sealDay.run(day);
    this.#sealMonth.run(toMonth(day), day);
    this.#dropDay.run(day);
  }

  #clearSums(): void {
    this.#hours.clear();
    this.#days.clear();
  }
}
