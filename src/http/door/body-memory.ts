import { Cancellation } from "#kernel/cancellation.ts";
import { createMemorySemaphore, UNCOUNTED_BYTES_MAX } from "#kernel/memory-semaphore.ts";
import { deadlines } from "./body-reader.ts";

/** The memory that all large bodies which are read whole keep together. */
export interface BodyMemory {
  /** Returns null for a body that is known to be short: it is not counted, and waits for no other. */
  reserve(request: Request, lengthBytes: number | null): BodyReservation | null;
  /** Bodies that wait for others to leave. */
  waitingCount(): number;
}

/** The memory of one body, from before its first byte until nothing of it is kept any more. */
export interface BodyReservation {
  /**
   * Acquires memory for as many bytes as came so far, or for the whole of a body whose length is known. Null: it has them. A
   * promise is awaited before more is read: false when too many wait, when it waited for too long, or when its caller hung up.
   */
  acquire(sizeBytes: number): Promise<boolean> | null;
  /** The body has come whole, so many bytes. True when they count. */
  complete(sizeBytes: number): boolean;
  /** Gives everything back. May be called more than once. */
  close(): void;
}

/** A part of the 512 MB that the process may take: 100 bodies of 60 MB at once peaked at 309 to 474 MB (docs/performance.md). */
const BODY_BYTES_TOTAL_MAX = 128 * 1024 * 1024;

/**
 * A body that tells no length and is longer than this counts as a large one from here on: otherwise hundreds that wait would
 * keep their beginnings in memory.
 */
const UNKNOWN_BYTES_MAX = 64 * 1024;
const COUNTED_BYTES_MIN = UNCOUNTED_BYTES_MAX + 1;

/** The limit of all waits of one body together: below IDLE_TIMEOUT_SECONDS, which closes a connection that is not read. */
export const BODY_WAIT_MS_MAX = 60_000;

/** The runtime keeps up to 1.6 MB of each waiting body that arrived unasked (measured). One more is refused at once. */
const BODIES_WAITING_MAX = 64;

export interface BodyMemoryOptions {
  /** The limit of one body. */
  readonly bytesMax: number;
  /** Counts as `bytesMax` when it is less, so that a single body always fits. */
  readonly totalBytesMax?: number;
  readonly waitMsMax?: number;
  readonly waitingMax?: number;
}

/** A body of known length waits once, before its first byte is read; another one grows (`createMemorySemaphore`). */
export function createBodyMemory(options: BodyMemoryOptions): BodyMemory {
  const { bytesMax, totalBytesMax = BODY_BYTES_TOTAL_MAX } = options;
  const { waitMsMax = BODY_WAIT_MS_MAX, waitingMax = BODIES_WAITING_MAX } = options;
  const semaphore = createMemorySemaphore({ bytesMax, totalBytesMax });

  return {
    waitingCount: () => semaphore.waitingCount(),
    reserve(request, lengthBytes) {
      if (lengthBytes !== null && lengthBytes <= UNCOUNTED_BYTES_MAX) return null;
      const cancellation = new Cancellation(request, { limits: deadlines });
      const held = semaphore.reserve({ lengthBytes, signal: cancellation.signal });
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
          if (lengthBytes === null && sizeBytes <= UNKNOWN_BYTES_MAX) return null;
          // A body that keeps something already goes on: what it keeps comes free when it is done.
          if (isNew && semaphore.waitingCount() >= waitingMax) return Promise.resolve(false);
          isNew = false;
          const entering = held.acquire(Math.max(sizeBytes, COUNTED_BYTES_MIN));
          return entering === null ? null : wait(entering);
        },
        complete(sizeBytes) {
          cancellation.release();
          held.complete();
          return sizeBytes > UNCOUNTED_BYTES_MAX;
        },
        close() {
          cancellation.release();
          held.close();
        },
      };
    },
  };
}
