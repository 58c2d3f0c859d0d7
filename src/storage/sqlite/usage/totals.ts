import type { Database, Statement } from "bun:sqlite";
import type { InstantUs } from "#kernel/clock.ts";
import type { UsageEnding } from "#usage/event.ts";
import { toDay, toHour, toMonth } from "./calendar.ts";
import { normaliseUsage } from "#usage/normalise.ts";

/** 10^9 pico: the seam of the two halves of an amount. */
export const COST_SEAM = 1_000_000_000n;
const MICROS_PER_SECOND = 1e6;
const SECOND_US = 1e6;
/** Upper ends of the time bands, exclusive (decisions, "Reports"). */
const BAND_SECONDS = [1, 5, 15, 30, 60, 120];

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

/** Where an event is counted. The day follows from `id`, so that totals and rows never disagree about a boundary. */
export interface CountedEvent {
  readonly id: InstantUs;
  readonly combination: number;
  readonly result: number;
  readonly ending: UsageEnding;
}

/** The totals of hours, days and months. Only within the writer's transaction. */
export class Totals {
  readonly #addHour: Statement<unknown, Binding[]>;
  readonly #addDay: Statement<unknown, Binding[]>;
  readonly #addSealedDay: Statement<unknown, Binding[]>;
  readonly #addMonth: Statement<unknown, Binding[]>;
  readonly #sealDay: Statement<unknown, [number]>;
  readonly #sealMonth: Statement<unknown, [number, number]>;
  readonly #dropDay: Statement<unknown, [number]>;

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

  add(event: CountedEvent, sealedBeforeDay: number): void {
    const { id, combination, result, ending } = event;
    const hourMeasures = toHourMeasures(ending);
    const dayMeasures = [...hourMeasures, ...toDayMeasures(id, ending.durationUs)];
    const day = toDay(id);
    this.#addHour.run(toHour(id), ending.outcome, ...hourMeasures);
    if (day >= sealedBeforeDay) {
      this.#addDay.run(day, combination, result, ...dayMeasures);
      return;
    }
    // A late one: its day was moved already.
    this.#addSealedDay.run(combination, day, result, ...dayMeasures);
    this.#addMonth.run(combination, result, toMonth(day), ...dayMeasures);
  }

  /** Moves one day; the caller's transaction makes it happen once. */
  seal(day: number): void {
    this.#sealDay.run(day);
    this.#sealMonth.run(toMonth(day), day);
    this.#dropDay.run(day);
  }
}

/** An amount in its two halves. */
export function splitCost(costPico: bigint | null): {
  readonly hi: number | null;
  readonly lo: number | null;
} {
  if (costPico === null) return { hi: null, lo: null };
  return { hi: Number(costPico / COST_SEAM), lo: Number(costPico % COST_SEAM) };
}

export function joinCost(hi: number, lo: number): bigint {
  return BigInt(hi) * COST_SEAM + BigInt(lo);
}

function toHourMeasures(ending: UsageEnding): Binding[] {
  const cost = splitCost(ending.costPico);
  const quantities = ending.usage === null ? null : normaliseUsage(ending.usage);
  const audioSeconds = quantities?.audio_seconds;
  return [
    1,
    ending.costPico === null ? 0 : 1,
    ending.unpriced ? 1 : 0,
    cost.hi ?? 0,
    cost.lo ?? 0,
    quantities?.input_tokens ?? null,
    quantities?.output_tokens ?? null,
    quantities?.cached_input_tokens ?? null,
    audioSeconds === undefined ? null : Math.round(audioSeconds * MICROS_PER_SECOND),
  ];
}

function toDayMeasures(id: InstantUs, durationUs: number): Binding[] {
  const found = BAND_SECONDS.findIndex((seconds) => durationUs < seconds * SECOND_US);
  const band = found === -1 ? BANDS.length - 1 : found;
  return [durationUs, id, ...BANDS.map((_, index) => (index === band ? 1 : 0))];
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
