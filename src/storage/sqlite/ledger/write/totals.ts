import type { Database, Statement } from "bun:sqlite";
import type { Outcome } from "#usage/event.ts";
import { toDay, toHour, toMonth } from "#storage/ledger/windows/calendar.ts";
import { DimensionTotals } from "./dimension-totals.ts";
import type { DimensionLimits } from "./dimensions.ts";
import type { CountedEvent } from "#storage/ledger/rows/sums.ts";
import { Sum } from "#storage/ledger/rows/sums.ts";
import type { Binding } from "./total-columns.ts";
import { DAY_MEASURES, HOUR_MEASURES, onConflict, prepareAdd } from "./total-columns.ts";

/** A combination of one day mostly has one result. */
interface ResultSum {
  readonly result: number;
  readonly outcome: Outcome;
  readonly sum: Sum;
}

interface LateSum extends ResultSum {
  readonly day: number;
  readonly combination: number;
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
  readonly #hours = new Map<number, Map<Outcome, Sum>>();
  /** By day and combination. */
  readonly #days = new Map<number, Map<number, ResultSum[]>>();

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
    const inHour = getOrMake(this.#hours, hour, () => new Map<Outcome, Sum>());
    getOrMake(inHour, outcome, () => new Sum()).add(event);

    const inDay = getOrMake(this.#days, toDay(id), () => new Map<number, ResultSum[]>());
    const results = getOrMake(inDay, combination, () => []);
    let ofResult = results.find((known) => known.result === result);
    if (ofResult === undefined) results.push((ofResult = { result, outcome, sum: new Sum() }));
    ofResult.sum.add(event);
  }

  /** Writes down what was added since the last time. */
  store(sealedBeforeDay: number): void {
    for (const [hour, byOutcome] of this.#hours) {
      for (const [outcome, sum] of byOutcome) this.#addHour.run(...sum.hourMeasures<Binding>(hour, outcome));
    }
    for (const [day, byCombination] of this.#days) {
      for (const [combination, results] of byCombination) {
        for (const { result, outcome, sum } of results) {
          if (day >= sealedBeforeDay) this.#addDay.run(...sum.dayMeasures(day, combination, result));
          else this.#storeLate({ day, combination, result, outcome, sum });
        }
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

  /** Into a day that was moved already. */
  #storeLate({ day, combination, result, outcome, sum }: LateSum): void {
    this.#addSealedDay.run(...sum.dayMeasures(combination, day, result));
    this.#addMonth.run(...sum.dayMeasures(combination, result, toMonth(day)));
    this.#dimensions.addLate({ day, combination, outcome, sum });
  }

  #clearSums(): void {
    this.#hours.clear();
    this.#days.clear();
  }
}

function getOrMake<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
