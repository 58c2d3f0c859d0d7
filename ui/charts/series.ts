import { sum } from "d3-array";

/** One layer of a stacked chart. `values` of every bucket stand in the order of the series. */
export interface Series {
  readonly id: string;
  readonly label: string;
  /** `other` is the sum of what has no layer of its own; an `outcome` has its id as its color and a texture. */
  readonly kind?: "other" | "outcome" | undefined;
  /** Which of the eight series colors, from 0, so that it stays when the order changes; the place in the list when absent. */
  readonly slot?: number | undefined;
}

/** What a series of buckets says at one of them. Null is no number (nothing happened, or it is unpriced), never 0. */
export interface Bar {
  /** UTC, as the server spells it. */
  readonly start: string;
  readonly values: readonly (number | null)[];
  /** Requests without a price. */
  readonly unpriced?: number | undefined;
}

export interface StackedSeries {
  readonly series: readonly Series[];
  readonly buckets: readonly Bar[];
}

/** A value of one group at one bucket. */
export interface GroupedRow {
  readonly start: string;
  readonly value: number | null;
}

/** Series that the eight colors can tell apart; the rest is one more. */
export const TOP_SERIES_MAX = 8;
/** No name of the product begins with a space: the rest can never be taken for one. */
export const OTHER_ID = " other";

/** A remainder below this share of the total is what floating-point subtraction leaves, and is nothing. */
const REST_SHARE_MIN = 1e-9;

/**
 * Layers from a series of all (`totals`) and one of each of the largest parts, as the reports answer them: what the parts
 * leave of the total is "other", when there is any. Parts are matched to the buckets of `totals` by their start.
 */
export function toSeriesWithRest(
  totals: readonly GroupedRow[],
  parts: readonly { readonly series: Series; readonly rows: readonly GroupedRow[] }[],
): StackedSeries {
  const byStart = parts.map(({ rows }) => new Map(rows.map((row) => [row.start, row.value])));
  const buckets = totals.map(({ start, value }) => {
    const values = byStart.map((known) => known.get(start) ?? null);
    return { start, values, rest: toRest(value, values) };
  });
  const hasRest = buckets.some(({ rest }) => rest !== null);
  const series = parts.map((part) => part.series);
  if (!hasRest) return { series, buckets: buckets.map(({ start, values }) => ({ start, values })) };
  return {
    series: [...series, { id: OTHER_ID, label: "other", kind: "other" }],
    buckets: buckets.map(({ start, values, rest }) => ({ start, values: [...values, rest] })),
  };
}

/** The sum of the numbers, null when there is none. */
export function addUp(values: readonly (number | null)[]): number | null {
  return values.every((value) => value === null) ? null : sum(values);
}

function toRest(total: number | null, parts: readonly (number | null)[]): number | null {
  if (total === null) return null;
  const rest = total - sum(parts);
  return rest > total * REST_SHARE_MIN ? rest : null;
}
