type CancellationCause = "timeout" | "cancelled" | "halted";

/** The caller's end of a request. Bun makes its signal when it is first asked for. */
export interface Caller {
  /** Aborts when the caller hangs up, also when it has done so before the signal is asked for. */
  readonly signal: AbortSignal;
  /** The request lasts: what closes an idle connection must not close its own. */
  keepOpen?(): void;
  /** Undoes `keepOpen`; called only after it. */
  letIdle?(): void;
  /** True when all of its response has left, or it has gone. Absent where there is no connection. */
  hasLeft?(): boolean;
}

/** Hears of the end of a cancellation's exchange. */
export interface CancellationListener {
  /** Asked when the caller has gone: for how long its upstream is read on all the same; usually 0. */
  readOnMs(): number;
  /** It was cancelled. `readsOn`: its upstream is cut off later, by `cutOff` or when that time is over. */
  cancelled(readsOn: boolean): void;
}

interface CancellationOptions {
  /** Watches the time limit. */
  readonly limits: Deadlines;
  /** Watches for requests that last; absent: every one counts as such from its beginning. */
  readonly lasting?: Deadlines;
  /** True when the server closes its callers' connections itself, so that none of them hung up. */
  readonly isHalting?: () => boolean;
}

/**
 * From this age on a request is one that lasts: its caller is watched, and its connection kept open. The watch costs 3 µs
 * (measured), and a hang-up is noticed within a tenth of a second. A request that ends before looks once (`checkCaller`).
 */
export const LASTING_MS_MIN = 50;

/**
 * The one way to stop an exchange from outside: its caller hangs up, a time limit passes, or the server ends. Aborting
 * `signal` closes the upstream's connection. The first cause stays.
 */
export class Cancellation implements DeadlineOwner {
  readonly #controller = new AbortController();
  readonly #caller: Caller;
  readonly #isHalting: (() => boolean) | null;
  readonly #limit: Deadline;
  readonly #lasting: Deadline | null;
  #limitCause: CancellationCause = "timeout";
  #onHangUp: (() => void) | null = null;
  #listener: CancellationListener | null = null;
  #isKeptOpen = false;
  #released = false;
  #cause: CancellationCause | null = null;

