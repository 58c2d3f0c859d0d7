import type { Cancellation } from "#kernel/cancellation.ts";

/** Streams whose callers read nothing at the moment. */
export interface SlowConsumers {
  /**
   * A caller stopped reading; its time limit is armed. In a crowd, of its principal or of all, the one that has stopped for
   * the longest gets less time, or none.
   */
  begin(cancellation: Cancellation, principalId: string): void;
  /** The caller reads again, or has gone. May be called for one that never stopped. */
  end(cancellation: Cancellation): void;
}

/**
 * From this many on, the oldest of them have CROWDED_STALL_MS_MAX. A caller counts only once the system's own buffers are full
 * of what it has not read (`SEND_BUFFER_BYTES`).
 */
export const STALLED_STREAMS_CROWD = 64;

/** The system's buffer of a caller that reads steadily empties in large steps: 45 KB/s are seen in that time. */
export const CROWDED_STALL_MS_MAX = 30_000;

/**
 * Beyond this many, the oldest is disconnected at once: the runtime keeps 2 to 3 MB of each stream that is not read
 * (measured: docs/reliability.md), and the process may take 512 MB.
 */
export const STALLED_STREAMS_MAX = 112;

/** One principal has a quarter of both: its own oldest stream goes before any other principal's. */
const PRINCIPALS_MIN = 4;

export interface SlowConsumersOptions {
  readonly monotonicMs: () => number;
  readonly crowd?: number;
  readonly crowdedMsMax?: number;
  readonly streamsMax?: number;
}

interface Stall {
  readonly sinceMs: number;
  readonly principalId: string;
  isHurried: boolean;
}

/** In the order in which they stopped. */
type Stalls = Map<Cancellation, Stall>;

export function createSlowConsumers({
  monotonicMs,
  crowd = STALLED_STREAMS_CROWD,
  crowdedMsMax = CROWDED_STALL_MS_MAX,
  streamsMax = STALLED_STREAMS_MAX,
}: SlowConsumersOptions): SlowConsumers {
  const all: Stalls = new Map();
  const ofPrincipals = new Map<string, Stalls>();
  return {
    begin(cancellation, principalId) {
      const stall = { sinceMs: monotonicMs(), principalId, isHurried: false };
      const own: Stalls = ofPrincipals.get(principalId) ?? new Map();
      ofPrincipals.set(principalId, own.set(cancellation, stall));
      all.set(cancellation, stall);
      bound(own, PRINCIPALS_MIN);
      bound(all, 1);
    },
    end: remove,
  };

  function bound(stalls: Stalls, parts: number): void {
    if (stalls.size > Math.ceil(streamsMax / parts)) cancelOldest(stalls);
    if (stalls.size > Math.ceil(crowd / parts)) hurryOldest(stalls);
  }

  function remove(cancellation: Cancellation): void {
    const stall = all.get(cancellation);
    if (stall === undefined) return;
    all.delete(cancellation);
    const own = ofPrincipals.get(stall.principalId);
    own?.delete(cancellation);
    if (own?.size === 0) ofPrincipals.delete(stall.principalId);
  }

  function cancelOldest(stalls: Stalls): void {
    const [oldest] = stalls.keys();
    if (oldest === undefined) return;
    remove(oldest);
    oldest.cancel("cancelled");
  }

  function hurryOldest(stalls: Stalls): void {
    for (const [cancellation, stall] of stalls) {
      if (stall.isHurried) continue;
      stall.isHurried = true;
      cancellation.arm(stall.sinceMs + crowdedMsMax - monotonicMs(), "cancelled");
      return;
    }
  }
}
