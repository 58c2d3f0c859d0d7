import type { TimeWindow } from "../search/window.ts";

const REFRESH_MS = 60_000;

/** A window that moves along with the clock is asked for again each minute, while somebody looks at it. */
export function toRefresh({ until }: TimeWindow): { readonly refetchInterval: number | false } {
  return { refetchInterval: until === undefined ? REFRESH_MS : false };
}
