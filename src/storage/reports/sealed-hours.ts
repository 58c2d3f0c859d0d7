import { findLastCombination } from "./last-combination.ts";
import { all, each, type Script } from "#storage/sql/script.ts";
import { HOUR_US } from "#kernel/clock.ts";
import { decodeCells } from "#storage/cells/outcome-cells.ts";
import { CellSums, NOT_CHOSEN } from "./cell-sums.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import type { BucketRange, SeriesSum, SumReading } from "./series-sum.ts";

interface HourRow {
  readonly hour: number;
  readonly cells: Uint8Array<ArrayBuffer>;
}

interface SealedSums {
  readonly sums: readonly SeriesSum[];
  /** What is left to be read row by row. */
  readonly rest: readonly BucketRange[];
}

/** Adds up the whole hours in the ranges that are in `sealed_hour`, if they can tell the filter. Grouped ones need `saveGroups` before. */
export function* sumSealedHours(
  { ranges, filter }: { readonly ranges: readonly BucketRange[]; readonly filter: ResolvedFilter },
  { isGrouped, take }: Pick<SumReading, "isGrouped" | "take">,
): Script<SealedSums> {
  if (!filter.isByOutcome) return { sums: [], rest: ranges };
  const cells = new CellSums(yield* findGroups(filter, isGrouped), filter.outcomes);
  const sums: SeriesSum[] = [];
  const rest: BucketRange[] = [];
  const hours = new HourReader(ranges.at(-1)?.to ?? 0);
  for (const { bucket, from, to } of ranges) {
    let restFrom = from;
    for (let hour = Math.ceil(from / HOUR_US); hour < Math.floor(to / HOUR_US); hour += 1) {
      const found = yield* hours.read(hour);
      if (found === null) continue;
      const hourFrom = hour * HOUR_US;
      if (restFrom < hourFrom) rest.push({ bucket, from: restFrom, to: hourFrom });
      cells.add(decodeCells(found));
      restFrom = hourFrom + HOUR_US;
    }
    if (restFrom < to) rest.push({ bucket, from: restFrom, to });
    // Refuses sums that are too many before they are made.
    take(cells.size);
    for (const sum of cells.take()) sums.push(Object.assign(sum, { period: bucket }));
  }
  return { sums, rest };
}

/** Hours that are read at a time: to ask for each by itself takes longer than to read it, where the database is elsewhere. */
const HOURS_PER_READ = 24;

/** Reads sealed hours in their order. */
class HourReader {
  readonly #endHour: number;
  #read = new Map<number, HourRow["cells"]>();
  #readUntil = 0;

  constructor(endUs: number) {
    this.#endHour = Math.floor(endUs / HOUR_US);
  }

  /** Null for one that has no cells. */
  *read(hour: number): Script<HourRow["cells"] | null> {
    if (hour >= this.#readUntil) {
      this.#readUntil = Math.min(hour + HOURS_PER_READ, this.#endHour);
      const rows = yield* all<HourRow>("SELECT hour, cells FROM sealed_hour WHERE hour >= ? AND hour < ?", [
        hour,
        this.#readUntil,
      ]);
      this.#read = new Map(rows.map((row) => [row.hour, row.cells]));
    }
    return this.#read.get(hour) ?? null;
  }
}

/** The group of each combination by its id; 0 for all that are chosen where there are no groups. */
export function* findGroups({ combinations }: ResolvedFilter, isGrouped: boolean): Script<Int32Array> {
  const last = yield* findLastCombination();
  const groups = new Int32Array(last + 1).fill(NOT_CHOSEN);
  yield* each<{ id: number; group_id: number }>(
    isGrouped
      ? "SELECT id, group_id FROM combination_group"
      : `SELECT id, 0 AS group_id FROM ${combinations}`,
    [],
    ({ id, group_id: group }) => {
      groups[id] = group;
    },
  );
  return groups;
}
