import { max } from "d3-array";
import { scaleLinear } from "d3-scale";
import { area, line } from "d3-shape";
import type { ReactNode } from "react";

export interface SparklineProps {
  /** Null is a gap. */
  readonly values: readonly (number | null)[];
  readonly width: number;
  readonly height: number;
  readonly hasArea?: boolean;
}

const LINE_WIDTH_PX = 1.5;

/** A line without axes, from 0 at the bottom to its own highest value: decoration beside figures. A single value among gaps is a dot. */
export function Sparkline({ values, width, height, hasArea = false }: SparklineProps): ReactNode {
  const { linePath, areaPath } = toSparkPaths(values, width, height);
  return (
    <svg
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      className="block shrink-0"
      aria-hidden="true"
    >
      {hasArea ? <path d={areaPath} fill="var(--color-accent)" fillOpacity={0.14} /> : null}
      <path
        d={linePath}
        fill="none"
        stroke="var(--color-accent)"
        strokeWidth={LINE_WIDTH_PX}
        strokeLinejoin="round"
        strokeLinecap="round"
      />
    </svg>
  );
}

/** The line and the area under it, in a box of `width` × `height`; a line along the bottom when everything is 0. */
export function toSparkPaths(
  values: readonly (number | null)[],
  width: number,
  height: number,
): { readonly linePath: string; readonly areaPath: string } {
  const x = scaleLinear([0, Math.max(1, values.length - 1)], [LINE_WIDTH_PX, width - LINE_WIDTH_PX]);
  const highest = max(values, (value) => value ?? 0) ?? 0;
  const y = scaleLinear([0, highest > 0 ? highest : 1], [height - LINE_WIDTH_PX, LINE_WIDTH_PX]).clamp(true);
  const isDefined = (value: number | null) => value !== null && Number.isFinite(value);
  const toX = (_: number | null, index: number) => x(index);
  const toY = (value: number | null) => y(value ?? 0);
  const linePath = line<number | null>().defined(isDefined).x(toX).y(toY).digits(1);
  const areaPath = area<number | null>().defined(isDefined).x(toX).y0(height).y1(toY).digits(1);
  return { linePath: linePath(values) ?? "", areaPath: areaPath(values) ?? "" };
}
