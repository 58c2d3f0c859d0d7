import { max, range } from "d3-array";
import { scaleSqrt, scaleThreshold } from "d3-scale";

/** Values cut into a few classes, so that each can be one path of one shade. */
export interface ClassScale {
  readonly count: number;
  /** Where the second class begins, the third, and so on; ascending. */
  readonly thresholds: readonly number[];
  /** From 0 for the smallest values; null for 0 and for what is no number, which have no shade. */
  readonly toClass: (value: number | null) => number | null;
  readonly max: number;
}

export const CLASSES_MAX = 8;

/**
 * Classes that are narrow for small values and wide for large ones (a square root): a few large values would else leave
 * all others in the lightest shade.
 */
export function toClassScale(values: Iterable<number | null>, count: number = CLASSES_MAX): ClassScale {
  const highest = max(values, (value) => (value !== null && Number.isFinite(value) ? value : 0)) ?? 0;
  const place = scaleSqrt([0, highest], [0, count]);
  const thresholds = highest > 0 ? range(1, count).map((step) => place.invert(step)) : [];
  const classes = scaleThreshold(thresholds, range(thresholds.length + 1));
  return {
    count: thresholds.length + 1,
    thresholds,
    toClass: (value) => (value === null || !(value > 0) ? null : classes(value)),
    max: highest,
  };
}

/** How strongly the colour of a class covers the surface, from 0 to 1. */
export function toShade(place: number, count: number, { from, to }: { from: number; to: number }): number {
  return count <= 1 ? to : from + ((to - from) * place) / (count - 1);
}
