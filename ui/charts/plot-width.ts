import type { RefObject } from "react";
import { useLayoutEffect, useRef, useState } from "react";

/**
 * The width of the element that the reference is given to, in whole pixels, as it changes. 0 until it is measured, which
 * happens before the first paint: whoever keeps its height meanwhile shifts nothing.
 */
export function usePlotWidth<Plot extends HTMLElement>(): readonly [RefObject<Plot | null>, number] {
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
