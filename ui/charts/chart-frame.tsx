import type { ReactNode } from "react";
import { useState } from "react";
import { usePlotWidth } from "./plot-width.ts";

export interface ChartFrameProps {
  /** What the chart shows, in words. */
  readonly label: string;
  readonly legend: ReactNode;
  /** Of the plot or the table, in pixels; asked with the width, which is 0 until it is known. */
  readonly toHeight: (widthPx: number) => number;
  readonly plot: (widthPx: number) => ReactNode;
  /** The same figures as a table in place of the plot. */
  readonly table: (heightPx: number) => ReactNode;
}

/** What every chart has: a legend, a switch between picture and table, and a plot whose height is kept before it is drawn. */
export function ChartFrame({ label, legend, toHeight, plot, table }: ChartFrameProps): ReactNode {
  const [frame, widthPx] = usePlotWidth<HTMLDivElement>();
  const [isTable, setIsTable] = useState(false);
  const heightPx = toHeight(widthPx);
  return (
    <figure aria-label={label} className="min-w-0">
      <div className="mb-2 flow-root min-h-6">
        <button
          type="button"
          aria-pressed={isTable}
          className="float-right -mr-1.5 ml-2 cursor-pointer rounded px-1.5 py-1 text-xs text-ink-soft hover:bg-hover hover:text-ink focus-visible:outline-2 focus-visible:outline-focus aria-pressed:bg-hover aria-pressed:text-ink"
          onClick={() => setIsTable(!isTable)}
        >
          Table
        </button>
        {legend}
      </div>
      <div ref={frame} className="relative min-w-0" style={{ height: heightPx }}>
        {widthPx === 0 ? null : isTable ? table(heightPx) : plot(widthPx)}
      </div>
    </figure>
  );
}
