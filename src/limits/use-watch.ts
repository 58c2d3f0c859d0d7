import type { InstantUs } from "#kernel/clock.ts";
import type { Used } from "./limit-counter.ts";
import type { Limit } from "./limit.ts";

/** What one limit, or one value of its `each`, has counted. The same object for as long as it is counted. */
export interface WatchedUse {
  readonly value: string;
  readonly label: string;
  /** Null for `concurrent`. */
  readonly sums: { usedAt(nowUs: InstantUs): Used } | null;
}

/** Hears of each limit that a request has moved, in the request's own turn; and of all when they are read or changed. */
export interface UseWatch {
  /** Takes a microsecond at most; never throws. */
  moved(limit: Limit, use: WatchedUse, atUs: InstantUs): void;
}
