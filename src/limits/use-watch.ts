import type { InstantUs } from "#kernel/clock.ts";
import type { Limit } from "./limit.ts";

/** What one limit, or one value of its `each`, has counted. The same object for as long as it is counted. */
export interface WatchedUse {
  readonly value: string;
  readonly label: string;
}

/** How much was used of a limit, and when. */
export interface UseNow {
  readonly used: bigint;
  readonly atUs: InstantUs;
}

/**
 * Hears of each limit with a window that a request has moved, in the request's own turn, and of all when they are read or
 * changed: only of those that are used from `toWatchedFrom` on.
 */
export interface UseWatch {
  /** Takes a microsecond at most; never throws. */
  moved(limit: Limit, use: WatchedUse, now: UseNow): void;
}

/** 80 % of the amount. */
export function toWatchedFrom({ amount }: Pick<Limit, "amount">): bigint {
  return (amount * 4n + 4n) / 5n;
}
