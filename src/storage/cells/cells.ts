import { type Adding, BANDS, CELL_MEASURES } from "./measures.ts";
import { packColumn, skipColumn, toPackedBytesMax, unpackColumn } from "./packed-column.ts";
import { COST_SEAM } from "./sums.ts";

/**
 * Label sets whose ids fall into one part share a row of `cells`, so that none grows without limit. Stored: another number
 * would look for what is sealed in other rows.
 */
export const PART_SIZE = 16_384;

/** The values of a measure; of a `Uint32Array` the highest value says that nothing was reported. Null where all add nothing. */
export type MeasureColumn = Uint32Array | Float64Array | null;
export const NOTHING_NARROW = 0xffffffff;
const NOTHING_WIDE = -1;

/** Sums by label set and result, column by column. */
export interface Cells<Column extends MeasureColumn = MeasureColumn> {
  readonly count: number;
  /** Ids of label sets (`combination`). */
  readonly combinations: Int32Array;
  /** Ids of `result`. */
  readonly results: Int32Array;
  /** The first of `CELL_MEASURES`, as many as were asked for, or more. */
  readonly measures: readonly Column[];
}

/** A row of `open_cell`; its measures by their names. */
export type OpenCellRow = { readonly combination: number; readonly result: number } & {
  readonly [measure: string]: number | null;
};

export function toPart(combination: number): number {
  return Math.floor(combination / PART_SIZE);
}

/** Rows in any order as cells; those of one label set and result become one. */
export function toCells(rows: readonly OpenCellRow[]): Cells<Float64Array> {
  return sumCells([toColumns(rows)]);
}

/** Rows column by column, as they are. */
export function toColumns(
  rows: readonly OpenCellRow[],
  measuresMax: number = CELL_MEASURES.length,
): Cells<Float64Array> {
  const measures = CELL_MEASURES.slice(0, measuresMax).map(({ name, adds }) => {
    const [column, nothing] = [new Float64Array(rows.length), toNothing(adds)];
    for (let row = 0; row < rows.length; row += 1) column[row] = rows[row]?.[name] ?? nothing;
    return column;
  });
  const combinations = Int32Array.from(rows, ({ combination }) => combination);
  const results = Int32Array.from(rows, ({ result }) => result);
  return { count: rows.length, combinations, results, measures };
}

/** Above every id of a result, so that the two ids of a row are one number below 2^53. */
const RESULTS_MAX = 2 ** 22;

/** One number for a label set and result, in the order of both. */
export function toCellKey(combination: number, result: number): number {
  return combination * RESULTS_MAX + result;
}

/** Adds up cells. Each label set and result is one row of the sum, in the order of their ids. */
export function sumCells(parts: readonly Cells[]): Cells<Float64Array> {
  const keysOf = parts.map(toKeys);
  const keys = toSortedOnce(keysOf);
  const chosen = keysOf.map((ofPart) => findRows(ofPart, keys));
  const measures = CELL_MEASURES.map(({ adds }, measure) => {
    const sums = new Float64Array(keys.length).fill(toNothing(adds));
    for (const [index, part] of parts.entries()) {
      const [column = null, rows] = [part.measures[measure], chosen[index]];
      if (column !== null && rows !== undefined) ADDITIONS[adds](sums, column, rows);
    }
    return sums;
  });
  carry(measures);
  const [combinations, results] = [new Int32Array(keys.length), new Int32Array(keys.length)];
  for (let row = 0; row < keys.length; row += 1) {
    const key = keys[row] ?? 0;
    combinations[row] = Math.floor(key / RESULTS_MAX);
    results[row] = key % RESULTS_MAX;
  }
  return { count: keys.length, combinations, results, measures };
}

function toKeys({ count, combinations, results }: Cells): Float64Array {
  const keys = new Float64Array(count);
  for (let row = 0; row < count; row += 1) keys[row] = toCellKey(combinations[row] ?? 0, results[row] ?? 0);
  return keys;
}

function toSortedOnce(keysOf: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(keysOf.reduce((count, keys) => count + keys.length, 0));
  let count = 0;
  for (const keys of keysOf) {
    all.set(keys, count);
    count += keys.length;
  }
  all.sort();
  count = 0;
  for (let at = 0; at < all.length; at += 1) {
    const key = all[at] ?? 0;
    if (count > 0 && all[count - 1] === key) continue;
    all[count] = key;
    count += 1;
  }
  return all.subarray(0, count);
}

