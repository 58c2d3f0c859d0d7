import type { Clock } from "./clock.ts";

/** The delay of the event loop: the time in which nothing else was served. */
export interface LoopLag {
  /** Since the start: never reset, so that any number of readers see the same. */
  histogram(): LagHistogram;
  /** The longest of the last one to two minutes. */
  maxMs(): number;
  stop(): void;
}

interface LagHistogram {
  /** One count for each of `LAG_BOUNDS_MS`: how often the lag was at most that. */
  readonly counts: readonly number[];
  readonly count: number;
  readonly sumMs: number;
}

/** A block of the loop is seen but for at most this much of it. */
const INTERVAL_MS = 20;
const MAX_WINDOW_MS = 60_000;
export const LAG_BOUNDS_MS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000] as const;

/** Watches by a timer of its own (50 short turns a second), which does not keep the process alive. */
export function startLoopLag(clock: Clock): LoopLag {
  const counts = LAG_BOUNDS_MS.map(() => 0);
  let count = 0;
  let sumMs = 0;
  let windowStartMs = clock.monotonicMs();
  let windowMaxMs = 0;
  let earlierMaxMs = 0;
  let dueMs = 0;
  let timer = startTimer();

  function startTimer(): ReturnType<typeof setTimeout> {
    dueMs = clock.monotonicMs() + INTERVAL_MS;
    return setTimeout(look, INTERVAL_MS).unref();
  }

  function look(): void {
    const nowMs = clock.monotonicMs();
    const lagMs = Math.max(0, nowMs - dueMs);
    count += 1;
    sumMs += lagMs;
    for (const [index, boundMs] of LAG_BOUNDS_MS.entries()) {
      if (lagMs <= boundMs) counts[index] = (counts[index] ?? 0) + 1;
    }
    if (nowMs - windowStartMs >= MAX_WINDOW_MS) {
      windowStartMs = nowMs;
      earlierMaxMs = windowMaxMs;
      windowMaxMs = 0;
    }
    windowMaxMs = Math.max(windowMaxMs, lagMs);
    timer = startTimer();
  }

  return {
    histogram: () => ({ counts: [...counts], count, sumMs }),
    maxMs: () => Math.max(windowMaxMs, earlierMaxMs),
    stop: () => clearTimeout(timer),
  };
}
