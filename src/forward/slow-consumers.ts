import type { Cancellation } from "#kernel/cancellation.ts";

/** Streams whose callers read nothing at the moment. */
export interface SlowConsumers {
  /** A caller stopped reading; its time limit is armed. In a crowd the one that has stopped for the longest gets less time, or none. */
  begin(cancellation: Cancellation): void;
  /** The caller reads again, or has gone. May be called for one that never stopped. */
  end(cancellation: Cancellation): void;
}

/**
 * From this many on, the oldest of them have CROWDED_STALL_MS_MAX. A caller counts only once the system's own buffers hold
 * some 4 MB that it has not read.
 */
export const STALLED_STREAMS_CROWD = 64;

/** The system's buffer of a caller that reads steadily empties in large steps: 45 KB/s are seen in that time. */
export const CROWDED_STALL_MS_MAX = 30_000;

/**
 * Beyond this many, the oldest is disconnected at once: the runtime keeps 2 to 3 MB of each stream that is not read
 * (measured: docs/reliability.md), and the process may take 512 MB.
 */
export const STALLED_STREAMS_MAX = 112;

export interface SlowConsumersOptions {
  readonly monotonicMs: () => number;
  readonly crowd?: number;
  readonly crowdedMsMax?: number;
  readonly streamsMax?: number;
}

interface Stall {
  readonly sinceMs: number;
  isHurried: boolean;
}

export function createSlowConsumers({
  monotonicMs,
  crowd = STALLED_STREAMS_CROWD,
  crowdedMsMax = CROWDED_STALL_MS_MAX,
  streamsMax = STALLED_STREAMS_MAX,
}: SlowConsumersOptions): SlowConsumers {
  // A Map keeps the order in which they stopped.
  const stalls = new Map<Cancellation, Stall>();
  return {
    begin(cancellation) {
      stalls.set(cancellation, { sinceMs: monotonicMs(), isHurried: false });
      if (stalls.size > streamsMax) cancelOldest();
      if (stalls.size > crowd) hurryOldest();
    },
    end: (cancellation) => void stalls.delete(cancellation),
  };

  function cancelOldest(): void {
    const [oldest] = stalls.keys();
    if (oldest === undefined) return;
    stalls.delete(oldest);
    oldest.cancel("cancelled");
  }

  function hurryOldest(): void {
    for (const [cancellation, stall] of stalls) {
      if (stall.isHurried) continue;
      stall.isHurried = true;
      cancellation.arm(stall.sinceMs + crowdedMsMax - monotonicMs(), "cancelled");
      return;
    }
  }
}
