import { useSyncExternalStore } from "react";

/** Below this width of the window, in pixels, a row is a card. */
const COLUMNS_WIDTH_PX_MIN = 640;

/** From this width of the window on, tables have all of their usual columns. */
export const USUAL_PX = 1250;

/** True when the window is at least so wide; known before the first paint, so that nothing moves. */
export function useIsWide(widthPx: number = COLUMNS_WIDTH_PX_MIN): boolean {
  const query = toQuery(widthPx);
  return useSyncExternalStore(
    (onChange) => {
      query.addEventListener("change", onChange);
      return () => query.removeEventListener("change", onChange);
    },
    () => query.matches,
  );
}

const queries = new Map<number, MediaQueryList>();

/** One for each width: the store above compares what it is subscribed to by identity. */
function toQuery(widthPx: number): MediaQueryList {
  const known = queries.get(widthPx) ?? globalThis.matchMedia(`(min-width: ${widthPx}px)`);
  queries.set(widthPx, known);
  return known;
}