/** Where each key stands among the sorted ones, which have it. */
function findRows(keys: Float64Array, sorted: Float64Array): ChosenRows {
  const [rows, sums] = [new Int32Array(keys.length), new Int32Array(keys.length)];
  for (let row = 0; row < keys.length; row += 1) {
    const key = keys[row] ?? 0;
    let [low, high] = [0, sorted.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sorted[middle] ?? 0) < key) low = middle + 1;
      else high = middle;
    }
    rows[row] = row;
    sums[row] = low;
  }
  return { rows, sums };
}

/** Rows of a column, and the sum that each is added to. */
export interface ChosenRows {
  readonly rows: Int32Array;
  readonly sums: Int32Array;
}

type Addition = (sums: Float64Array, column: Uint32Array | Float64Array, chosen: ChosenRows) => void;

/** Rows of one sum often follow one another: it stays in a register meanwhile, which takes a third of the time. */
const addSum: Addition = (sums, column, { rows, sums: places }) => {
  for (let at = 0; at < rows.length;) {
    const place = places[at] ?? 0;
    let sum = sums[place] ?? 0;
    for (; at < rows.length && places[at] === place; at += 1) sum += column[rows[at] ?? 0] ?? 0;
    sums[place] = sum;
  }
};

/** A function for each type of column: one that takes both takes three times as long. */
const addReported: Addition = (sums, column, chosen) =>
  column instanceof Uint32Array ? addNarrow(sums, column, chosen) : addWide(sums, column, chosen);

function addNarrow(sums: Float64Array, column: Uint32Array, { rows, sums: places }: ChosenRows): void {
  for (let at = 0; at < rows.length;) {
    const place = places[at] ?? 0;
    let sum = sums[place] ?? NOTHING_WIDE;
    for (; at < rows.length && places[at] === place; at += 1) {
      const value = column[rows[at] ?? 0] ?? NOTHING_NARROW;
      if (value !== NOTHING_NARROW) sum = (sum === NOTHING_WIDE ? 0 : sum) + value;
    }
    sums[place] = sum;
  }
}

function addWide(sums: Float64Array, column: Float64Array, { rows, sums: places }: ChosenRows): void {
  for (let at = 0; at < rows.length;) {
    const place = places[at] ?? 0;
    let sum = sums[place] ?? NOTHING_WIDE;
    for (; at < rows.length && places[at] === place; at += 1) {
      const value = column[rows[at] ?? 0] ?? NOTHING_WIDE;
      if (value !== NOTHING_WIDE) sum = (sum === NOTHING_WIDE ? 0 : sum) + value;
    }
    sums[place] = sum;
  }
}

/**
 * Adds a column to sums, which begin with `toNothing`: a function for each way, since one loop that asks for the way in every
 * row takes three times as long. What exceeds the low half of an amount is carried by the caller.
 */
export const ADDITIONS: { readonly [way in Adding]: Addition } = {
  sum: addSum,
  high: addSum,
  low: addSum,
  counted: addSum,
  reported: addReported,
  last(sums, column, { rows, sums: places }) {
    for (let at = 0; at < rows.length; at += 1) {
      const place = places[at] ?? 0;
      sums[place] = Math.max(sums[place] ?? 0, column[rows[at] ?? 0] ?? 0);
    }
  },
};

/** Returns what stands for nothing in a column. */
export function toNothing(adds: Adding): number {
  return adds === "reported" ? NOTHING_WIDE : 0;
}

function carry(measures: readonly Float64Array[]): void {
  for (const [index, { adds }] of CELL_MEASURES.entries()) {
    const [high, low] = measures.slice(index, index + 2);
    if (adds === "high") carryHalves(high, low);
  }
}

