/** Bounds the bytes that all bodies of one kind (buffered answers, or large requests) keep in memory together. */
export interface MemorySemaphore {
  /** Limit of a single body. */
  readonly bytesMax: number;
  reserve(options: ReservationOptions): Reservation;
  /** Bodies that wait until others have left memory; with `owner`, that owner's. */
  waitingCount(owner?: string): number;
}

interface ReservationOptions {
  /** Length of the body as its head tells it; null when the head does not. */
  readonly lengthBytes: number | null;
  /** Aborting it ends the wait. */
  readonly signal: AbortSignal;
  /** Whose body it is: all of one owner keep `shareBytesMax` together. Absent: it has no owner. */
  readonly owner?: string;
}

/** Memory of one body, from its first byte until its last one has left. */
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

/** When a body that found no memory may come again: the largest take some seconds to leave. */
export const BUSY_RETRY_AFTER_SECONDS = 5;

interface MemorySemaphoreOptions {
  readonly bytesMax: number;
  /** Counts as `bytesMax` when it is less, so that a single body always fits. */
  readonly totalBytesMax: number;
  /** What the bodies of one owner keep together; counts as `bytesMax` when it is less. Absent: no limit of its own. */
  readonly shareBytesMax?: number;
}

/** Memory that several bodies keep together: the share of an owner, or all of it. */
interface Budget {
  freeBytes: number;
  /** Holders that may ask for more, up to the limit of a single body. */
  readonly growing: Set<Holder>;
}

interface Share extends Budget {
  holderCount: number;
}

interface Holder {
  readonly owner: string | null;
  /** The owner's share, where there is one, and the total. */
  readonly budgets: readonly Budget[];
  heldBytes: number;
  isGrowing: boolean;
  isClosed: boolean;
}

interface Waiting {
  readonly holder: Holder;
  readonly bytes: number;
  readonly admit: () => void;
  readonly abandon: () => void;
}

/**
 * A body of known length gets all its memory at once. Others grow, and never so far that none of them could be finished:
 * enough is left for the largest of them to reach the limit of a single body, of the total as of each owner's share. So each
 * wait ends when complete bodies have left (callers that read nothing are disconnected), or with the deadline of the waiting
 * request.
 */
export function createMemorySemaphore({
  bytesMax,
  totalBytesMax,
  shareBytesMax,
}: MemorySemaphoreOptions): MemorySemaphore {
  const total: Budget = { freeBytes: Math.max(totalBytesMax, bytesMax), growing: new Set() };
  const shares = new Map<string, Share>();
  const queue = new Set<Waiting>();

  return {
    bytesMax,
    reserve,
    waitingCount(owner) {
      if (owner === undefined) return queue.size;
      let count = 0;
      for (const { holder } of queue) if (holder.owner === owner) count += 1;
      return count;
    },
  };

  function reserve({ lengthBytes, signal, owner }: ReservationOptions): Reservation {
    const holder = toHolder(owner ?? null, lengthBytes === null);
    const release = (bytes: number) => {
      const released = Math.min(bytes, holder.heldBytes);
      holder.heldBytes -= released;
      for (const budget of holder.budgets) budget.freeBytes += released;
      if (queue.size > 0) advance();
    };
    const complete = () => {
      holder.isGrowing = false;
      for (const budget of holder.budgets) budget.growing.delete(holder);
      if (queue.size > 0) advance();
    };
    return {
      acquire(sizeBytes) {
        const bytes = (lengthBytes ?? sizeBytes) - holder.heldBytes;
        if (bytes <= 0 || holder.heldBytes + bytes <= UNCOUNTED_BYTES_MAX) return null;
        const isBehind = queue.size > 0 && holder.heldBytes === 0 && isBlocked(holder, findBlocked());
        if (isBehind || !fits(holder, bytes)) return wait(holder, bytes, signal);
        take(holder, bytes);
        return null;
      },
      complete,
      release,
      close() {
        for (const waiting of queue) if (waiting.holder === holder) waiting.abandon();
        complete();
        release(holder.heldBytes);
        leaveShare(holder);
      },
    };
  }

  function toHolder(owner: string | null, isGrowing: boolean): Holder {
    const holder = { owner, heldBytes: 0, isGrowing, isClosed: false };
    if (owner === null || shareBytesMax === undefined) return { ...holder, budgets: [total] };
    const share = shares.get(owner) ?? {
      freeBytes: Math.max(shareBytesMax, bytesMax),
      growing: new Set<Holder>(),
      holderCount: 0,
    };
    share.holderCount += 1;
    shares.set(owner, share);
    return { ...holder, budgets: [share, total] };
  }

  function leaveShare(holder: Holder): void {
    if (holder.isClosed || holder.owner === null) return;
    holder.isClosed = true;
    const share = shares.get(holder.owner);
    if (share === undefined) return;
    share.holderCount -= 1;
    if (share.holderCount === 0) shares.delete(holder.owner);
  }

  function take(holder: Holder, bytes: number): void {
    holder.heldBytes += bytes;
    for (const budget of holder.budgets) {
      budget.freeBytes -= bytes;
      if (holder.isGrowing) budget.growing.add(holder);
    }
  }

  function fits(holder: Holder, bytes: number): boolean {
    return holder.budgets.every((budget) => fitsInto(budget, holder, bytes));
  }

  function fitsInto({ freeBytes, growing }: Budget, holder: Holder, bytes: number): boolean {
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
    findBlocked(({ holder, bytes, admit }) => {
      take(holder, bytes);
      admit();
    });
  }

  /** Budgets that new bodies wait for: who comes later waits behind them, but for one whose owner has filled its own share. */
  function findBlocked(admitOne?: (waiting: Waiting) => void): ReadonlySet<Budget> {
    const blocked = new Set<Budget>();
    for (const waiting of queue) {
      const { holder, bytes } = waiting;
      const isNew = holder.heldBytes === 0;
      if (isNew && isBlocked(holder, blocked)) continue;
      const missing = holder.budgets.find((budget) => !fitsInto(budget, holder, bytes));
      if (missing === undefined) admitOne?.(waiting);
      else if (isNew) blocked.add(missing);
    }
    return blocked;
  }
}

function isBlocked({ budgets }: Holder, blocked: ReadonlySet<Budget>): boolean {
  return budgets.some((budget) => blocked.has(budget));
}
