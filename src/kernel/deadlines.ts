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

/**
 * One timer watches every limit. A timer of its own for each step of each request cost 4 µs a request (measured), most of
 * it for limits that are lifted long before they are due. Nothing runs while no limit does, and while none is due a sweep
 * costs the same for one limit as for thousands.
 */
export function createDeadlines(monotonicMs: () => number): Deadlines {
  const watch = new Watch(monotonicMs);
  return { create: () => new Limit(watch) };
}

/** The limits that run, in a linked list: a Set keeps the memory of all that ever were in it for long. */
class Watch {
  readonly monotonicMs: () => number;
  first: Limit | null = null;
  /** No limit is due before this; some may have been lifted or restarted since. */
  #nextDueMs = Number.POSITIVE_INFINITY;
  #sweeping = false;

  constructor(monotonicMs: () => number) {
    this.monotonicMs = monotonicMs;
  }

  start(dueMs: number): void {
    if (dueMs < this.#nextDueMs) this.#nextDueMs = dueMs;
    if (!this.#sweeping) this.#sweepLater();
  }

  #sweepLater(): void {
    this.#sweeping = true;
    setTimeout(() => this.#sweep(), SWEEP_INTERVAL_MS);
  }

  #sweep(): void {
    const due = this.monotonicMs() < this.#nextDueMs ? [] : this.#takeDue();
    // Before anything is called: what a call throws must not stop the watch over all others.
    this.#sweeping = false;
    if (this.first !== null) this.#sweepLater();
    for (const onDue of due) onDue();
  }

  #takeDue(): (() => void)[] {
    const nowMs = this.monotonicMs();
    const due: (() => void)[] = [];
    this.#nextDueMs = Number.POSITIVE_INFINITY;
    for (let limit = this.first; limit !== null;) {
      const { after } = limit;
      if (limit.dueMs > nowMs) this.#nextDueMs = Math.min(this.#nextDueMs, limit.dueMs);
      else due.push(limit.take());
      limit = after;
    }
    return due;
  }
}

class Limit implements Deadline {
  readonly #watch: Watch;
  dueMs = 0;
  after: Limit | null = null;
  #before: Limit | null = null;
  #limitMs = 0;
  #onDue: (() => void) | null = null;

  constructor(watch: Watch) {
    this.#watch = watch;
  }

  set(limitMs: number, onDue: () => void): void {
    const watch = this.#watch;
    this.dueMs = watch.monotonicMs() + limitMs;
    this.#limitMs = limitMs;
    if (this.#onDue === null) {
      this.after = watch.first;
      if (this.after !== null) this.after.#before = this;
      watch.first = this;
    }
    this.#onDue = onDue;
    watch.start(this.dueMs);
  }

  restart(): void {
    this.dueMs = this.#watch.monotonicMs() + this.#limitMs;
  }

  lift(): void {
    if (this.#onDue !== null) this.take();
  }

  /** Lifts a limit that runs, and returns what was to be called. */
  take(): () => void {
    const onDue = this.#onDue ?? (() => undefined);
    this.#onDue = null;
    if (this.#before === null) this.#watch.first = this.after;
    else this.#before.after = this.after;
    if (this.after !== null) this.after.#before = this.#before;
    this.#before = null;
    this.after = null;
    return onDue;
  }
}
