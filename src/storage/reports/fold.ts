import { toUnitTotals, UNIT_COLUMNS, type UnitTotals } from "#kernel/units.ts";
import { type Adding, BANDS, CELL_MEASURES } from "#storage/cells/measures.ts";
import {
  ADDITIONS,
  type Cells,
  type ChosenRows,
  type MeasureColumn,
  toNothing,
} from "#storage/cells/cells.ts";
import { COST_SEAM } from "#storage/cells/sums.ts";
import { NOT_CHOSEN } from "./label-groups.ts";

/** The sums of the requests of one group, in one period, that ended in one way. A measure that was not folded is zero or null. */
export interface FoldSum {
  readonly period: number;
  readonly group: number;
  /** The class of results. */
  readonly ending: number;
  readonly requests: number;
  readonly priced_requests: number;
  readonly unpriced_requests: number;
  readonly pending_requests: number;
  readonly unmetered_requests: number;
  readonly cost_hi: number;
  readonly cost_lo: number;
  readonly cost_reported_requests: number;
  readonly cost_reported_hi: number;
  readonly cost_reported_lo: number;
  readonly duration_us: number;
  readonly last_seen_us: number;
  readonly units: UnitTotals;
  /** In the order of `BANDS`; empty where they were not folded. */
  readonly bands: readonly number[];
}

/** Where label sets and results belong, or groups and classes that are put together. */
export interface FoldKeys {
  /** By the id of the label set its group, or `NOT_CHOSEN`. */
  readonly groupOf: Int32Array;
  readonly groupCount: number;
  /** By the id of the result its class, or `NOT_CHOSEN`. */
  readonly endingOf: Int32Array;
  readonly endingCount: number;
}

/** Past so many keys, sums are found by a map, which takes eight times as long. */
const DENSE_KEYS_MAX = 1_048_576;
const NO_SUM = -1;

/**
 * Adds up cells by period, group and class of results, column by column: half a million of them take some tens of
 * milliseconds. A group may have several sums of one period, which are to be added up.
 */
export class Fold {
  readonly keys: FoldKeys;
  /** The number of `CELL_MEASURES` that are needed. */
  readonly measuresMax: number;
  readonly #columns: readonly SumColumn[];
  readonly #sumAt: SumIndex;
  #period = 0;
  #count = 0;
  #periods = new Float64Array(SUMS_MIN);
  #groups = new Int32Array(SUMS_MIN);
  #endings = new Int32Array(SUMS_MIN);

  /** Adds up some measures; all where none are named. */
  constructor(keys: FoldKeys, measures?: readonly string[]) {
    this.keys = keys;
    this.#columns = CELL_MEASURES.flatMap(({ name, adds }, measure) =>
      measures === undefined || measures.includes(name) ? [new SumColumn(name, { measure, adds })] : [],
    );
    this.measuresMax = 1 + (this.#columns.at(-1)?.measure ?? -1);
    this.#sumAt = new SumIndex(keys);
  }

  /** The number of sums. */
  get size(): number {
    return this.#count;
  }

