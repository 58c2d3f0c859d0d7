import { toUnitTotals, UNIT_COLUMNS, type UnitTotals } from "#kernel/units.ts";
import type { CellColumns } from "#storage/cells/outcome-cells.ts";
import { CELL_MEASURES, CELL_OUTCOMES } from "#storage/cells/outcome-cells.ts";
import { COST_SEAM } from "#storage/cells/sums.ts";

/** What the cells of one group add up to. */
export interface CellSum extends UnitTotals {
  readonly group_id: number;
  readonly requests: number;
  readonly ok: number;
  readonly cancelled: number;
  readonly upstream_error: number;
  readonly priced_requests: number;
  readonly unpriced_requests: number;
  readonly cost_hi: number;
  readonly cost_lo: number;
}

export const NOT_CHOSEN = -1;

type Measure = (typeof CELL_MEASURES)[number];

/**
 * What cells add up to by group, of the outcomes that are chosen (null for all). `groupOf` has the group of each combination
 * by its id, or `NOT_CHOSEN`. Column by column: half a million cells take some tens of milliseconds.
 */
export class CellSums {
  readonly #groupOf: Int32Array;
  /** By the place in `CELL_OUTCOMES`. */
  readonly #isChosen: readonly boolean[];
  /** The groups that something was added to, each in its slot. */
  readonly #groups: number[] = [];
  readonly #slotOf: Int32Array;
  /** Requests by slot, for each of `CELL_OUTCOMES`. */
  readonly #requests = CELL_OUTCOMES.map(() => new Column(0));
  /** By slot, for each of `CELL_MEASURES`; -1 where nothing was reported. */
  readonly #sums = new Map(CELL_MEASURES.map((measure) => [measure, new Column(NOT_REPORTED)]));

  constructor(groupOf: Int32Array, outcomes: readonly string[] | null) {
    this.#groupOf = groupOf;
    this.#isChosen = CELL_OUTCOMES.map((outcome) => outcomes === null || outcomes.includes(outcome));
    const last = groupOf.reduce((most, group) => Math.max(most, group), 0);
    this.#slotOf = new Int32Array(last + 1).fill(NOT_CHOSEN);
  }

  /** Groups that something was added to. */
  get size(): number {
    return this.#groups.length;
  }

  add({ count, combinations, outcomes, measures }: CellColumns): void {
    const slots = new Int32Array(count);
    for (let cell = 0; cell < count; cell += 1) {
      const group = this.#groupOf[combinations[cell] ?? 0] ?? NOT_CHOSEN;
      const outcome = outcomes[cell] ?? 0;
      if (group === NOT_CHOSEN || this.#isChosen[outcome] !== true) {
        slots[cell] = NOT_CHOSEN;
        continue;
      }
      let slot = this.#slotOf[group] ?? NOT_CHOSEN;
      if (slot === NOT_CHOSEN) {
        slot = this.#groups.length;
        this.#slotOf[group] = slot;
        this.#groups.push(group);
      }
      slots[cell] = slot;
    }
    const size = this.#groups.length;
    for (const [index, values] of measures.entries()) {
      const measure = CELL_MEASURES[index];
      if (measure !== undefined) this.#sums.get(measure)?.add(slots, values, size);
    }
    this.#addByOutcome(slots, outcomes, measures[0] ?? outcomes);
  }

  /** The sums of every group, which are forgotten. */
  *take(): Generator<CellSum> {
    const size = this.#groups.length;
    const toSums = (column: Column | undefined) => column?.toSums(size) ?? new Float64Array();
    const of = (measure: Measure) => toSums(this.#sums.get(measure));
    const requests = of("requests");
    const [ok, cancelled, upstreamError] = [0, 1, 2].map((place) => toSums(this.#requests[place]));
    const [priced, unpriced, costHi, costLo] = [
      of("priced_requests"),
      of("unpriced_requests"),
      of("cost_hi"),
      of("cost_lo"),
    ];
    const units = new Map(UNIT_COLUMNS.map((column) => [column, of(column)]));
    for (const [slot, group] of this.#groups.entries()) {
      const low = costLo[slot] ?? 0;
      const carry = Math.floor(low / COST_SEAM);
      yield {
        group_id: group,
        requests: requests[slot] ?? 0,
        ok: ok?.[slot] ?? 0,
        cancelled: cancelled?.[slot] ?? 0,
        upstream_error: upstreamError?.[slot] ?? 0,
        priced_requests: priced[slot] ?? 0,
        unpriced_requests: unpriced[slot] ?? 0,
        cost_hi: (costHi[slot] ?? 0) + carry,
        cost_lo: low - carry * COST_SEAM,
        ...toUnitTotals((column) => toReported(units.get(column)?.[slot])),
      };
      this.#slotOf[group] = NOT_CHOSEN;
    }
    this.#groups.length = 0;
    for (const column of [...this.#requests, ...this.#sums.values()]) column.clear();
  }

  #addByOutcome(slots: Int32Array, outcomes: Float64Array, requests: Float64Array): void {
    const columns = this.#requests.map((column) => column.toSums(this.#groups.length));
    for (let cell = 0; cell < slots.length; cell += 1) {
      const slot = slots[cell] ?? NOT_CHOSEN;
      if (slot === NOT_CHOSEN) continue;
      const column = columns[outcomes[cell] ?? 0];
      if (column !== undefined) column[slot] = (column[slot] ?? 0) + (requests[cell] ?? 0);
    }
  }
}

const NOT_REPORTED = -1;

function toReported(sum = NOT_REPORTED): number | null {
  return sum === NOT_REPORTED ? null : sum;
}

const SLOTS_MIN = 64;

/** A sum for each slot; `empty` where nothing was added. */
class Column {
  readonly #empty: number;
  #sums: Float64Array;

  constructor(empty: number) {
    this.#empty = empty;
    this.#sums = new Float64Array(SLOTS_MIN).fill(empty);
  }

  /** The sums themselves, of at least so many slots. */
  toSums(size: number): Float64Array {
    if (size > this.#sums.length) {
      const grown = new Float64Array(size * 2).fill(this.#empty);
      grown.set(this.#sums);
      this.#sums = grown;
    }
    return this.#sums;
  }

  add(slots: Int32Array, values: Float64Array, size: number): void {
    const sums = this.toSums(size);
    for (let cell = 0; cell < slots.length; cell += 1) {
      const slot = slots[cell] ?? NOT_CHOSEN;
      const value = values[cell] ?? NOT_REPORTED;
      if (slot === NOT_CHOSEN || value === NOT_REPORTED) continue;
      const sum = sums[slot] ?? NOT_REPORTED;
      sums[slot] = sum === NOT_REPORTED ? value : sum + value;
    }
  }

  clear(): void {
    this.#sums.fill(this.#empty);
  }
}
