/** At most so many go on at once, which bounds how long the event loop serves nothing else; the next ones follow in a turn of their own. */
const TURN_WAITERS_MAX = 64;

/**
 * Lets what has become ready in one turn of the event loop go on together, behind the callbacks of the turn. The same step of
 * many requests then runs one behind the other, with its code and data in the processor's caches; between the reads and
 * writes of sockets, which take these caches for themselves, it cost two to three times as much (measured).
 */
export class Turns {
  readonly #turns: PromiseWithResolvers<void>[] = [];
  /** Those of the last turn. */
  #waiterCount = 0;
  readonly #waitersMax: number;

  constructor(waitersMax = TURN_WAITERS_MAX) {
    this.#waitersMax = waitersMax;
  }

  /** Fulfilled in the next turn, in the order of the calls. */
  next(): Promise<void> {
    let last = this.#turns.at(-1);
    if (last === undefined || this.#waiterCount >= this.#waitersMax) {
      last = Promise.withResolvers();
      this.#waiterCount = 0;
      // An immediate runs when the callbacks of one poll have run.
      if (this.#turns.push(last) === 1) setImmediate(this.#end);
    }
    this.#waiterCount += 1;
    return last.promise;
  }

  readonly #end = (): void => {
    this.#turns.shift()?.resolve();
    if (this.#turns.length > 0) setImmediate(this.#end);
  };
}

/**
 * `work`, at most one at a time: who asks while it is under way joins the one after it, which sees everything that was done
 * before the call. The one under way may have been decided before what the caller has to see.
 */
export function joinNext(work: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> | null = null;
  let next: Promise<void> | null = null;

  const start = (): Promise<void> => {
    next = null;
    current = work().finally(() => {
      // Not when the next one has begun in between.
      if (next === null) current = null;
    });
    return current;
  };
  return () => {
    if (current === null) return start();
    // A failure of the one before is for those who wait for it.
    next ??= current.then(start, start);
    return next;
  };
}