function carryHalves(high: Float64Array | undefined, low: Float64Array | undefined): void {
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
export function withoutEmpty(cells: Cells<Float64Array>): Cells<Float64Array> {
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
  "cost_reported_requests",
  "cost_reported_hi",
  "cost_reported_lo",
];
const COMBINATION = STORED_COLUMNS.indexOf("combination");
const RESULT = STORED_COLUMNS.indexOf("result");
/** By the place of a stored column; -1 for a key, and for what is no longer counted. */
const MEASURE_AT = STORED_COLUMNS.map((column) => CELL_MEASURES.findIndex(({ name }) => name === column));
const BAND_NAMES: readonly string[] = BANDS;
/** Not stored, since each request lies in one band: it is what the others leave of all requests. Half a byte a row is spared. */
const DERIVED_BAND = CELL_MEASURES.findIndex(({ name }) => name === "band_under_5s");
const COUNTED = STORED_COLUMNS.indexOf("priced_by_request");
const COUNT_BYTES = 4;

/**
 * The cells of one period and part as bytes, compressed with Zstandard: the number of rows, then the columns, each behind its
 * place in `STORED_COLUMNS`. Label sets are the differences to the one before. A column with nothing in it is left out.
 */
export function encodeCells(cells: Cells<Float64Array | null>): Uint8Array<ArrayBuffer> {
  const { count, combinations, results, measures } = cells;
  const sizeMax = COUNT_BYTES + STORED_COLUMNS.length * (1 + toPackedBytesMax(count));
  const view = new DataView(new ArrayBuffer(sizeMax));
  view.setUint32(0, count, true);
  let end = COUNT_BYTES;
  const put = (place: number, values: Float64Array) => {
    view.setUint8(end, place);
    end = packColumn(view, end + 1, values);
  };
  const differences = new Float64Array(count);
  for (let row = 0; row < count; row += 1)
    differences[row] = (combinations[row] ?? 0) - (combinations[row - 1] ?? 0);
  put(COMBINATION, differences);
  put(RESULT, Float64Array.from(results));
  for (const [place, index] of MEASURE_AT.entries()) {
    const [values = null, measure] = [measures[index], CELL_MEASURES[index]];
    if (values === null || measure === undefined || index === DERIVED_BAND) continue;
    if (!isFilledWith(values, toNothing(measure.adds))) put(place, values);
  }
  return compress(new Uint8Array(view.buffer, 0, end));
}

/** By index: `every` takes several times as long for the many columns of which nothing was told. */
function isFilledWith(values: Float64Array, nothing: number): boolean {
  for (let row = 0; row < values.length; row += 1) if (values[row] !== nothing) return false;
  return true;
}

/** At the fastest level: packed columns hardly get smaller at higher ones, which take up to three times as long. */
function compress(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Bun.zstdCompressSync(bytes, { level: 1 }));
}

/** Reads cells back; measures behind the first `measuresMax` may be left out, and cost their decompression alone. */
export function decodeCells(
  encoded: Uint8Array<ArrayBuffer>,
  measuresMax: number = CELL_MEASURES.length,
): Cells<Float64Array | null> {
  const bytes = Bun.zstdDecompressSync(encoded);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = view.getUint32(0, true);
  const combinations = new Int32Array(count);
  const results = new Int32Array(count);
  const read = measuresMax > DERIVED_BAND ? CELL_MEASURES : CELL_MEASURES.slice(0, measuresMax);
  const measures = read.map((): Float64Array | null => null);
  for (let at = COUNT_BYTES; at < bytes.length; at = skipColumn(view, at + 1, count)) {
    const place = view.getUint8(at);
    const index = MEASURE_AT[place] ?? -1;
    if (place === COMBINATION) {
      const differences = unpackColumn(view, at + 1, count);
      for (let row = 0; row < count; row += 1)
        combinations[row] = (combinations[row - 1] ?? 0) + (differences[row] ?? 0);
    } else if (place === RESULT) results.set(unpackColumn(view, at + 1, count));
    else if (index in measures) measures[index] = readMeasure(view, at + 1, { place, count });
  }
  if (DERIVED_BAND in measures) measures[DERIVED_BAND] = toDerivedBand(measures);
  return { count, combinations, results, measures };
}

function readMeasure(
  view: DataView,
  begin: number,
  { place, count }: { readonly place: number; readonly count: number },
): Float64Array {
  const values = unpackColumn(view, begin, count);
  // Cells that were sealed when it was "reported" have another number for nothing.
  return place === COUNTED ? values.map((value) => (value === NOTHING_WIDE ? 0 : value)) : values;
}

/** All requests but those of the other bands; null where there is none. */
function toDerivedBand(measures: readonly (Float64Array | null)[]): Float64Array | null {
  const [requests = null] = measures;
  if (requests === null) return null;
  const rest = Float64Array.from(requests);
  for (const [index, column] of measures.entries()) {
    const name = CELL_MEASURES[index]?.name ?? "";
    if (column === null || index === DERIVED_BAND || !BAND_NAMES.includes(name)) continue;
    for (let row = 0; row < rest.length; row += 1) rest[row] = (rest[row] ?? 0) - (column[row] ?? 0);
  }
  return rest;
}

