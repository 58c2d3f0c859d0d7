import type { SlotHolder, SlotLease, SlotSource } from "#catalog/slots.ts";

/** Enforces `max_concurrency`: a queue hands out no more permits than its limit, in order of arrival. */
export interface ConcurrencyLimiter {
  /** One queue for each name: provider id and upstream host. */
  openQueue(name: string): PermitQueue;
  /** Requests that wait, over all queues. */
  waitingCount(): number;
}

/** Each waiting request keeps its body in memory. */
export const QUEUE_LENGTH_MAX = 10_000;

export function createConcurrencyLimiter(slots: SlotSource): ConcurrencyLimiter {
  // A queue is never removed: there is one for each host that the catalog ever named.
  const queues = new Map<string, PermitQueue>();
  return {
    openQueue(name) {
      let queue = queues.get(name);
      if (queue === undefined) {
        queue = new PermitQueue(name, slots);
        queues.set(name, queue);
      }
      return queue;
    },
    waitingCount() {
      let count = 0;
      for (const queue of queues.values()) count += queue.waiting;
      return count;
    },
  };
}

/** The requests to one host of one provider. The newest limit that any request brings is in force; null is unlimited. */
export class PermitQueue implements SlotHolder {
  readonly #slots: SlotLease;
  /** The permits that requests to a limited host hold. */
  readonly #out = new Set<Permit>();
  #permitsOut = 0;
  #limit = Number.POSITIVE_INFINITY;
  /** A Set keeps the order of arrival, and a request that gives up is deleted from its middle. */
  readonly #waiting = new Set<(permit: Permit) => void>();

  constructor(name: string, slots: SlotSource) {
    this.#slots = slots.open(name, this);
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  get inUse(): number {
    return this.#permitsOut;
  }

  /** A permit when one is free and no request waits for it, else null. */
  tryAcquire(maxConcurrency: number | null): Permit | null {
    this.#follow(maxConcurrency);
    return this.#waiting.size === 0 && this.#hasFree() ? this.#handOut() : null;
  }

  /** Waits in the queue. Null when the signal aborts first, and at once when the queue is full. */
  acquire(maxConcurrency: number | null, signal: AbortSignal): Promise<Permit | null> {
    this.#follow(maxConcurrency);
    return new Promise((resolve) => {
      const accept = (permit: Permit) => {
        signal.removeEventListener("abort", giveUp);
        resolve(permit);
      };
      const giveUp = () => {
        this.#waiting.delete(accept);
        resolve(null);
      };
      if (signal.aborted || this.#waiting.size >= QUEUE_LENGTH_MAX) return giveUp();
      signal.addEventListener("abort", giveUp, { once: true });
      this.#waiting.add(accept);
      this.advance();
    });
  }

  /** Called once for each permit, when it is given back. */
  takeBack(permit: Permit): void {
    this.#permitsOut -= 1;
    this.#out.delete(permit);
    if (this.#waiting.size > 0) this.advance();
    else this.#hasFree();
  }

  cut(): void {
    for (const permit of this.#out) permit.cut();
  }

  /** A raised limit lets waiting requests go at once; a lowered one is reached as permits come back. */
  #follow(maxConcurrency: number | null): void {
    const limit = maxConcurrency ?? Number.POSITIVE_INFINITY;
    if (limit === this.#limit) return;
    this.#limit = limit;
    this.advance();
  }

  advance(): void {
    for (const accept of this.#waiting) {
      if (!this.#hasFree()) return;
      this.#waiting.delete(accept);
      accept(this.#handOut());
    }
  }

  /** Asked also where the answer is not used: the lender hears of it that fewer slots are in use. */
  #hasFree(): boolean {
    if (this.#limit === Number.POSITIVE_INFINITY) return true;
    return this.#permitsOut < this.#slots.allow(this.#limit);
  }

  #handOut(): Permit {
    const permit = new Permit(this);
    this.#permitsOut += 1;
    if (this.#limit !== Number.POSITIVE_INFINITY) this.#out.add(permit);
    return permit;
  }
}

/** What a cut ends. */
type Cut = { cancel(cause: "halted"): void };

/** The right to one connection to an upstream host. It is given back once; disposing of it again does nothing. */
export class Permit implements Disposable {
  #queue: PermitQueue | null;
  #cancellation: Cut | null = null;
  #isCut = false;

  constructor(queue: PermitQueue) {
    this.#queue = queue;
  }

  /** Cancels it when the connection has to be closed at once, since another process may open one in its place. */
  whenCut(cancellation: Cut): void {
    if (this.#isCut) cancellation.cancel("halted");
    else this.#cancellation = cancellation;
  }

  cut(): void {
    this.#isCut = true;
    this.#cancellation?.cancel("halted");
  }

  [Symbol.dispose](): void {
    const queue = this.#queue;
    this.#queue = null;
    queue?.takeBack(this);
  }
}
