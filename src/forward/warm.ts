import type { Clock } from "#kernel/clock.ts";

/**
 * Counts, per route (an object for each host and its settings), the upstream connections that have just become idle. Timing
 * the connect phase costs a request about 11 µs of 65 (measured), and under load there is hardly ever one. A wrong count
 * harms little: when the connection was closed within the second after all, only the time to read bounds the new one.
 */
export interface WarmConnections {
  /** True when a connection is there to be used, which is then no longer counted. */
  take(route: object): boolean;
  /** A response was read to its end, and its connection stays open. */
  put(route: object): void;
}

/** Well below the time after which servers close an idle connection (node: 5 s). */
const WARM_MS_MAX = 1_000;
/** The runtime keeps so many idle connections (measured), so that a larger count would not be true. */
const WARM_COUNT_MAX = 64;

export function createWarmConnections(clock: Clock): WarmConnections {
  // A provider's change makes new routes, whose connections are new as well: TLS settings have pools of their own.
  const routes = new WeakMap<object, { count: number; untilMs: number }>();
  return {
    take(route) {
      const warm = routes.get(route);
      if (warm === undefined || warm.count === 0) return false;
      if (clock.monotonicMs() > warm.untilMs) {
        routes.delete(route);
        return false;
      }
      warm.count -= 1;
      return true;
    },
    put(route) {
      const nowMs = clock.monotonicMs();
      let warm = routes.get(route);
      if (warm === undefined) {
        warm = { count: 0, untilMs: 0 };
        routes.set(route, warm);
      }
      warm.count = nowMs > warm.untilMs ? 1 : Math.min(warm.count + 1, WARM_COUNT_MAX);
      warm.untilMs = nowMs + WARM_MS_MAX;
    },
  };
}
