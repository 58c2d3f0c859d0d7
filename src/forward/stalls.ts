import type { Cutoff } from "./cutoff.ts";

/** The streams whose callers take nothing at the moment. */
export interface Stalls {
  /** A caller takes nothing from now on; its cutoff is armed. In a crowd whoever has not for the longest gets less time, or none. */
  begin(cutoff: Cutoff): void;
  /** It takes something again, or has gone. May be called for one that never stalled. */
  end(cutoff: Cutoff): void;
}

/**
 * From here on, the longest-stalled have CROWDED_STALL_MS_MAX. A caller only counts once the system's own buffers are full of
 * some 4 MB that it has not taken.
 */
export const STALLED_STREAMS_CROWD = 64;

/** The system's buffer of one who reads steadily empties in large steps: 45 KB/s are seen in that time. */
export const CROWDED_STALL_MS_MAX = 30_000;

/**
 * Past it, the longest-stalled is cut off at once: the runtime keeps 2 to 3 MB of each stream that nobody reads (measured:
 * docs/performance.md), and the process may take 512 MB.
 */
export const STALLED_STREAMS_MAX = 144;

export interface StallsOptions {
  readonly monotonicMs: () => number;
  readonly crowd?: number;
  readonly crowdedMsMax?: number;
  readonly streamsMax?: number;
}

interface Stall {
  readonly sinceMs: number;
  isHurried: boolean;
}

export function createStalls({
  monotonicMs,
  crowd = STALLED_STREAMS_CROWD,
  crowdedMsMax = CROWDED_STALL_MS_MAX,
  streamsMax = STALLED_STREAMS_MAX,
}: StallsOptions): Stalls {
  // In the order in which they stalled.
  const stalls = new Map<Cutoff, Stall>();
  return {
    begin(cutoff) {
      stalls.set(cutoff, { sinceMs: monotonicMs(), isHurried: false });
      if (stalls.size > streamsMax) cutLongest();
      if (stalls.size > crowd) hurryLongest();
    },
    end: (cutoff) => void stalls.delete(cutoff),
  };

  function cutLongest(): void {
    const [longest] = stalls.keys();
    if (longest === undefined) return;
    stalls.delete(longest);
    longest.cut("cancelled");
  }

  function hurryLongest(): void {
    for (const [cutoff, stall] of stalls) {
      if (stall.isHurried) continue;
      stall.isHurried = true;
      cutoff.arm(stall.sinceMs + crowdedMsMax - monotonicMs(), "cancelled");
      return;
    }
  }
}
