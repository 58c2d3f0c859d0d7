import { type Adding, CELL_MEASURES } from "./measures.ts";
import { packColumn, skipColumn, toPackedBytesMax, unpackColumn } from "./packed-column.ts";
import { COST_SEAM } from "./sums.ts";

/**
 * Label sets whose ids fall into one part share a row of `cells`, so that none grows without limit. Stored: another number
 * would look for what is sealed in other rows.
 */
export const PART_SIZE = 16_384;

/** What is sealed of a period, of the label sets of one part: rows by (label set, result), column by column. */
export interface CellColumns {
  readonly count: number;
  /** Ids of label sets (`combination`), ascending. */
  readonly combinations: Int32Array;
  /** Ids of `result`, ascending within a label set. */
  readonly results: Int32Array;
  /** The first of `CELL_MEASURES`, as many as were asked for; -1 where nothing reported a unit. */
  readonly measures: readonly Float64Array[];
}

/** A row of `open_cell`; its measures by their names. */
export type OpenCellRow = { readonly combination: number; readonly result: number } & {
  readonly [measure: string]: number | null;
};

export function toPart(combination: number): number {
  return Math.floor(combination / PART_SIZE);
}

/** Rows in any order as cells; those of one label set and result become one. */
export function toCells(rows: readonly OpenCellRow[]): CellColumns {
  const sorted = rows.toSorted(
    (one, other) => one.combination - other.combination || one.result - other.result,
  );
  const targets = new Int32Array(sorted.length);
  const keys = new Keys(sorted.length);
  for (const [index, { combination, result }] of sorted.entries())
    targets[index] = keys.add(combination, result);
  const columns = CELL_MEASURES.map(({ name }) => Float64Array.from(sorted, (row) => row[name] ?? -1));
  return sumUp(keys, [{ targets, columns }]);
}

/** Adds up the cells of two. */
export function addCells(one: CellColumns, other: CellColumns): CellColumns {
  const keys = new Keys(one.count + other.count);
  const targets = [new Int32Array(one.count), new Int32Array(other.count)] as const;
  for (let [first, second] = [0, 0]; first < one.count || second < other.count;) {
    const order =
      (one.combinations[first] ?? Number.MAX_VALUE) - (other.combinations[second] ?? Number.MAX_VALUE) ||
      (one.results[first] ?? 0) - (other.results[second] ?? 0);
    const { combinations, results } = order <= 0 ? one : other;
    const at = order <= 0 ? first : second;
    const row = keys.add(combinations[at] ?? 0, results[at] ?? 0);
    if (order <= 0) targets[0][first++] = row;
    if (order >= 0) targets[1][second++] = row;
  }
  return sumUp(keys, [
    { targets: targets[0], columns: one.measures },
    { targets: targets[1], columns: other.measures },
  ]);
}

/** Label sets and results in their order, each once. */
class Keys {
  readonly combinations: Int32Array;
  readonly results: Int32Array;
  count = 0;

  constructor(countMax: number) {
    this.combinations = new Int32Array(countMax);
    this.results = new Int32Array(countMax);
  }

  /** Returns the row of a key that is not before the last one. */
  add(combination: number, result: number): number {
    const last = this.count - 1;
    if (this.combinations[last] === combination && this.results[last] === result) return last;
    this.combinations[this.count] = combination;
    this.results[this.count] = result;
    this.count += 1;
    return this.count - 1;
  }
}

interface Summands {
  /** For each row of the columns, that of the sum. */
  readonly targets: Int32Array;
  readonly columns: readonly Float64Array[];
}

function sumUp({ count, combinations, results }: Keys, parts: readonly Summands[]): CellColumns {
  const measures = CELL_MEASURES.map(({ adds }, index) => {
    const sums = new Float64Array(count).fill(toNothing(index));
    for (const { targets, columns } of parts) {
      const values = columns[index];
      if (values !== undefined) ADDITIONS[adds](sums, values, targets);
    }
    return sums;
  });
  carry(measures);
  return { count, combinations: combinations.slice(0, count), results: results.slice(0, count), measures };
}

type Addition = (sums: Float64Array, values: Float64Array, targets: Int32Array) => void;

const addSum: Addition = (sums, values, targets) => {
  for (let at = 0; at < values.length; at += 1) {
    const row = targets[at] ?? 0;
    sums[row] = (sums[row] ?? 0) + (values[at] ?? 0);
  }
};

/** A function each: one loop that asks for the way in every row takes three times as long. */
const ADDITIONS: { readonly [way in Adding]: Addition } = {
  sum: addSum,
  high: addSum,
  low: addSum,
  reported(sums, values, targets) {
    for (let at = 0; at < values.length; at += 1) {
      const row = targets[at] ?? 0;
      const [sum, value] = [sums[row] ?? -1, values[at] ?? -1];
      if (value !== -1) sums[row] = sum === -1 ? value : sum + value;
    }
  },
  last(sums, values, targets) {
    for (let at = 0; at < values.length; at += 1) {
      const row = targets[at] ?? 0;
      sums[row] = Math.max(sums[row] ?? 0, values[at] ?? 0);
    }
  },
};

