import type { Binding, Script } from "#storage/sql/script.ts";
import type { CellSum } from "./cell-sums.ts";

/** What one period of a series adds up to. Within one bucket several are added. */
export interface SeriesSum extends CellSum {
  readonly period: number;
  /** Which group of `combination_group`; 0 where there are none. */
  readonly group_id: number;
}

/** `[from, to)` of one bucket: hours for `sumHours`, microseconds for `sumRows`. */
export interface BucketRange {
  readonly bucket: number;
  readonly from: number;
  readonly to: number;
}

/** How sums are read. Grouped ones need `saveGroups` before, in the same transaction. */
export interface SumReading {
  readonly isGrouped: boolean;
  /** From so many combinations without a value on, what they add up to is what is left of all there is. */
  readonly unvaluedMin: number;
  readonly read: (sql: string, bindings: readonly Binding[]) => Script<readonly SeriesSum[]>;
  /** Told of sums that were made in another way. */
  readonly take: (count: number) => void;
}
