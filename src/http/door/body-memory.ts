import { createCancellation } from "#kernel/cancellation.ts";
import { createMemorySemaphore, UNCOUNTED_BYTES_MAX } from "#kernel/memory-semaphore.ts";
import { deadlines } from "./body-reader.ts";

/** Memory that all large bodies which are read whole keep together. */
export interface BodyRoom {
  /** Null for a body that is known to be so short that it is not counted and waits for nobody. */
  open(request: Request, lengthBytes: number | null): BodyShare | null;
  /** Bodies that wait for others to leave. */
  waitingCount(): number;
}

/** What one body keeps of it, from before its first byte until nothing of it is kept any more. */
export interface BodyShare {
  /**
   * Makes room for as many bytes as came so far, or for all of a body whose length is known. Null: there is. A promise is
   * to be awaited before more is read: false when too many wait, when it waited for too long, or when its caller hung up.
   */
  cover(sizeBytes: number): Promise<boolean> | null;
  /** All of it is here, so many bytes. True when they count. */
  complete(sizeBytes: number): boolean;
  /** May be called more than once. */
  close(): void;
}

/** Of the 512 MB that the process may take: 100 bodies of 60 MB at once peaked at 309 to 474 MB (docs/performance.md). */
const BODY_BYTES_TOTAL_MAX = 128 * 1024 * 1024;

/**
 * A body that tells no length and is longer than this counts as a large one from here on: hundreds of them that wait would
 * keep their beginnings else.
 */
const UNKNOWN_BYTES_MAX = 64 * 1024;
const COUNTED_BYTES_MIN = UNCOUNTED_BYTES_MAX + 1;

/** Of one body, all its waits together. Less than IDLE_TIMEOUT_SECONDS, which a connection that is not read would run into. */
export const BODY_WAIT_MS_MAX = 60_000;

/** For each of them the runtime keeps up to 1.6 MB that came before anybody asked (measured). One more is refused at once. */
const BODIES_WAITING_MAX = 64;

export interface BodyRoomOptions {
  /** Of one body. */
  readonly bytesMax: number;
  /** Counts as `bytesMax` when it is less. */
  readonly totalBytesMax?: number;
  readonly waitMsMax?: number;
  readonly waitingMax?: number;
}

/** A body of known length waits once, before its first byte is read; another one grows (`createMemorySemaphore`). */
export function createBodyRoom(options: BodyRoomOptions): BodyRoom {
  const { bytesMax, totalBytesMax = BODY_BYTES_TOTAL_MAX } = options;
  const { waitMsMax = BODY_WAIT_MS_MAX, waitingMax = BODIES_WAITING_MAX } = options;
  const budget = createMemorySemaphore({ bytesMax, totalBytesMax });

  return {
    waitingCount: () => budget.waitingCount(),
    open(request, lengthBytes) {
      if (lengthBytes !== null && lengthBytes <= UNCOUNTED_BYTES_MAX) return null;
      const cancellation = createCancellation(request.signal, deadlines);
      const share = budget.reserve({ lengthBytes, signal: cancellation.signal });
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
        cover(sizeBytes) {
          if (lengthBytes === null && sizeBytes <= UNKNOWN_BYTES_MAX) return null;
          // Who keeps something already goes on: what it keeps comes free when it is done.
          if (isNew && budget.waitingCount() >= waitingMax) return Promise.resolve(false);
          isNew = false;
          const entering = share.acquire(Math.max(sizeBytes, COUNTED_BYTES_MIN));
          return entering === null ? null : wait(entering);
        },
        complete(sizeBytes) {
          cancellation.release();
          share.complete();
          return sizeBytes > UNCOUNTED_BYTES_MAX;
        },
        close() {
          cancellation.release();
          share.close();
        },
      };
    },
  };
}
