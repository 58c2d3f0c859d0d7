import { all, dialectOf, one, type Script, run } from "#storage/sql/script.ts";
import {
  type AddedSums,
  addToEncoded,
  type Cells,
  decodeCells,
  encodeCells,
  sumCells,
  withoutEmpty,
} from "./cells.ts";

/**
 * The table `cells`: what is sealed, by period and part. What is sealed of a period and its rows of `open_cell` are everything
 * that was counted in it, at each of the three levels: late rows of a sealed day are in `open_cell` until the next maintenance.
 *
 * An event that waits for its settlement is counted as what is known of it. Its settlement takes that out again, by negative
 * numbers in the row of `open_cell` of its hour, label set and result, and adds what it is now. So a reader leaves out the label
 * sets and results whose requests add up to 0; `last_seen_us` is set back at once (`lowerLastSeen`).
 */
export const CELL_PERIODS = { hour: 0, day: 1, month: 2 } as const;
export type CellPeriod = keyof typeof CELL_PERIODS;

/** Hours, days or months since 1970, the last excluded. */
export interface CellRange {
  readonly first: number;
  readonly end: number;
}

/** Which cells there are; a decoded copy of those with the same revision still holds. */
export interface CellRevision {
  readonly at: number;
  readonly part: number;
  readonly revision: number;
}

export interface StoredCells extends CellRevision {
  /** See `decodeCells`. */
  readonly columns: Uint8Array<ArrayBuffer>;
}

export function readCells(period: CellPeriod, { first, end }: CellRange): Script<readonly StoredCells[]> {
  return all<StoredCells>(
    "SELECT at, part, revision, columns FROM cells WHERE period = ? AND at >= ? AND at < ? ORDER BY at, part",
    [CELL_PERIODS[period], first, end],
  );
}

export interface CellPlace {
  readonly period: CellPeriod;
  readonly at: number;
  readonly part: number;
}

/** The cells of one period and part, which no other transaction changes until the end of this one; null where none are. */
export function* findCells({ period, at, part }: CellPlace): Script<Cells<Float64Array | null> | null> {
  const { forUpdate } = yield* dialectOf();
  const row = yield* one<{ columns: Uint8Array<ArrayBuffer> }>(
    `SELECT columns FROM cells WHERE period = ? AND at = ? AND part = ?${forUpdate}`,
    [CELL_PERIODS[period], at, part],
  );
  return row === null ? null : decodeCells(row.columns);
}

/** Puts cells in the place of what is there. */
export function* saveCells({ period, at, part }: CellPlace, cells: Cells<Float64Array | null>): Script<void> {
  const columns = encodeCells(cells);
  yield* run(
    `INSERT INTO cells (period, at, part, revision, columns) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (period, at, part) DO UPDATE SET revision = excluded.revision, columns = excluded.columns`,
    [CELL_PERIODS[period], at, part, toRevision(columns), columns],
  );
}

/** Cells that were read and changed, to be put in the place of those of that revision. */
export interface ChangedCells extends CellPlace {
  readonly revision: number;
  readonly columns: Uint8Array;
}

/** Cells with sums added to them; null where these have a row that is not among them. */
export function changeCells(
  { revision, columns }: Pick<StoredCells, "revision" | "columns">,
  place: CellPlace,
  added: AddedSums,
): ChangedCells | null {
  const changed = addToEncoded(columns, added);
  return changed === null ? null : { ...place, revision, columns: changed };
}

/** Puts cells in the place of what was read. False when another transaction has changed that. */
export function* replaceCells({ period, at, part, revision, columns }: ChangedCells): Script<boolean> {
  const replaced = yield* run(
    "UPDATE cells SET revision = ?, columns = ? WHERE period = ? AND at = ? AND part = ? AND revision = ?",
    [toRevision(columns), columns, CELL_PERIODS[period], at, part, revision],
  );
  return replaced === 1;
}

/** A hash of the bytes: a number that counts would come once more, with other cells, in a database that was restored. */
function toRevision(columns: Uint8Array): number {
  return Number(Bun.hash.xxHash64(columns) >> REVISION_SHIFT);
}

/** Keeps 53 of 64 bits, which a number holds. */
const REVISION_SHIFT = 11n;

/** Adds to the cells of one period and part. */
export function* mergeCells(place: CellPlace, added: Cells<Float64Array>): Script<void> {
  const stored = yield* findCells(place);
  yield* saveCells(place, withoutEmpty(stored === null ? added : sumCells([stored, added])));
}
