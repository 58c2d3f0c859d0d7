import { UNIT_COLUMNS } from "#kernel/units.ts";
import type { Outcome } from "#usage/event.ts";
import type { StoredMeasures } from "./sums.ts";

/** More rows than this in one hour are not summed, since that would keep batches waiting; reports read them one by one. */
export const HOUR_ROWS_MAX = 50_000;
/** A month with more cells is not summed, since to write them down would keep batches waiting. */
export const MONTH_CELLS_MAX = 50_000;

/** What one combination used in an hour or a month, of the requests with one outcome. */
export interface Cell extends StoredMeasures {
  readonly combination: number;
  readonly outcome: Outcome;
}

/** The cells of a period, column by column. */
export interface CellColumns {
  readonly count: number;
  readonly combinations: Float64Array;
  /** Places in `CELL_OUTCOMES`. */
  readonly outcomes: Float64Array;
  /** The first of `CELL_MEASURES`; -1 where nothing reported a unit. */
  readonly measures: readonly Float64Array[];
}

/** Their places are stored: one that is new goes to the end. */
export const CELL_OUTCOMES: readonly Outcome[] = ["ok", "cancelled", "upstream_error", "unreachable"];

export const CELL_MEASURES = [
  "requests",
  "priced_requests",
  "unpriced_requests",
  "cost_hi",
  "cost_lo",
  ...UNIT_COLUMNS,
] as const;

/** Most prices are round, and with them costs: their common zeros are left out. */
const TENS_MAX = 9;
/** Marks a column of doubles, for quantities that are no whole numbers. */
const DOUBLES = 255;
const DOUBLE_BYTES = 8;

/** The last of the first measures that a cell has: units behind them are left out, and read back as not reported. */
const LAST_USUAL = CELL_MEASURES.indexOf("audio_us");

/**
 * The cells of one period as bytes: the count, then each column with the power of ten that divides all of it, and its values
 * as variable-length integers (LEB128) that begin with the lowest seven bits; compressed with Zstandard. Combinations are
 * the differences to the one before, so that cells sorted by combination are smallest.
 */
export function encodeCells(cells: readonly Cell[]): Uint8Array<ArrayBuffer> {
  const bytes: number[] = [];
  pushInteger(bytes, cells.length);
  pushColumn(
    bytes,
    cells.map(({ combination }, index) => combination - (cells[index - 1]?.combination ?? 0)),
  );
  pushColumn(
    bytes,
    cells.map(({ outcome }) => CELL_OUTCOMES.indexOf(outcome)),
  );
  const last = CELL_MEASURES.findLastIndex((measure) => cells.some((cell) => cell[measure] !== null));
  for (const measure of CELL_MEASURES.slice(0, Math.max(last, LAST_USUAL) + 1)) {
    pushColumn(
      bytes,
      cells.map((cell) => cell[measure]),
    );
  }
  return new Uint8Array(Bun.zstdCompressSync(Uint8Array.from(bytes)));
}

/** Reads cells back; `measuresMax` leaves out the measures behind so many. */
export function decodeCells(
  encoded: Uint8Array<ArrayBuffer>,
  measuresMax: number = CELL_MEASURES.length,
): CellColumns {
  const reader = new ColumnReader(Bun.zstdDecompressSync(encoded));
  const count = reader.readInteger();
  const combinations = reader.readColumn(count);
  let combination = 0;
  for (let index = 0; index < count; index += 1) {
    combination += combinations[index] ?? 0;
    combinations[index] = combination;
  }
  const outcomes = reader.readColumn(count);
  return {
    count,
    combinations,
    outcomes,
    measures: CELL_MEASURES.slice(0, measuresMax).map(() => reader.readColumn(count)),
  };
}

function pushColumn(bytes: number[], values: readonly (number | null)[]): void {
  const reported = values.filter((value) => value !== null);
  if (reported.some((value) => !Number.isSafeInteger(value) || value < 0)) {
    bytes.push(DOUBLES);
    const doubles = Float64Array.from(values, (value) => value ?? -1);
    for (const byte of new Uint8Array(doubles.buffer)) bytes.push(byte);
    return;
  }
  const tens = findTens(reported);
  bytes.push(tens);
  // Zero is "not reported".
  for (const value of values) pushInteger(bytes, value === null ? 0 : value / 10 ** tens + 1);
}

function findTens(values: readonly number[]): number {
  let tens = 0;
  while (tens < TENS_MAX && values.every((value) => value % 10 ** (tens + 1) === 0)) tens += 1;
  return tens;
}

function pushInteger(bytes: number[], value: number): void {
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) + 0x80);
  bytes.push(rest);
}

class ColumnReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  readInteger(): number {
    const integer = new Float64Array(1);
    this.#readIntegers(integer);
    return integer[0] ?? 0;
  }

  /** Behind the last column nothing was reported. */
  readColumn(count: number): Float64Array {
    if (this.#at >= this.#bytes.length) return new Float64Array(count).fill(-1);
    const tens = this.#bytes[this.#at] ?? 0;
    this.#at += 1;
    if (tens === DOUBLES) {
      const begin = this.#at;
      this.#at += count * DOUBLE_BYTES;
      return new Float64Array(new Uint8Array(this.#bytes.subarray(begin, this.#at)).buffer);
    }
    const values = new Float64Array(count);
    this.#readIntegers(values);
    const scale = 10 ** tens;
    for (let index = 0; index < count; index += 1) {
      const value = values[index] ?? 0;
      values[index] = value === 0 ? -1 : (value - 1) * scale;
    }
    return values;
  }

  #readIntegers(values: Float64Array): void {
    const bytes = this.#bytes;
    let at = this.#at;
    for (let index = 0; index < values.length; index += 1) {
      let byte = bytes[at] ?? 0;
      at += 1;
      let value = byte & 0x7f;
      for (let scale = 0x80; byte >= 0x80; scale *= 0x80) {
        byte = bytes[at] ?? 0;
        at += 1;
        value += (byte & 0x7f) * scale;
      }
      values[index] = value;
    }
    this.#at = at;
  }
}
