import { group, max, range } from "d3-array";
import { scaleSqrt, scaleThreshold } from "d3-scale";
import { type ReactNode, useId } from "react";
import type { Box } from "./chart.tsx";
import { Swatch, UNPRICED_PAINT } from "./paint.tsx";

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

/** From the lightest shade to the darkest. */
export interface Shades {
  readonly color: string;
  readonly from: number;
  readonly to: number;
}

/** Opacity of a class's color, from 0 to 1. */
export function toShade(place: number, count: number, { from, to }: Pick<Shades, "from" | "to">): number {
  return count <= 1 ? to : from + ((to - from) * place) / (count - 1);
}

export interface Fill {
  readonly fill: string;
  readonly fillOpacity?: number;
}

/** The fill of a class. */
export function toShadeFill(place: number, { count }: ClassScale, shades: Shades): Fill {
  return { fill: shades.color, fillOpacity: toShade(place, count, shades) };
}

interface CellsProps<Class extends number | string | null> {
  readonly count: number;
  readonly toClass: (cell: number) => Class;
  readonly toBox: (cell: number) => Box;
  readonly toFill: (cellClass: Class) => Fill;
}

/** The cells of a grid, one path for each class whatever their number. */
export function Cells<Class extends number | string | null>(props: CellsProps<Class>): ReactNode {
  const { count, toClass, toBox, toFill } = props;
  return [...group(range(count), toClass)].map(([cellClass, members]) => (
    <path key={cellClass} d={toCellsPath(members.map(toBox))} {...toFill(cellClass)} />
  ));
}

export function toCellsPath(boxes: Iterable<Box>): string {
  let path = "";
  for (const { x, y, width, height } of boxes) path += `M${x},${y}h${width}v${height}h${-width}Z`;
  return path;
}

interface ClassLegendProps {
  readonly scale: ClassScale;
  readonly shades: Shades;
  readonly format: (value: number) => string;
  readonly children?: ReactNode;
}

const BOX_PX = 12;

/** The meaning of a grid's shades, from just above 0 to the largest value. */
export function ClassLegend({ scale, shades, format, children }: ClassLegendProps): ReactNode {
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-1 py-1 text-xs text-ink-soft tabular-nums">
      {scale.max > 0 && (
        <span className="flex items-center gap-1.5">
          {format(0)}
          <svg width={scale.count * BOX_PX} height={BOX_PX} aria-hidden="true">
            {range(scale.count).map((place) => (
              <rect
                key={place}
                x={place * BOX_PX}
                width={BOX_PX - 1}
                height={BOX_PX}
                {...toShadeFill(place, scale, shades)}
              />
            ))}
          </svg>
          <span className="sr-only"> to </span>
          {format(scale.max)}
        </span>
      )}
      {children}
    </p>
  );
}

export function UnpricedKey(): ReactNode {
  return (
    <span className="flex items-center gap-1.5">
      <Swatch id={useId()} paint={UNPRICED_PAINT} /> unpriced
    </span>
  );
}
