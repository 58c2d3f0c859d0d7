import { useSyncExternalStore } from "react";

/** How much of a request has place on a line. */
export type Room = "little" | "some" | "fair" | "enough" | "much" | "plenty";

/** Least widths of the window in pixels, largest first; the page's own frame takes some of it. */
const WIDTHS: readonly (readonly [Room, number])[] = [
  ["plenty", 1740],
  ["much", 1540],
  ["enough", 1380],
  ["fair", 1140],
  ["some", 640],
];
const QUERIES = WIDTHS.map(
  ([room, widthPx]) => [room, window.matchMedia(`(min-width: ${widthPx}px)`)] as const,
);

/** Known before the first paint, so that nothing moves. */
export function useRoom(): Room {
  return useSyncExternalStore(subscribe, readRoom);
}

function subscribe(onChange: () => void): () => void {
  for (const [, query] of QUERIES) query.addEventListener("change", onChange);
  return () => {
    for (const [, query] of QUERIES) query.removeEventListener("change", onChange);
  };
}

function readRoom(): Room {
  return QUERIES.find(([, query]) => query.matches)?.[0] ?? "little";
}
