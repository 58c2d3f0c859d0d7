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
  /** Controllers that were never used, and whose requests have ended; absent: each has one of its own. */
  readonly spare?: AbortController[];
}

/**
 * From this age on a request is one that lasts: its caller is watched, and its connection kept open. The watch costs 3 µs
 * (measured), and a hang-up is noticed within a tenth of a second. A request that ends before looks once (`checkCaller`).
 */
export const LASTING_MS_MIN = 50;

/** More than this are under way in bursts alone. */
const SPARE_MAX = 256;

const ONCE = { once: true };

/**
 * The one way to stop an exchange from outside: its caller hangs up, a time limit passes, or the server ends. Aborting
 * `signal` closes the upstream's connection. The first cause stays.
 */
export class Cancellation implements DeadlineOwner, EventListenerObject {
  readonly #controller: AbortController;
  readonly #caller: Caller;
  readonly #options: CancellationOptions;
  /** It runs until a request is no longer young, and then until its time limit: most have ended by then. */
  #limit: Deadline;
  #isYoung: boolean;
  /** The limit of a young request, which runs since `#armedAtMs`; null when none does. */
  #limitMs: number | null = null;
  #armedAtMs = 0;
  #limitCause: CancellationCause = "timeout";
  #isWatching = false;
  #listener: CancellationListener | null = null;
  #isKeptOpen = false;
  #released = false;
  #isCutOff = false;
  #cause: CancellationCause | null = null;

  constructor(caller: Caller, options: CancellationOptions) {
    const { limits, lasting } = options;
    this.#controller = options.spare?.pop() ?? new AbortController();
    this.#caller = caller;
    this.#options = options;
    this.#isYoung = lasting !== undefined;
    this.#limit = (lasting ?? limits).create(this);
    if (this.#isYoung) this.#limit.set(LASTING_MS_MIN);
    else this.#watchCaller();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get cause(): CancellationCause | null {
    return this.#cause;
  }

  /**
   * Replaces the running time limit: cancels with `cause` in so many milliseconds, unless replaced before. One that is shorter than
   * LASTING_MS_MIN may be noticed so much later while the request is young.
   */
  arm(limitMs: number, cause: CancellationCause = "timeout"): void {
    if (this.#released) return;
    this.#limitCause = cause;
    this.#limitMs = limitMs;
    if (this.#isYoung) this.#armedAtMs = this.#options.limits.monotonicMs();
    else this.#limit.set(limitMs);
  }

  /** The caller has hung up. */
  handleEvent(): void {
    this.cancel("cancelled");
  }

  expired(): void {
    if (this.#isYoung) this.#lasts();
    else if (this.#cause === null) this.cancel(this.#limitCause);
    else this.cutOff();
  }

  /** Starts the running limit again from now. Cheap enough for every chunk. */
  rearm(): void {
    if (this.#isYoung) this.#armedAtMs = this.#options.limits.monotonicMs();
    else this.#limit.restart();
  }

  /** Stops the running limit; none runs until the next one is armed. */
  disarm(): void {
    this.#limitMs = null;
    if (!this.#isYoung) this.#limit.lift();
  }

  cancel(cause: CancellationCause): void {
    if (this.#cause !== null || this.#released) return;
    this.#cause = cause === "cancelled" && this.#options.isHalting?.() === true ? "halted" : cause;
    this.release();
    const readOnMs = this.#cause === "cancelled" ? (this.#listener?.readOnMs() ?? 0) : 0;
    if (readOnMs > 0) this.#limit.set(readOnMs);
    else this.#abort();
    this.#listener?.cancelled(readOnMs > 0);
  }

  /** Ends the reading on after a hang-up. */
  cutOff(): void {
    this.#limit.lift();
    this.#abort();
  }

  #abort(): void {
    this.#isCutOff = true;
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

  /** True when its signal has aborted: nothing is taken any more of what it was given to. */
  get isCutOff(): boolean {
    return this.#isCutOff;
  }

  /** Instead of `release`, when nothing is left that its signal could abort: another takes it over, since one costs 0.5 kB. */
  finish(): void {
    const { spare } = this.#options;
    if (spare !== undefined && !this.#released && spare.length < SPARE_MAX) spare.push(this.#controller);
    this.release();
  }

  /** Lets go of the caller and of the timers. Nothing is cancelled afterwards. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#isYoung = false;
    this.#limit.lift();
    if (this.#isWatching) this.#caller.signal.removeEventListener("abort", this);
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
    if (!this.#isWatching && !this.#released && this.#caller.signal.aborted) this.cancel("cancelled");
  }

  #lasts(): void {
    const { limits } = this.#options;
    this.#isYoung = false;
    this.#limit = limits.create(this);
    if (this.#limitMs !== null) this.#limit.set(this.#limitMs, limits.monotonicMs() - this.#armedAtMs);
    this.#watchCaller();
  }

  #watchCaller(): void {
    const { signal } = this.#caller;
    if (signal.aborted) return this.cancel("cancelled");
    this.#isWatching = true;
    signal.addEventListener("abort", this, ONCE);
    this.#isKeptOpen = true;
    this.#caller.keepOpen?.();
  }
}

/** Hears of its deadline. A function for each of them would be garbage of each request. */
export interface DeadlineOwner {
  expired(): void;
}

/** A time limit that can be set, moved and lifted for next to nothing: one per exchange, thousands at once. */
interface Deadline {
  /**
   * Its owner hears of it once, `limitMs` from now and up to SWEEP_INTERVAL_MS later, unless set again or lifted before. A part of
   * the time may have passed already.
   */
  set(limitMs: number, passedMs?: number): void;
  /** Starts the running limit again from now. */
  restart(): void;
  lift(): void;
}

export interface Deadlines {
  create(owner: DeadlineOwner): Deadline;
  monotonicMs(): number;
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
  return { create: (owner) => new Limit(watch, owner), monotonicMs };
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
    for (const limit of due) limit.owner.expired();
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

  set(limitMs: number, passedMs = 0): void {
    const watch = this.#watch;
    this.dueMs = watch.monotonicMs() + limitMs - passedMs;
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