const HIGH = CELL_MEASURES.findIndex(({ adds }) => adds === "high");
const LOW = CELL_MEASURES.findIndex(({ adds }) => adds === "low");

function carry(measures: readonly Float64Array[]): void {
  const [high, low] = [measures[HIGH], measures[LOW]];
  if (high === undefined || low === undefined) return;
  for (let row = 0; row < low.length; row += 1) {
    const carried = Math.floor((low[row] ?? 0) / COST_SEAM);
    high[row] = (high[row] ?? 0) + carried;
    low[row] = (low[row] ?? 0) - carried * COST_SEAM;
  }
}

/**
 * Leaves out rows whose requests were all taken out again: of whole sums only, since a part of one may have as many requests
 * taken out as added, and other durations.
 */
export function withoutEmpty(cells: CellColumns): CellColumns {
  const [requests] = cells.measures;
  if (requests === undefined || !requests.includes(0)) return cells;
  const isKept = (_: number, row: number) => requests[row] !== 0;
  const combinations = cells.combinations.filter(isKept);
  return {
    count: combinations.length,
    combinations,
    results: cells.results.filter(isKept),
    measures: cells.measures.map((column) => column.filter(isKept)),
  };
}

/** The columns by their places in the stored bytes: one that is new goes to the end. */
const STORED_COLUMNS: readonly string[] = [
  "combination",
  "result",
  "requests",
  "priced_requests",
  "unpriced_requests",
  "cost_hi",
  "cost_lo",
  "input_tokens",
  "output_tokens",
  "cached_input_tokens",
  "audio_us",
  "images",
  "search_units",
  "web_searches",
  "priced_by_request",
  "duration_us",
  "last_seen_us",
  "band_under_1s",
  "band_under_5s",
  "band_under_15s",
  "band_under_30s",
  "band_under_60s",
  "band_under_120s",
  "band_over_120s",
  "pending_requests",
  "unmetered_requests",
];
const COMBINATION = STORED_COLUMNS.indexOf("combination");
const RESULT = STORED_COLUMNS.indexOf("result");
/** By the place of a stored column; -1 for a key, and for what is no longer counted. */
const MEASURE_AT = STORED_COLUMNS.map((column) => CELL_MEASURES.findIndex(({ name }) => name === column));
const COUNT_BYTES = 4;

/**
 * The cells of one period and part as bytes, compressed with Zstandard: the number of rows, then the columns, each behind its
 * place in `STORED_COLUMNS`. Label sets are the differences to the one before. A column with nothing in it is left out.
 */
export function encodeCells({
  count,
  combinations,
  results,
  measures,
}: CellColumns): Uint8Array<ArrayBuffer> {
  const sizeMax = COUNT_BYTES + STORED_COLUMNS.length * (1 + toPackedBytesMax(count));
  const view = new DataView(new ArrayBuffer(sizeMax));
  view.setUint32(0, count, true);
  let end = COUNT_BYTES;
  const put = (place: number, values: Float64Array) => {
    view.setUint8(end, place);
    end = packColumn(view, end + 1, values);
  };
  put(
    COMBINATION,
    Float64Array.from(combinations, (id, row) => id - (combinations[row - 1] ?? 0)),
  );
  put(RESULT, Float64Array.from(results));
  for (const [place, index] of MEASURE_AT.entries()) {
    const values = measures[index];
    const nothing = toNothing(index);
    if (values?.some((value) => value !== nothing) === true) put(place, values);
  }
  return new Uint8Array(Bun.zstdCompressSync(new Uint8Array(view.buffer, 0, end)));
}

/** Reads cells back; measures behind the first `measuresMax` are left out, and cost their decompression alone. */
export function decodeCells(
  encoded: Uint8Array<ArrayBuffer>,
  measuresMax: number = CELL_MEASURES.length,
): CellColumns {
  const bytes = Bun.zstdDecompressSync(encoded);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = view.getUint32(0, true);
  const combinations = new Int32Array(count);
  const results = new Int32Array(count);
  const measures = CELL_MEASURES.slice(0, measuresMax).map((): Float64Array | null => null);
  for (let at = COUNT_BYTES; at < bytes.length; at = skipColumn(view, at + 1, count)) {
    const place = view.getUint8(at);
    const index = MEASURE_AT[place] ?? -1;
    if (place === COMBINATION) {
      const differences = unpackColumn(view, at + 1, count);
      for (let row = 0; row < count; row += 1)
        combinations[row] = (combinations[row - 1] ?? 0) + (differences[row] ?? 0);
    } else if (place === RESULT) results.set(unpackColumn(view, at + 1, count));
    else if (index in measures) measures[index] = unpackColumn(view, at + 1, count);
  }
  return {
    count,
    combinations,
    results,
    measures: measures.map((values, index) => values ?? new Float64Array(count).fill(toNothing(index))),
  };
}

/** What stands for nothing in a column. */
function toNothing(measure: number): number {
  return CELL_MEASURES[measure]?.adds === "reported" ? -1 : 0;
}
