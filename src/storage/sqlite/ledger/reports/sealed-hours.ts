import type { Database } from "bun:sqlite";
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
export function sumSealedHours(
  database: Database,
  { ranges, filter }: { readonly ranges: readonly BucketRange[]; readonly filter: ResolvedFilter },
  { isGrouped, take }: Pick<SumReading, "isGrouped" | "take">,
): SealedSums {
  if (!filter.isByOutcome) return { sums: [], rest: ranges };
  const query = database.query<HourRow, [number, number]>(
    "SELECT hour, cells FROM sealed_hour WHERE hour >= ? AND hour < ? ORDER BY hour",
  );
  const cells = new CellSums(findGroups(database, filter, isGrouped), filter.outcomes);
  const sums: SeriesSum[] = [];
  const rest: BucketRange[] = [];
  for (const { bucket, from, to } of ranges) {
    let restFrom = from;
    for (const row of query.all(Math.ceil(from / HOUR_US), Math.floor(to / HOUR_US))) {
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
export function findGroups(
  database: Database,
  { combinations }: ResolvedFilter,
  isGrouped: boolean,
): Int32Array {
  const rows = database
    .query<{ id: number; group_id: number }, []>(
      isGrouped
        ? "SELECT id, group_id FROM combination_group"
        : `SELECT id, 0 AS group_id FROM ${combinations}`,
    )
    // One by one: there may be millions.
    .iterate();
  const { last } = database
    .query<{ last: number | null }, []>("SELECT max(id) AS last FROM combination")
    .get() ?? { last: null };
  const groups = new Int32Array((last ?? 0) + 1).fill(NOT_CHOSEN);
  for (const row of rows) groups[row.id] = row.group_id;
  return groups;
}
