import type { InstantUs } from "#kernel/clock.ts";
import type { UnitTotals } from "#kernel/units.ts";
import { REPORT_UNITS, UNIT_COLUMNS, UNIT_TABLE } from "#kernel/units.ts";
import type { UsageFigures } from "#usage/journal-line.ts";
import type { ReportedUsage } from "#usage/event.ts";
import { normaliseUsage } from "#usage/normalise.ts";

/** 10^9 pico: the seam of the two halves of an amount. */
export const COST_SEAM = 1_000_000_000;
const COST_SEAM_BIG = BigInt(COST_SEAM);
const SECOND_US = 1e6;
/** Upper ends of the time bands, exclusive (decisions, "Reports"). */
const BAND_US = [1, 5, 15, 30, 60, 120].map((seconds) => seconds * SECOND_US);

/** An amount in two halves that add up exactly; `lo` is below the seam. */
export interface SplitCost {
  readonly hi: number;
  readonly lo: number;
}

/** What every table of totals has, as it stands there. */
export interface StoredMeasures extends UnitTotals {
  readonly requests: number;
  readonly priced_requests: number;
  readonly unpriced_requests: number;
  readonly cost_hi: number;
  readonly cost_lo: number;
}

/** Where and as what an event is counted. The day follows from `id`, so that totals and rows agree about a boundary. */
export interface CountedEvent {
  readonly id: InstantUs;
  readonly combination: number;
  readonly result: number;
  readonly ending: UsageFigures;
  readonly cost: SplitCost | null;
  readonly amounts: Amounts;
}

/** What reports count of a usage, in the order of UNIT_COLUMNS and in their multiples; null for what was not reported. */
export type Amounts = readonly (number | null)[];

const NO_AMOUNTS: Amounts = UNIT_COLUMNS.map(() => null);

export function toAmounts(usage: ReportedUsage | null): Amounts {
  if (usage === null) return NO_AMOUNTS;
  const quantities = normaliseUsage(usage);
  return REPORT_UNITS.map((unit) => {
    const quantity = quantities[unit];
    const { scale } = UNIT_TABLE[unit];
    if (quantity === undefined) return null;
    return scale === 1 ? quantity : Math.round(quantity * scale);
  });
}

export function splitCost(costPico: number | bigint | null): SplitCost | null {
  if (costPico === null) return null;
  if (typeof costPico === "number") {
    const hi = Math.floor(costPico / COST_SEAM);
    return { hi, lo: costPico - hi * COST_SEAM };
  }
  return { hi: Number(costPico / COST_SEAM_BIG), lo: Number(costPico % COST_SEAM_BIG) };
}

export function joinCost(hi: number, lo: number): bigint {
  return BigInt(hi) * COST_SEAM_BIG + BigInt(lo);
}

/**
 * The SQL that adds up the two halves, as `cost_hi` and `cost_lo`. As whole numbers: from nine million rows on, low halves
 * add up to more than a REAL holds exactly.
 */
export function toCostSums(toColumn: (column: "cost_hi" | "cost_lo") => string): string {
  const low = `sum(CAST(${toColumn("cost_lo")} AS INTEGER))`;
  return `sum(${toColumn("cost_hi")}) + ${low} / ${COST_SEAM} AS cost_hi, ${low} % ${COST_SEAM} AS cost_lo`;
}

/** What events, or rows of totals, add up to in one row of totals: those of a batch or of a day. */
export class Sum {
  #requests = 0;
  #priced = 0;
  #unpriced = 0;
  #costHi = 0;
  /** Far from 2^53 before it is carried over. */
  #costLo = 0;
  /** In the order of UNIT_COLUMNS. */
  readonly #units: (number | null)[] = UNIT_COLUMNS.map(() => null);
  #durationUs = 0;
  #lastSeenUs = 0;
  readonly #bands = Array.from({ length: BAND_US.length + 1 }, () => 0);
  #isReduced = false;

  /** Whether something was taken out: the row that it is added to may be left with nothing, or with an earlier last event. */
  get isReduced(): boolean {
    return this.#isReduced;
  }

  /** An event that was counted, of which nothing but its duration was known. */
  take({ ending: { durationUs } }: CountedEvent): void {
    this.#isReduced = true;
    this.#requests -= 1;
    this.#durationUs -= durationUs;
    const band = toBand(durationUs);
    this.#bands[band] = (this.#bands[band] ?? 0) - 1;
  }

  add({ id, ending, cost, amounts }: CountedEvent): void {
    this.#requests += 1;
    if (ending.unpriced) this.#unpriced += 1;
    if (cost !== null) {
      this.#priced += 1;
      this.#costHi += cost.hi;
      this.#costLo += cost.lo;
    }
    const { durationUs } = ending;
    for (let index = 0; index < amounts.length; index += 1) this.#addUnit(index, amounts[index] ?? null);
    this.#durationUs += durationUs;
    this.#lastSeenUs = Math.max(this.#lastSeenUs, id);
    const band = toBand(durationUs);
    this.#bands[band] = (this.#bands[band] ?? 0) + 1;
  }

  /** A row of totals: all but durations, the time bands and when it was last seen. */
  addStored(row: StoredMeasures): void {
    this.#requests += row.requests;
    this.#priced += row.priced_requests;
    this.#unpriced += row.unpriced_requests;
    this.#costHi += row.cost_hi;
    this.#costLo += row.cost_lo;
    for (const [index, column] of UNIT_COLUMNS.entries()) this.#addUnit(index, row[column]);
  }

  /** In the order of HOUR_MEASURES, behind the values of the keys. */
  hourMeasures<Key>(...keys: Key[]): (Key | number | null)[] {
    const carry = Math.floor(this.#costLo / COST_SEAM);
    const measures: (Key | number | null)[] = keys;
    measures.push(
      this.#requests,
      this.#priced,
      this.#unpriced,
      this.#costHi + carry,
      this.#costLo - carry * COST_SEAM,
    );
    for (let index = 0; index < this.#units.length; index += 1) measures.push(this.#units[index] ?? null);
    return measures;
  }

  /** In the order of DAY_MEASURES, behind the values of the keys. */
  dayMeasures(...keys: number[]): (number | null)[] {
    const measures = this.hourMeasures(...keys);
    measures.push(this.#durationUs, this.#lastSeenUs);
    for (let index = 0; index < this.#bands.length; index += 1) measures.push(this.#bands[index] ?? 0);
    return measures;
  }

  /** Nothing reported and nothing reported stay nothing; a zero counts as reported. */
  #addUnit(index: number, more: number | null): void {
    if (more !== null) this.#units[index] = (this.#units[index] ?? 0) + more;
  }
}

function toBand(durationUs: number): number {
  let band = 0;
  while (durationUs >= (BAND_US[band] ?? Number.POSITIVE_INFINITY)) band += 1;
  return band;
}
