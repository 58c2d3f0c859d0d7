import { useSyncExternalStore } from "react";

/** How much of a request has place on a line. */
export type Room = "little" | "some" | "fair" | "enough" | "much" | "plenty";

type Widths = readonly (readonly [Room, number])[];

/** Least widths of the window in pixels, largest first; the page's own frame takes some of it. */
const WIDTHS: Widths = [
  ["plenty", 1740],
  ["much", 1540],
  ["enough", 1380],
  ["fair", 1140],
  ["some", 640],
];
/** Those beside an open panel. */
const WIDTHS_BESIDE: Widths = [
  ["plenty", 2120],
  ["much", 1880],
  ["enough", 1732],
  ["fair", 1516],
  ["some", 1416],
];
const QUERIES = toQueries(WIDTHS);
const QUERIES_BESIDE = toQueries(WIDTHS_BESIDE);

/** Known before the first paint, so that nothing moves. */
export function useRoom(isBesidePanel: boolean): Room {
  return useSyncExternalStore(subscribe, () => readRoom(isBesidePanel ? QUERIES_BESIDE : QUERIES));
}

function toQueries(widths: Widths) {
  return widths.map(([room, widthPx]) => [room, window.matchMedia(`(min-width: ${widthPx}px)`)] as const);
}

function subscribe(onChange: () => void): () => void {
  const queries = [...QUERIES, ...QUERIES_BESIDE];
  for (const [, query] of queries) query.addEventListener("change", onChange);
  return () => {
    for (const [, query] of queries) query.removeEventListener("change", onChange);
  };
}

function readRoom(queries: typeof QUERIES): Room {
  return queries.find(([, query]) => query.matches)?.[0] ?? "little";
}
