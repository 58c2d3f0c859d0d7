import { findLastCombination } from "./last-combination.ts";
import { all, each, type Reading } from "#storage/ledger/queries/reading.ts";
import { HOUR_US } from "#kernel/clock.ts";
import { decodeCells } from "#storage/ledger/rows/cells.ts";
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
): Reading<SealedSums> {
  if (!filter.isByOutcome) return { sums: [], rest: ranges };
  const sql = "SELECT hour, cells FROM sealed_hour WHERE hour >= ? AND hour < ? ORDER BY hour";
  const cells = new CellSums(yield* findGroups(filter, isGrouped), filter.outcomes);
  const sums: SeriesSum[] = [];
  const rest: BucketRange[] = [];
  for (const { bucket, from, to } of ranges) {
    let restFrom = from;
    const hours = [Math.ceil(from / HOUR_US), Math.floor(to / HOUR_US)];
    for (const row of yield* all<HourRow>(sql, hours)) {
      const hourFrom = row.hour * HOUR_US;
      if (restFrom < hourFrom) rest.push({ bucket, from: restFrom, to: hourFrom });
      cells.add(decodeCells(row.cells));
      restFrom = hourFrom + HOUR_US;
    }
    if (restFrom < to) rest.push({ bucket, from: restFrom, to });
    // Before they are made.
    take(cells.size);
    for (const sum of cells.take()) sums.push({ ...sum, period: bucket });
  }
  return { sums, rest };
}

/** The group of each combination by its id; 0 for all that are chosen where there are no groups. */
export function* findGroups({ combinations }: ResolvedFilter, isGrouped: boolean): Reading<Int32Array> {
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