  constructor(caller: Caller, { limits, lasting, isHalting }: CancellationOptions) {
    this.#caller = caller;
    this.#isHalting = isHalting ?? null;
    this.#limit = limits.create(this);
    this.#lasting = lasting?.create(this) ?? null;
    if (this.#lasting === null) this.#watchCaller();
    else this.#lasting.set(LASTING_MS_MIN);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get cause(): CancellationCause | null {
    return this.#cause;
  }

  /** Replaces the running time limit: cancels with `cause` in so many milliseconds, unless replaced before. */
  arm(limitMs: number, cause: CancellationCause = "timeout"): void {
    if (this.#released) return;
    this.#limitCause = cause;
    this.#limit.set(limitMs);
  }

  expired(deadline: Deadline): void {
    if (deadline === this.#lasting) this.#watchCaller();
    else if (this.#cause === null) this.cancel(this.#limitCause);
    else this.cutOff();
  }

  /** Starts the running limit again from now. Cheap enough for every chunk. */
  rearm(): void {
    this.#limit.restart();
  }

  /** Stops the running limit; none runs until the next one is armed. */
  disarm(): void {
    this.#limit.lift();
  }

  cancel(cause: CancellationCause): void {
    if (this.#cause !== null || this.#released) return;
    this.#cause = cause === "cancelled" && this.#isHalting?.() === true ? "halted" : cause;
    this.release();
    const readOnMs = this.#cause === "cancelled" ? (this.#listener?.readOnMs() ?? 0) : 0;
    if (readOnMs > 0) this.#limit.set(readOnMs);
    else this.#controller.abort();
    this.#listener?.cancelled(readOnMs > 0);
  }

  /** Ends the reading on after a hang-up. */
  cutOff(): void {
    this.#limit.lift();
    this.#controller.abort();
  }

  /**
   * Tells the listener when, or if, it is cancelled; null: none any more. A listener of the signal costs a stream twenty
   * times as much. There is one at a time.
   */
  notify(listener: CancellationListener | null): void {
    this.#listener = listener;
    if (this.#cause !== null) listener?.cancelled(false);
  }

  /** Lets go of the caller and of the timers. Nothing is cancelled afterwards. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#limit.lift();
    this.#lasting?.lift();
    if (this.#onHangUp !== null) this.#caller.signal.removeEventListener("abort", this.#onHangUp);
    this.letIdle();
  }

  /** The caller's connection may count as idle again, since all that is left is its reading. */
  letIdle(): void {
    if (this.#isKeptOpen) this.#caller.letIdle?.();
    this.#isKeptOpen = false;
  }

  /** True when the whole response has left, or its caller has gone. Can be asked at any time. */
  hasLeft(): boolean {
    return this.#caller.hasLeft?.() ?? true;
  }

  /**
   * Cancels when the caller has hung up by now, for a request that is too young to be watched: 0.7 µs where the watch costs
   * 3 (measured).
   */
  checkCaller(): void {
    if (this.#onHangUp === null && !this.#released && this.#caller.signal.aborted) this.cancel("cancelled");
  }

  #watchCaller(): void {
    if (this.#released) return;
    const { signal } = this.#caller;
    if (signal.aborted) return this.cancel("cancelled");
    this.#onHangUp = () => this.cancel("cancelled");
    signal.addEventListener("abort", this.#onHangUp, { once: true });
    this.#isKeptOpen = true;
    this.#caller.keepOpen?.();
  }
}

/** Hears of its deadlines. A function for each of them would be garbage of each request. */
export interface DeadlineOwner {
  expired(deadline: Deadline): void;
}

/** A time limit that can be set, moved and lifted for next to nothing: one per exchange, thousands at once. */
interface Deadline {
  /** Its owner hears of it once, `limitMs` from now and up to SWEEP_INTERVAL_MS later, unless set again or lifted before. */
  set(limitMs: number): void;
  /** Starts the running limit again from now. */
  restart(): void;
  lift(): void;
}

export interface Deadlines {
  create(owner: DeadlineOwner): Deadline;
}

/** The delay with which a limit may be noticed; well within the half second by which a connect timeout may miss. */
export const SWEEP_INTERVAL_MS = 50;

/**
 * One timer watches every limit. A timer of its own for each step of each request cost 4 µs a request (measured), most of
 * it for limits that are lifted long before they are due. Nothing runs while no limit does, and while none is due a sweep
 * costs the same for one limit as for thousands.
 */
export function createDeadlines(monotonicMs: () => number): Deadlines {
  const watch = new Watch(monotonicMs);
  return { create: (owner) => new Limit(watch, owner) };
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
    for (const limit of due) limit.owner.expired(limit);
  }

  #takeDue(): Limit[] {
    const nowMs = this.monotonicMs();
    const due: Limit[] = [];
    this.#nextDueMs = Number.POSITIVE_INFINITY;
    for (let limit = this.first; limit !== null;) {
      const { after } = limit;
      if (limit.dueMs > nowMs) this.#nextDueMs = Math.min(this.#nextDueMs, limit.dueMs);
      else {
        limit.lift();
        due.push(limit);
      }
      limit = after;
    }
    return due;
  }
}

class Limit implements Deadline {
  readonly owner: DeadlineOwner;
  readonly #watch: Watch;
  dueMs = 0;
  after: Limit | null = null;
  #before: Limit | null = null;
  #limitMs = 0;
  #runs = false;

  constructor(watch: Watch, owner: DeadlineOwner) {
    this.#watch = watch;
    this.owner = owner;
  }

  set(limitMs: number): void {
    const watch = this.#watch;
    this.dueMs = watch.monotonicMs() + limitMs;
    this.#limitMs = limitMs;
    if (!this.#runs) {
      this.after = watch.first;
      if (this.after !== null) this.after.#before = this;
      watch.first = this;
    }
    this.#runs = true;
    watch.start(this.dueMs);
  }

  restart(): void {
    this.dueMs = this.#watch.monotonicMs() + this.#limitMs;
  }

  lift(): void {
    if (!this.#runs) return;
    this.#runs = false;
    if (this.#before === null) this.#watch.first = this.after;
    else this.#before.after = this.after;
    if (this.after !== null) this.after.#before = this.#before;
    this.#before = null;
    this.after = null;
  }
}