  /** Cells that are added from now on lie in this period. */
  begin(period: number): void {
    if (period === this.#period) return;
    this.#period = period;
    this.#sumAt.clear();
  }

  add({ count, combinations, results, measures }: Cells): void {
    const { groupOf, endingOf, endingCount } = this.keys;
    const rows = new Int32Array(count);
    const sums = new Int32Array(count);
    let found = 0;
    for (let row = 0; row < count; row += 1) {
      const group = groupOf[combinations[row] ?? 0] ?? NOT_CHOSEN;
      if (group === NOT_CHOSEN) continue;
      const ending = endingOf[results[row] ?? 0] ?? NOT_CHOSEN;
      if (ending === NOT_CHOSEN) continue;
      const known = this.#sumAt.get(group * endingCount + ending);
      rows[found] = row;
      sums[found] = known === NO_SUM ? this.#addSum(group, ending) : known;
      found += 1;
    }
    if (found === 0) return;
    const chosen = { rows: rows.subarray(0, found), sums: sums.subarray(0, found) };
    for (const column of this.#columns) column.add(measures[column.measure] ?? null, chosen, this.#count);
  }

  /** Adds up the sums, without their periods, by other groups and classes of those that it has. */
  regroup(keys: Partial<FoldKeys>): Fold {
    const { endingCount } = this.keys;
    const endingOf = Int32Array.from({ length: endingCount }, (_, ending) => ending);
    const fold = new Fold(
      { ...this.keys, endingOf, ...keys },
      this.#columns.map(({ name }) => name),
    );
    const measures: MeasureColumn[] = CELL_MEASURES.map(() => null);
    for (const { measure, values } of this.#columns) measures[measure] = values;
    fold.add({ count: this.#count, combinations: this.#groups, results: this.#endings, measures });
    return fold;
  }

  /** The sums; those of nothing are left out. */
  *sums(): Generator<FoldSum> {
    const columns = new Map(this.#columns.map(({ name, values }) => [name, values]));
    const unit: { readonly [column: string]: SumColumn } = Object.fromEntries(
      this.#columns.map((column) => [column.name, column]),
    );
    const bands = BANDS.flatMap((band) => columns.get(band) ?? []);
    const of = (name: string) => columns.get(name) ?? new Float64Array();
    const [requests, priced, unpriced] = [of("requests"), of("priced_requests"), of("unpriced_requests")];
    const [pending, unmetered] = [of("pending_requests"), of("unmetered_requests")];
    const [costHi, costLo] = [of("cost_hi"), of("cost_lo")];
    const reported = of("cost_reported_requests");
    const [reportedHi, reportedLo] = [of("cost_reported_hi"), of("cost_reported_lo")];
    const [durationUs, lastSeenUs] = [of("duration_us"), of("last_seen_us")];
    for (let at = 0; at < this.#count; at += 1) {
      const low = costLo[at] ?? 0;
      const carry = Math.floor(low / COST_SEAM);
      const lowReported = reportedLo[at] ?? 0;
      const carryReported = Math.floor(lowReported / COST_SEAM);
      const count = requests[at] ?? 0;
      const units = toUnitTotals((column) => unit[column]?.toReported(at) ?? null);
      // A settlement changes what is known of a request that was counted before, and is no request more.
      const isSame = !pending[at] && !unmetered[at] && !priced[at] && !unpriced[at] && !reported[at];
      const isNothing = isSame && count === 0 && low === 0 && !costHi[at] && !durationUs[at];
      if (isNothing && UNIT_COLUMNS.every((column) => !units[column])) continue;
      yield {
        period: this.#periods[at] ?? 0,
        group: this.#groups[at] ?? 0,
        ending: this.#endings[at] ?? 0,
        requests: count,
        priced_requests: priced[at] ?? 0,
        unpriced_requests: unpriced[at] ?? 0,
        pending_requests: pending[at] ?? 0,
        unmetered_requests: unmetered[at] ?? 0,
        cost_hi: (costHi[at] ?? 0) + carry,
        cost_lo: low - carry * COST_SEAM,
        cost_reported_requests: reported[at] ?? 0,
        cost_reported_hi: (reportedHi[at] ?? 0) + carryReported,
        cost_reported_lo: lowReported - carryReported * COST_SEAM,
        duration_us: durationUs[at] ?? 0,
        last_seen_us: lastSeenUs[at] ?? 0,
        bands: bands.length === 0 ? NO_BANDS : bands.map((band) => band[at] ?? 0),
        units,
      };
    }
  }

  #addSum(group: number, ending: number): number {
    const at = this.#count;
    if (at === this.#periods.length) {
      this.#periods = grow(this.#periods, new Float64Array(at * 2));
      this.#groups = grow(this.#groups, new Int32Array(at * 2));
      this.#endings = grow(this.#endings, new Int32Array(at * 2));
    }
    this.#periods[at] = this.#period;
    this.#groups[at] = group;
    this.#endings[at] = ending;
    this.#sumAt.set(group * this.keys.endingCount + ending, at);
    this.#count += 1;
    return at;
  }
}

/** Where the sum of each key of the present period stands. */
class SumIndex {
  readonly #dense: Int32Array | null;
  readonly #sparse = new Map<number, number>();
  readonly #set: number[] = [];

  constructor({ groupCount, endingCount }: Pick<FoldKeys, "groupCount" | "endingCount">) {
    const keys = groupCount * endingCount;
    this.#dense = keys > DENSE_KEYS_MAX ? null : new Int32Array(keys).fill(NO_SUM);
  }

  get(key: number): number {
    return (this.#dense === null ? this.#sparse.get(key) : this.#dense[key]) ?? NO_SUM;
  }

  set(key: number, at: number): void {
    if (this.#dense === null) {
      this.#sparse.set(key, at);
      return;
    }
    this.#dense[key] = at;
    this.#set.push(key);
  }

  clear(): void {
    this.#sparse.clear();
    for (const key of this.#set) if (this.#dense !== null) this.#dense[key] = NO_SUM;
    this.#set.length = 0;
  }
}

const SUMS_MIN = 64;
const NO_BANDS: readonly number[] = [];

function grow<Values extends Int32Array | Float64Array>(values: Values, grown: Values): Values {
  grown.set(values);
  return grown;
}

/** The sums of one measure. */
class SumColumn {
  readonly name: string;
  readonly measure: number;
  readonly #adds: Adding;
  readonly #nothing: number;
  values: Float64Array;

  constructor(name: string, { measure, adds }: { readonly measure: number; readonly adds: Adding }) {
    this.name = name;
    this.measure = measure;
    this.#adds = adds;
    this.#nothing = toNothing(adds);
    this.values = new Float64Array(SUMS_MIN).fill(this.#nothing);
  }

  add(column: MeasureColumn, chosen: ChosenRows, count: number): void {
    if (count > this.values.length) {
      const size = Math.max(count, this.values.length * 2);
      this.values = grow(this.values, new Float64Array(size).fill(this.#nothing));
    }
    if (column !== null) ADDITIONS[this.#adds](this.values, column, chosen);
  }

  /** The sum at a place; null for nothing. */
  toReported(at: number): number | null {
    const sum = this.values[at];
    return sum === undefined || sum === this.#nothing ? null : sum;
  }
}
