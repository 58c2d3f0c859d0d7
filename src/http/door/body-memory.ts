import { Cancellation } from "#kernel/cancellation.ts";
import { createMemorySemaphore, UNCOUNTED_BYTES_MAX } from "#kernel/memory-semaphore.ts";
import { type Log, SILENT_LOG } from "#kernel/log.ts";
import { deadlines } from "./body-reader.ts";

/** The memory that all large bodies which are read whole keep together. */
export interface BodyMemory {
  /** Returns null for a body that is known to be short: it is not counted, and waits for no other. */
  reserve(request: Request, lengthBytes: number | null, owner: string): BodyReservation | null;
  /** Bodies that wait for others to leave. */
  waitingCount(): number;
}

/** The memory of one body, from before its first byte until nothing of it is kept any more. */
export interface BodyReservation {
  /**
   * Acquires memory for as many bytes as came so far: a length is a word that costs nothing. Null: it has them. A promise is
   * awaited before more is read: false when too many wait, when it waited for too long, or when its caller hung up.
   */
  acquire(sizeBytes: number): Promise<boolean> | null;
  /** The body has come whole, so many bytes. True when they count. */
  complete(sizeBytes: number): boolean;
  /** It is refused for want of memory: tells the log, at most once in REFUSAL_LOG_INTERVAL_MS. */
  refused(): void;
  /** Gives everything back. May be called more than once. */
  close(): void;
}

/** A part of the 512 MB that the process may take: 100 bodies of 60 MB at once peaked at 309 to 474 MB (docs/performance.md). */
const BODY_BYTES_TOTAL_MAX = 128 * 1024 * 1024;

/**
 * Into how many shares it is divided: the bodies of one principal keep one share together. A single body may have
 * PROXY_MAX_BODY_BYTES all the same, which is more by default.
 */
const SHARES = 4;

/**
 * A body that is not known to be short counts as a large one once so much of it has come: otherwise hundreds that wait would
 * keep their beginnings in memory.
 */
export const BEGINNING_BYTES_MAX = 64 * 1024;
const COUNTED_BYTES_MIN = UNCOUNTED_BYTES_MAX + 1;

/** The limit of all waits of one body together: below IDLE_TIMEOUT_SECONDS, which closes a connection that is not read. */
export const BODY_WAIT_MS_MAX = 60_000;

/** The runtime keeps up to 1.6 MB of each waiting body that arrived unasked (measured). One more is refused at once. */
const BODIES_WAITING_MAX = 64;

const REFUSAL_LOG_INTERVAL_MS = 60_000;

export interface BodyMemoryOptions {
  /** The limit of one body. */
  readonly bytesMax: number;
  /** Counts as `bytesMax` when it is less, so that a single body always fits. */
  readonly totalBytesMax?: number;
  readonly waitMsMax?: number;
  /** A quarter of these may be one principal's. */
  readonly waitingMax?: number;
  readonly log?: Pick<Log, "warn">;
}

/** Each body grows as it comes (`createMemorySemaphore`), within all of the memory and within its owner's part of it. */
export function createBodyMemory(options: BodyMemoryOptions): BodyMemory {
  const { bytesMax, totalBytesMax = BODY_BYTES_TOTAL_MAX, log = SILENT_LOG } = options;
  const { waitMsMax = BODY_WAIT_MS_MAX, waitingMax = BODIES_WAITING_MAX } = options;
  const shareBytesMax = totalBytesMax / SHARES;
  const ownWaitingMax = Math.ceil(waitingMax / SHARES);
  const semaphore = createMemorySemaphore({ bytesMax, totalBytesMax, shareBytesMax });
  let loggedMs = Number.NEGATIVE_INFINITY;
  let refusedCount = 0;

  return {
    waitingCount: () => semaphore.waitingCount(),
    reserve(request, lengthBytes, owner) {
      if (lengthBytes !== null && lengthBytes <= UNCOUNTED_BYTES_MAX) return null;
      const cancellation = new Cancellation(request, { limits: deadlines });
      const held = semaphore.reserve({ lengthBytes: null, signal: cancellation.signal, owner });
      let leftMs = waitMsMax;
      let isNew = true;

      const wait = async (entering: Promise<void>): Promise<boolean> => {
        const startedMs = performance.now();
        cancellation.arm(leftMs);
        try {
          await entering;
          return true;
        } catch {
          return false;
        } finally {
          leftMs -= performance.now() - startedMs;
          cancellation.disarm();
        }
      };
      return {
        acquire(sizeBytes) {
          if (sizeBytes <= BEGINNING_BYTES_MAX) return null;
          const entering = held.acquire(Math.max(sizeBytes, COUNTED_BYTES_MIN));
          // A body that keeps something already goes on: what it keeps comes free when it is done.
          const isOneTooMany = isNew && entering !== null && isCrowded(owner);
          isNew = false;
          if (entering === null) return null;
          const waiting = wait(entering);
          if (isOneTooMany) held.close();
          return waiting;
        },
        complete(sizeBytes) {
          cancellation.release();
          held.complete();
          return sizeBytes > UNCOUNTED_BYTES_MAX;
        },
        refused: () => tell(owner),
        close() {
          cancellation.release();
          held.close();
        },
      };
    },
  };

  function isCrowded(owner: string): boolean {
    return semaphore.waitingCount() > waitingMax || semaphore.waitingCount(owner) > ownWaitingMax;
  }

  function tell(owner: string): void {
    refusedCount += 1;
    const nowMs = performance.now();
    if (nowMs - loggedMs < REFUSAL_LOG_INTERVAL_MS) return;
    loggedMs = nowMs;
    log.warn("large request bodies are refused: those that are under way use up their memory", {
      principal: owner,
      refused: refusedCount,
      waiting: semaphore.waitingCount(),
    });
    refusedCount = 0;
  }
}
