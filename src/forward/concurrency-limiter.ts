/** The right to one connection to an upstream host. It is released once; releasing it again does nothing. */
export interface Permit {
  release(): void;
}

export interface PermitRequest {
  /** Provider id and upstream host: permits are counted for each of these apart. */
  readonly queueName: string;
  /** The limit in force now; null is unlimited. A queue follows the newest limit that any request brings. */
  readonly maxConcurrency: number | null;
}

/** Enforces `max_concurrency`: a queue hands out no more permits than its limit, in order of arrival. */
export interface ConcurrencyLimiter {
  /** A permit when one is free and no request waits for it, else null. */
  tryAcquire(request: PermitRequest): Permit | null;
  /** Waits in the queue. Null when the signal aborts first, and at once when the queue is full. */
  acquire(request: PermitRequest, signal: AbortSignal): Promise<Permit | null>;
  /** Requests that wait, over all queues. */
  waitingCount(): number;
}

/** Each waiting request keeps its body in memory. */
export const QUEUE_LENGTH_MAX = 10_000;

interface Queue {
  permitsOut: number;
  limit: number;
  /** A Set keeps the order of arrival, and a request that gives up is deleted from its middle. */
  readonly waiting: Set<(permit: Permit) => void>;
}

export function createConcurrencyLimiter(): ConcurrencyLimiter {
  const queues = new Map<string, Queue>();

  return {
    tryAcquire(request) {
      const queue = openQueue(request);
      const isFree = queue.permitsOut < queue.limit && queue.waiting.size === 0;
      return isFree ? handOut(request.queueName, queue) : null;
    },
    acquire(request, signal) {
      const queue = openQueue(request);
      return new Promise((resolve) => {
        const accept = (permit: Permit) => {
          signal.removeEventListener("abort", giveUp);
          resolve(permit);
        };
        const giveUp = () => {
          queue.waiting.delete(accept);
          removeIfIdle(request.queueName, queue);
          resolve(null);
        };
        if (signal.aborted || queue.waiting.size >= QUEUE_LENGTH_MAX) return giveUp();
        signal.addEventListener("abort", giveUp, { once: true });
        queue.waiting.add(accept);
        advance(request.queueName, queue);
      });
    },
    waitingCount() {
      let count = 0;
      for (const queue of queues.values()) count += queue.waiting.size;
      return count;
    },
  };

  /** A raised limit lets waiting requests go at once; a lowered one is reached as permits come back. */
  function openQueue({ queueName, maxConcurrency }: PermitRequest): Queue {
    const limit = maxConcurrency ?? Number.POSITIVE_INFINITY;
    let queue = queues.get(queueName);
    if (queue === undefined) {
      queue = { permitsOut: 0, limit, waiting: new Set() };
      queues.set(queueName, queue);
    } else if (queue.limit !== limit) {
      queue.limit = limit;
      advance(queueName, queue);
    }
    return queue;
  }

  function advance(queueName: string, queue: Queue): void {
    for (const accept of queue.waiting) {
      if (queue.permitsOut >= queue.limit) return;
      queue.waiting.delete(accept);
      accept(handOut(queueName, queue));
    }
  }

  function handOut(queueName: string, queue: Queue): Permit {
    queue.permitsOut += 1;
    let isOut = true;
    return {
      release() {
        if (!isOut) return;
        isOut = false;
        queue.permitsOut -= 1;
        advance(queueName, queue);
        removeIfIdle(queueName, queue);
      },
    };
  }

  function removeIfIdle(queueName: string, queue: Queue): void {
    if (queue.permitsOut === 0 && queue.waiting.size === 0) queues.delete(queueName);
  }
}
