/** Bytes that all bodies of a kind, answers which are held until they are complete or large requests, may keep in memory together. */
export interface HeldBudget {
  /** Of one body. */
  readonly bytesMax: number;
  open(options: ShareOptions): HeldShare;
  /** Bodies that wait for others to leave. */
  waitingCount(): number;
}

export interface ShareOptions {
  /** Of the body, as its head tells; null when it does not. */
  readonly lengthBytes: number | null;
  /** Ends the wait. */
  readonly signal: AbortSignal;
}

/** What one body keeps of the budget, from its first byte until its last one has left. */
export interface HeldShare {
  /**
   * Makes room for as many bytes of the body as came so far, or for all of a body whose length is known. Null, or a
   * promise to await before more is read; it rejects when the signal aborts.
   */
  cover(sizeBytes: number): Promise<void> | null;
  /** The whole body is here, and needs no more than it has. */
  complete(): void;
  /** So many bytes have left. */
  giveBack(bytes: number): void;
  /** Nothing of it is kept any more, and its wait ends. May be called more than once. */
  close(): void;
}

/** Of the 512 MB that the process may take: 32 answers of 60 MB at once peaked at 368 to 420 MB (docs/performance.md). */
export const HELD_BYTES_TOTAL_MAX = 192 * 1024 * 1024;

/**
 * A body so short is not counted and waits for nobody; an answer leaves in one piece, with its `content-length`. The runtime
 * frames a longer one, which leaves in its pieces, chunked.
 */
export const UNCOUNTED_BYTES_MAX = 512 * 1024;

export interface HeldBudgetOptions {
  readonly bytesMax: number;
  /** Counts as `bytesMax` when it is less: one body always has room. */
  readonly totalBytesMax: number;
}

interface Holder {
  heldBytes: number;
  /** It may ask for more, up to what any body may have. */
  isGrowing: boolean;
}

interface Waiting {
  readonly holder: Holder;
  readonly bytes: number;
  readonly enter: () => void;
  readonly leave: () => void;
}

/**
 * A body of known length gets all its room at once. Others grow, and never so far that none of them could be finished:
 * enough is left for the largest of them to become as large as any may be. So each wait ends when what is complete is taken
 * (callers that take nothing of an answer are cut off), or with the deadline of who waits.
 */
export function createHeldBudget({ bytesMax, totalBytesMax }: HeldBudgetOptions): HeldBudget {
  let leftBytes = Math.max(totalBytesMax, bytesMax);
  const growing = new Set<Holder>();
  const line = new Set<Waiting>();

  return { bytesMax, open, waitingCount: () => line.size };

  function open({ lengthBytes, signal }: ShareOptions): HeldShare {
    const holder: Holder = { heldBytes: 0, isGrowing: lengthBytes === null };
    const giveBack = (bytes: number) => {
      const given = Math.min(bytes, holder.heldBytes);
      holder.heldBytes -= given;
      leftBytes += given;
      if (line.size > 0) admit();
    };
    const complete = () => {
      holder.isGrowing = false;
      growing.delete(holder);
      if (line.size > 0) admit();
    };
    return {
      cover(sizeBytes) {
        const bytes = (lengthBytes ?? sizeBytes) - holder.heldBytes;
        if (bytes <= 0 || holder.heldBytes + bytes <= UNCOUNTED_BYTES_MAX) return null;
        if ((line.size > 0 && holder.heldBytes === 0) || !hasRoom(holder, bytes)) {
          return wait(holder, bytes, signal);
        }
        take(holder, bytes);
        return null;
      },
      complete,
      giveBack,
      close() {
        for (const waiting of line) if (waiting.holder === holder) waiting.leave();
        complete();
        giveBack(holder.heldBytes);
      },
    };
  }

  function take(holder: Holder, bytes: number): void {
    leftBytes -= bytes;
    holder.heldBytes += bytes;
    if (holder.isGrowing) growing.add(holder);
  }

  function hasRoom(holder: Holder, bytes: number): boolean {
    const rest = leftBytes - bytes;
    if (rest >= bytesMax) return true;
    let largestBytes = holder.isGrowing ? holder.heldBytes + bytes : 0;
    for (const other of growing) largestBytes = Math.max(largestBytes, other.heldBytes);
    return rest >= (largestBytes === 0 ? 0 : bytesMax - largestBytes);
  }

  function wait(holder: Holder, bytes: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        signal.removeEventListener("abort", leave);
        line.delete(waiting);
        reject(new Error("cut off while waiting for room"));
        admit();
      };
      const enter = () => {
        signal.removeEventListener("abort", leave);
        line.delete(waiting);
        resolve();
      };
      const waiting: Waiting = { holder, bytes, enter, leave };
      if (signal.aborted) return leave();
      signal.addEventListener("abort", leave, { once: true });
      line.add(waiting);
    });
  }

  /** In order of arrival, but who keeps something already goes first: what it keeps comes free when it is done. */
  function admit(): void {
    let isBlocked = false;
    for (const { holder, bytes, enter } of line) {
      const isNew = holder.heldBytes === 0;
      if (isBlocked && isNew) continue;
      if (hasRoom(holder, bytes)) {
        take(holder, bytes);
        enter();
      } else {
        isBlocked ||= isNew;
      }
    }
  }
}
