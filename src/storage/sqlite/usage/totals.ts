import type { Database, Statement } from "bun:sqlite";
import type { Outcome } from "#usage/event.ts";
import { toDay, toHour, toMonth } from "./calendar.ts";
import type { CountedEvent } from "./sums.ts";
import { COST_SEAM, Sum } from "./sums.ts";

const COUNTS = ["requests", "priced_requests", "unpriced_requests"];
const QUANTITIES = ["input_tokens", "output_tokens", "cached_input_tokens", "audio_us"];
const BANDS = [
  "band_under_1s",
  "band_under_5s",
  "band_under_15s",
  "band_under_30s",
  "band_under_60s",
  "band_under_120s",
  "band_over_120s",
];
const HOUR_MEASURES = [...COUNTS, "cost_hi", "cost_lo", ...QUANTITIES];
const DAY_MEASURES = [...HOUR_MEASURES, "duration_us", "last_seen_us", ...BANDS];

type Binding = string | number | null;

interface HourSum {
  readonly hour: number;
  readonly outcome: Outcome;
  readonly sum: Sum;
}

interface DaySum {
  readonly day: number;
  readonly combination: number;
  readonly result: number;
  readonly sum: Sum;
}

/**
 * The totals of hours, days and months. Events are summed in memory and stored once per row and batch: events of one batch
 * mostly fall into few rows. Only within the writer's transaction.
 */
export class Totals {
  readonly #addHour: Statement<unknown, Binding[]>;
  readonly #addDay: Statement<unknown, Binding[]>;
  readonly #addSealedDay: Statement<unknown, Binding[]>;
  readonly #addMonth: Statement<unknown, Binding[]>;
  readonly #sealDay: Statement<unknown, [number]>;
  readonly #sealMonth: Statement<unknown, [number, number]>;
  readonly #dropDay: Statement<unknown, [number]>;
  readonly #hours = new Map<string, HourSum>();
  readonly #days = new Map<string, DaySum>();

  constructor(database: Database) {
    const prepareAdd = (table: string, keys: readonly string[], measures: readonly string[]) => {
      const columns = [...keys, ...measures];
      return database.prepare<unknown, Binding[]>(
        `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")}) ${onConflict(table, keys, measures)}`,
      );
    };
    this.#addHour = prepareAdd("hour_total", ["hour", "outcome"], HOUR_MEASURES);
    this.#addDay = prepareAdd("day_total", ["day", "combination", "result"], DAY_MEASURES);
    this.#addSealedDay = prepareAdd("sealed_day_total", ["combination", "day", "result"], DAY_MEASURES);
    this.#addMonth = prepareAdd("month_total", ["combination", "result", "month"], DAY_MEASURES);

    const measures = DAY_MEASURES.join(", ");
    this.#sealDay = database.prepare(
      `INSERT INTO sealed_day_total (combination, day, result, ${measures})
       SELECT combination, day, result, ${measures} FROM day_total WHERE day = ? ORDER BY combination, result
       ${onConflict("sealed_day_total", ["combination", "day", "result"], DAY_MEASURES)}`,
    );
    this.#sealMonth = database.prepare(
      `INSERT INTO month_total (combination, result, month, ${measures})
       SELECT combination, result, ?, ${measures} FROM day_total WHERE day = ? ORDER BY combination, result
       ${onConflict("month_total", ["combination", "result", "month"], DAY_MEASURES)}`,
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
    if (inDay === undefined) this.#days.set(dayKey, (inDay = { day, combination, result, sum: new Sum() }));
    inDay.sum.add(event);
  }

  /** Writes down what was added since the last time. */
  store(sealedBeforeDay: number): void {
    for (const { hour, outcome, sum } of this.#hours.values()) {
      this.#addHour.run(hour, outcome, ...sum.hourMeasures());
    }
    for (const { day, combination, result, sum } of this.#days.values()) {
      const measures = sum.dayMeasures();
      if (day >= sealedBeforeDay) {
        this.#addDay.run(day, combination, result, ...measures);
      } else {
        // Late ones: their day was moved already.
        this.#addSealedDay.run(combination, day, result, ...measures);
        this.#addMonth.run(combination, result, toMonth(day), ...measures);
      }
    }
    this.clear();
  }

  /** Forgets what a rolled back transaction has added. */
  clear(): void {
    this.#hours.clear();
    this.#days.clear();
  }

  /** Moves one day; the caller's transaction makes it happen once. */
  seal(day: number): void {
    this.#sealDay.run(day);
    this.#sealMonth.run(toMonth(day), day);
    this.#dropDay.run(day);
  }
}

function onConflict(table: string, keys: readonly string[], measures: readonly string[]): string {
  const carry = `${table}.cost_lo + excluded.cost_lo >= ${COST_SEAM}`;
  const sums = measures.map((column) => {
    const [have, more] = [`${table}.${column}`, `excluded.${column}`];
    if (column === "cost_hi") return `cost_hi = ${have} + ${more} + (${carry})`;
    if (column === "cost_lo") return `cost_lo = ${have} + ${more} - iif(${carry}, ${COST_SEAM}.0, 0.0)`;
    if (column === "last_seen_us") return `${column} = max(${have}, ${more})`;
    // Nothing reported and nothing reported stay nothing; a zero counts as reported.
    if (QUANTITIES.includes(column)) {
      return `${column} = iif(${more} IS NULL, ${have}, ifnull(${have}, 0.0) + ${more})`;
    }
    return `${column} = ${have} + ${more}`;
  });
  return `ON CONFLICT (${keys.join(", ")}) DO UPDATE SET ${sums.join(", ")}`;
}
