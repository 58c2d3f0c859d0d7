import type { UnitTotals } from "#kernel/units.ts";

/** What one period of a series adds up to. Within one bucket several are added. */
export interface SeriesSum extends UnitTotals {
  readonly period: number;
  /** Which group of `combination_group`; 0 where there are none. */
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

/** `[from, to)` of one bucket: hours for `sumHours`, microseconds for `sumRows`. */
export interface BucketRange {
  readonly bucket: number;
  readonly from: number;
  readonly to: number;
}

/** How sums are read. Grouped ones need `saveGroups` before, in the same transaction. */
export interface SumReading {
  readonly isGrouped: boolean;
  readonly read: (sql: string, bindings: readonly (string | number)[]) => readonly SeriesSum[];
  /** Told of sums that were made in another way. */
  readonly take: (count: number) => void;
}
