import {
  type Cells,
  decodeCells,
  type MeasureColumn,
  NOTHING_NARROW,
  toNothing,
} from "#storage/cells/cells.ts";
import { CELL_MEASURES } from "#storage/cells/measures.ts";
import {
  CELL_PERIODS,
  type CellPeriod,
  type CellRange,
  type CellRevision,
  readCells,
} from "#storage/cells/stored-cells.ts";
import { all, type Connection, connection, type Script } from "#storage/sql/script.ts";
import { type FoundLabelSets, LabelSets } from "./label-sets.ts";

/** The memory of a reader from report to report, filled when reports are read. */
interface ReportMemory {
  readonly labelSets: LabelSets;
  readonly cells: DecodedCells;
}

/** By connection. Label sets are those of its ledger; cells are found by a hash of their bytes. */
const memories = new WeakMap<Connection, ReportMemory>();

export function* memoryOf(): Script<ReportMemory> {
  const of = yield* connection();
  let memory = memories.get(of);
  if (memory === undefined)
    memories.set(of, (memory = { labelSets: new LabelSets(), cells: new DecodedCells() }));
  return memory;
}

/** The label sets of the ledger, the first of which the reader keeps. */
export function* readLabelSets(): Script<FoundLabelSets> {
  const { labelSets } = yield* memoryOf();
  return yield* labelSets.find();
}

/** The bytes that decoded cells may take in the memory of a reader: a year of days of ten million requests takes 90 MiB of it. */
const DECODED_BYTES_MAX = 128 * 2 ** 20;
/** Periods whose cells are read at a time: those of a year would be many megabytes. */
const PERIODS_PER_READ = 24;

interface Kept {
  readonly revision: number;
  readonly cells: Cells;
  readonly sizeBytes: number;
}

interface CellsWanted extends CellRange {
  readonly period: CellPeriod;
  readonly measuresMax: number;
  /** Tells whether a part has a label set that is asked for: no other part is read. */
  readonly isWanted: (part: number) => boolean;
}

/** Decoded cells that stay in memory, the least recently used of which go first. */
export class DecodedCells {
  readonly #kept = new Map<string, Kept>();
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax = DECODED_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** Hands over the cells of periods in their order; ends early once `onCells` says that it has enough. */
  *read(
    { period, first, end, measuresMax, isWanted }: CellsWanted,
    onCells: (at: number, cells: Cells) => boolean | void,
  ): Script<void> {
    const listed = (yield* listRevisions(period, { first, end })).filter(({ part }) => isWanted(part));
    let read = new Map<string, Cells>();
    let readUntil = first;
    for (const { at, part, revision } of listed) {
      const name = `${period} ${at} ${part}`;
      const kept = this.#find(name, revision, measuresMax);
      if (kept === null && at >= readUntil) {
        readUntil = Math.min(at + PERIODS_PER_READ, end);
        read = new Map();
        for (const row of yield* readCells(period, { first: at, end: readUntil })) {
          if (!isWanted(row.part)) continue;
          const cells = toNarrow(decodeCells(row.columns, measuresMax));
          read.set(`${period} ${row.at} ${row.part}`, cells);
          this.#keep(`${period} ${row.at} ${row.part}`, row.revision, cells);
        }
      }
      const cells = kept ?? read.get(name);
      if (cells !== undefined && onCells(at, cells) === true) return;
    }
  }

  #find(name: string, revision: number, measuresMax: number): Cells | null {
    const kept = this.#kept.get(name);
    if (kept === undefined || kept.revision !== revision || kept.cells.measures.length < measuresMax)
      return null;
    this.#kept.delete(name);
    this.#kept.set(name, kept);
    return kept.cells;
  }

  #keep(name: string, revision: number, cells: Cells): void {
    const columns = [cells.combinations, cells.results, ...cells.measures];
    const sizeBytes = columns.reduce((sum, column) => sum + (column?.byteLength ?? 0), 0);
    this.#bytes += sizeBytes - (this.#kept.get(name)?.sizeBytes ?? 0);
    this.#kept.delete(name);
    this.#kept.set(name, { revision, cells, sizeBytes });
    for (const [oldest, { sizeBytes: freed }] of this.#kept) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#kept.delete(oldest);
      this.#bytes -= freed;
    }
  }
}

function listRevisions(period: CellPeriod, { first, end }: CellRange): Script<readonly CellRevision[]> {
  return all<CellRevision>(
    "SELECT at, part, revision FROM cells WHERE period = ? AND at >= ? AND at < ? ORDER BY at, part",
    [CELL_PERIODS[period], first, end],
  );
}

/** Half the memory, and columns that add nothing are passed over. */
function toNarrow(cells: Cells<Float64Array | null>): Cells {
  const measures = cells.measures.map((values, index) =>
    values === null ? null : toColumn(values, toNothing(CELL_MEASURES[index]?.adds ?? "sum")),
  );
  return { ...cells, measures };
}

function toColumn(values: Float64Array, nothing: number): MeasureColumn {
  for (const value of values) {
    // Not every value is a whole number from 0 to 2^32 - 2; "not reported" is the number behind.
    if (value !== (value >>> 0) % NOTHING_NARROW && value !== nothing) return values;
  }
  return Uint32Array.from(values);
}