/** Sums to be added to the rows of some measures: some of them, in the order of their keys. */
export interface AddedSums {
  readonly keys: Float64Array;
  /** By places in `STORED_COLUMNS`, of measures for which nothing is zero. */
  readonly columns: ReadonlyMap<number, Float64Array>;
}

/** Adds up rows by label set and result. `members` are the names of their members by those of the measures. */
export function toAddedSums<Member extends string>(
  rows: readonly ({ readonly combination: number; readonly result: number } & {
    readonly [member in Member]: number;
  })[],
  members: Readonly<Record<string, Member>>,
): AddedSums {
  const keyOf = rows.map(({ combination, result }) => toCellKey(combination, result));
  const keys = toSortedOnce([Float64Array.from(keyOf)]);
  const rowOf = new Map<number, number>();
  for (let row = 0; row < keys.length; row += 1) rowOf.set(keys[row] ?? 0, row);
  const columns = new Map<number, Float64Array>();
  for (const [measure, member] of Object.entries(members)) {
    const sums = new Float64Array(keys.length);
    for (const [index, added] of rows.entries()) {
      const row = rowOf.get(keyOf[index] ?? 0) ?? 0;
      sums[row] = (sums[row] ?? 0) + added[member];
    }
    columns.set(STORED_COLUMNS.indexOf(measure), sums);
  }
  return { keys, columns };
}

const [COST_HI, COST_LO] = [STORED_COLUMNS.indexOf("cost_hi"), STORED_COLUMNS.indexOf("cost_lo")];

/**
 * Adds to measures of encoded cells; null where these lack one of the rows. The bytes of all other columns are taken over: to
 * decode, add and encode them as well would take three times as long.
 */
export function addToEncoded(
  encoded: Uint8Array<ArrayBuffer>,
  { keys, columns }: AddedSums,
): Uint8Array<ArrayBuffer> | null {
  const bytes = Bun.zstdDecompressSync(encoded);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = view.getUint32(0, true);
  const found = new Map<number, { readonly begin: number; readonly end: number }>();
  for (let at = COUNT_BYTES; at < bytes.length;) {
    const end = skipColumn(view, at + 1, count);
    found.set(view.getUint8(at), { begin: at + 1, end });
    at = end;
  }
  const read = (place: number) => {
    const column = found.get(place);
    if (column === undefined) return new Float64Array(count);
    return readMeasure(view, column.begin, { place, count });
  };
  const rows = findAddedRows(keys, { differences: read(COMBINATION), results: read(RESULT) });
  if (rows === null) return null;
  const changed = new Map<number, Float64Array>();
  for (const [place, added] of columns) {
    const values = read(place);
    for (let at = 0; at < rows.length; at += 1) {
      const row = rows[at] ?? 0;
      values[row] = (values[row] ?? 0) + (added[at] ?? 0);
    }
    changed.set(place, values);
  }
  carryHalves(changed.get(COST_HI), changed.get(COST_LO));
  const sizeMax = bytes.length + columns.size * (1 + toPackedBytesMax(count));
  const written = new DataView(new ArrayBuffer(sizeMax));
  const target = new Uint8Array(written.buffer);
  written.setUint32(0, count, true);
  let end = COUNT_BYTES;
  for (let place = 0; place < STORED_COLUMNS.length; place += 1) {
    const [values, kept] = [changed.get(place), found.get(place)];
    if (values !== undefined && !isFilledWith(values, 0)) {
      written.setUint8(end, place);
      end = packColumn(written, end + 1, values);
    } else if (values === undefined && kept !== undefined) {
      target.set(bytes.subarray(kept.begin - 1, kept.end), end);
      end += kept.end - kept.begin + 1;
    }
  }
  return compress(target.subarray(0, end));
}

/** The rows that have these keys, both in their order; null where one has none. */
function findAddedRows(
  keys: Float64Array,
  { differences, results }: { readonly differences: Float64Array; readonly results: Float64Array },
): Int32Array | null {
  const rows = new Int32Array(keys.length);
  let [at, combination] = [0, 0];
  for (let row = 0; row < results.length && at < keys.length; row += 1) {
    combination += differences[row] ?? 0;
    if (toCellKey(combination, results[row] ?? 0) !== keys[at]) continue;
    rows[at] = row;
    at += 1;
  }
  return at === keys.length ? rows : null;
}
