import type { Database, Statement } from "bun:sqlite";
import type { DimensionLimits } from "#storage/cells/dimension-values.ts";
import type { Outcome } from "#usage/event.ts";
import { Dimensions } from "./dimensions.ts";
import type { StoredMeasures } from "#storage/cells/sums.ts";
import { Sum } from "#storage/cells/sums.ts";
import type { Binding } from "./total-columns.ts";
import { HOUR_MEASURES } from "#storage/cells/total-columns.ts";
import { prepareAdd, prepareDropEmpty } from "./total-columns.ts";

interface DayRow extends StoredMeasures {
  readonly combination: number;
  readonly outcome: Outcome;
}

interface LateSum {
  readonly day: number;
  readonly combination: number;
  readonly outcome: Outcome;
  readonly sum: Sum;
}

const DIMENSION = {
  table: "dimension_total",
  keys: ["day", "dimension", "outcome"],
  measures: HOUR_MEASURES,
};

/**
 * The totals of dimensions, of sealed days only: days by value and outcome. `from` is the table that holds a day when it is
 * sealed. Only within the writer's transaction.
 */
export class DimensionTotals {
  readonly #dimensions: Dimensions;
  readonly #readDay: Statement<DayRow, [number]>;
  readonly #add: Statement<unknown, Binding[]>;
  readonly #trim: Statement<unknown, Binding[]>;

  constructor(database: Database, from: "day_total" | "sealed_day_total", limits?: DimensionLimits) {
    this.#dimensions = new Dimensions(database, limits);
    this.#readDay = database.prepare(
      `SELECT combination, outcome, ${HOUR_MEASURES.join(", ")}
       FROM ${from} AS t CROSS JOIN result ON result.id = t.result WHERE day = ?`,
    );
    this.#add = prepareAdd(database, DIMENSION);
    this.#trim = prepareDropEmpty(database, DIMENSION);
  }

  // Summed here, in one pass: each row counts in several dimensions.
  seal(day: number): void {
    const rows = this.#readDay.all(day);
    this.#dimensions.choose(day, rows);
    const sums = new Map<number, Map<Outcome, Sum>>();
    for (const row of rows) {
      for (const dimension of this.#dimensions.idsOf(row.combination, day)) {
        let byOutcome = sums.get(dimension);
        if (byOutcome === undefined) sums.set(dimension, (byOutcome = new Map<Outcome, Sum>()));
        let sum = byOutcome.get(row.outcome);
        if (sum === undefined) byOutcome.set(row.outcome, (sum = new Sum()));
        sum.addStored(row);
      }
    }
    for (const [dimension, byOutcome] of [...sums].sort(([a], [b]) => a - b)) {
      // In the order of the key, which is added to at its end then.
      for (const [outcome, sum] of [...byOutcome].sort(([a], [b]) => (a < b ? -1 : 1)))
        this.#add.run(...sum.hourMeasures<Binding>(day, dimension, outcome));
    }
  }

  /** Adds an event that comes late, to a day that was sealed before. */
  addLate({ day, combination, outcome, sum }: LateSum): void {
    this.#dimensions.load([combination]);
    for (const dimension of this.#dimensions.idsOf(combination, day)) {
      this.#add.run(...sum.hourMeasures<Binding>(day, dimension, outcome));
      if (sum.isReduced) this.#trim.run(day, dimension, outcome);
    }
  }

  /** Lets go of its statements. */
  finalize(): void {
    this.#readDay.finalize();
    this.#add.finalize();
    this.#trim.finalize();
    this.#dimensions.finalize();
  }

  /** Forgets what a rolled back transaction has added. */
  rollBack(): void {
    this.#dimensions.clear();
  }
}
