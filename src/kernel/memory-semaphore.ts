/** Bounds the bytes that all bodies of one kind (buffered answers, or large requests) keep in memory together. */
export interface MemorySemaphore {
  /** Limit of a single body. */
  readonly bytesMax: number;
  reserve(options: ReservationOptions): Reservation;
  /** Bodies that wait until others have left memory. */
  waitingCount(): number;
}

export interface ReservationOptions {
  /** Length of the body as its head tells it; null when the head does not. */
  readonly lengthBytes: number | null;
  /** Aborting it ends the wait. */
  readonly signal: AbortSignal;
}

/** What one body may keep in memory, from its first byte until its last one has left. */
export interface Reservation {
  /**
   * Acquires memory for the bytes that have come so far, or for the whole of a body whose length is known. Null, or a
   * promise to await before more is read; it rejects when the signal aborts.
   */
  acquire(sizeBytes: number): Promise<void> | null;
  /** The body has come whole and needs no more than it has. */
  complete(): void;
  /** Gives back the memory of bytes that have left. */
  release(bytes: number): void;
  /** Gives everything back and ends the body's wait. May be called more than once. */
  close(): void;
}

/**
 * A share of the 512 MB that the process may take: 32 answers of 60 MB at once peaked at 355 MB and 128 of 15 MB at 499, of which
 * the runtime reads 1.7 MB ahead for each that waits (docs/performance.md).
 */
export const BUFFERED_BYTES_TOTAL_MAX = 128 * 1024 * 1024;

/**
 * A body up to this length is not counted and waits for no other; an answer up to this length leaves in one piece, with its
 * `content-length`, also where the upstream told none.
 */
export const UNCOUNTED_BYTES_MAX = 512 * 1024;

export interface MemorySemaphoreOptions {
  readonly bytesMax: number;
  /** Counts as `bytesMax` when it is less, so that a single body always fits. */
  readonly totalBytesMax: number;
}

interface Holder {
  heldBytes: number;
  /** True while the body may ask for more, up to the limit of a single body. */
  isGrowing: boolean;
}

interface Waiting {
  readonly holder: Holder;
  readonly bytes: number;
  readonly admit: () => void;
  readonly abandon: () => void;
}

/**
 * A body of known length gets all its memory at once. Others grow, and never so far that none of them could be finished:
 * enough is left for the largest of them to reach the limit of a single body. So each wait ends when complete bodies have
 * left (callers that read nothing are disconnected), or with the deadline of the waiting request.
 */
export function createMemorySemaphore({ bytesMax, totalBytesMax }: MemorySemaphoreOptions): MemorySemaphore {
  let freeBytes = Math.max(totalBytesMax, bytesMax);
  const growing = new Set<Holder>();
  const queue = new Set<Waiting>();

  return { bytesMax, reserve, waitingCount: () => queue.size };

  function reserve({ lengthBytes, signal }: ReservationOptions): Reservation {
    const holder: Holder = { heldBytes: 0, isGrowing: lengthBytes === null };
    const release = (bytes: number) => {
      const released = Math.min(bytes, holder.heldBytes);
      holder.heldBytes -= released;
      freeBytes += released;
      if (queue.size > 0) advance();
    };
    const complete = () => {
      holder.isGrowing = false;
      growing.delete(holder);
      if (queue.size > 0) advance();
    };
    return {
      acquire(sizeBytes) {
        const bytes = (lengthBytes ?? sizeBytes) - holder.heldBytes;
        if (bytes <= 0 || holder.heldBytes + bytes <= UNCOUNTED_BYTES_MAX) return null;
        if ((queue.size > 0 && holder.heldBytes === 0) || !fits(holder, bytes)) {
          return wait(holder, bytes, signal);
        }
        take(holder, bytes);
        return null;
      },
      complete,
      release,
      close() {
        for (const waiting of queue) if (waiting.holder === holder) waiting.abandon();
        complete();
        release(holder.heldBytes);
      },
    };
  }

  function take(holder: Holder, bytes: number): void {
    freeBytes -= bytes;
    holder.heldBytes += bytes;
    if (holder.isGrowing) growing.add(holder);
  }

  function fits(holder: Holder, bytes: number): boolean {
    const rest = freeBytes - bytes;
    if (rest >= bytesMax) return true;
    let largestBytes = holder.isGrowing ? holder.heldBytes + bytes : 0;
    for (const other of growing) largestBytes = Math.max(largestBytes, other.heldBytes);
    return rest >= (largestBytes === 0 ? 0 : bytesMax - largestBytes);
  }

  function wait(holder: Holder, bytes: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abandon = () => {
        signal.removeEventListener("abort", abandon);
        queue.delete(waiting);
        reject(new Error("aborted while waiting for memory"));
        advance();
      };
      const admit = () => {
        signal.removeEventListener("abort", abandon);
        queue.delete(waiting);
        resolve();
      };
      const waiting: Waiting = { holder, bytes, admit, abandon };
      if (signal.aborted) return abandon();
      signal.addEventListener("abort", abandon, { once: true });
      queue.add(waiting);
    });
  }

  /** Serves in order of arrival, but a body that already has memory goes first: its memory comes free when it is done. */
  function advance(): void {
    let isBlocked = false;
    for (const { holder, bytes, admit } of queue) {
      const isNew = holder.heldBytes === 0;
      if (isBlocked && isNew) continue;
      if (fits(holder, bytes)) {
        take(holder, bytes);
        admit();
      } else {
        isBlocked ||= isNew;
      }
    }
  }
}
