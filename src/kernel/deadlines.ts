/** A time limit that can be set, moved and lifted for next to nothing: one per exchange, thousands at once. */
export interface Deadline {
  /** `onDue` is called once, `limitMs` from now and up to SWEEP_INTERVAL_MS later, unless set again or lifted before. */
  set(limitMs: number, onDue: () => void): void;
  /** Starts the running limit again from now. */
  restart(): void;
  lift(): void;
}

export interface Deadlines {
  create(): Deadline;
}

/** How late a limit may be noticed; well within the half second by which a connect timeout may miss. */
export const SWEEP_INTERVAL_MS = 50;

interface Running {
  dueMs: number;
  limitMs: number;
  onDue: () => void;
}

/**
 * One timer watches every limit. A timer of its own for each step of each request cost 4 µs a request (measured), most of
 * it for limits that are lifted long before they are due. Nothing runs while no limit does.
 */
export function createDeadlines(monotonicMs: () => number): Deadlines {
  const running = new Set<Running>();
  let sweeping = false;

  const sweep = () => {
    const nowMs = monotonicMs();
    const due = [...running].filter((limit) => limit.dueMs <= nowMs);
    for (const limit of due) running.delete(limit);
    // Before anything is called: what a call throws must not stop the watch over all others.
    sweeping = running.size > 0;
    if (sweeping) setTimeout(sweep, SWEEP_INTERVAL_MS);
    for (const { onDue } of due) onDue();
  };

  return {
    create() {
      const limit: Running = { dueMs: 0, limitMs: 0, onDue: () => undefined };
      return {
        set(limitMs, onDue) {
          limit.dueMs = monotonicMs() + limitMs;
          limit.limitMs = limitMs;
          limit.onDue = onDue;
          running.add(limit);
          if (sweeping) return;
          sweeping = true;
          setTimeout(sweep, SWEEP_INTERVAL_MS);
        },
        restart() {
          limit.dueMs = monotonicMs() + limit.limitMs;
        },
        lift() {
          running.delete(limit);
        },
      };
    },
  };
}
