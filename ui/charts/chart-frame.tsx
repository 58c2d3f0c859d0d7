import { type ReactNode, useState, type RefObject, useLayoutEffect, useRef } from "react";

export interface ChartFrameProps {
  /** What the chart shows, in words. */
  readonly label: string;
  readonly legend: ReactNode;
  /** The height of the plot or the table, in pixels; asked with the width, which is 0 until it is known. */
  readonly toHeight: (widthPx: number) => number;
  readonly plot: (widthPx: number) => ReactNode;
  /** A table of the figures, shown in place of the plot. */
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

/**
 * The width of the element that the reference is given to, in whole pixels, as it changes. 0 until it is measured, which
 * happens before the first paint: a caller that keeps its height meanwhile shifts nothing.
 */
function usePlotWidth<Plot extends HTMLElement>(): readonly [RefObject<Plot | null>, number] {
  const plot = useRef<Plot>(null);
  const [widthPx, setWidthPx] = useState(0);
  useLayoutEffect(() => {
    const element = plot.current;
    if (element === null) return undefined;
    const measure = () => setWidthPx(Math.floor(element.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [plot, widthPx];
}
