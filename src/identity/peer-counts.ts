import type { Clock } from "#kernel/clock.ts";
import type { Peer } from "./peer.ts";

/** How often something happened in this minute, by the network that it came from. */
export interface PeerCounts {
  /** Counts one more and returns how many there were of this network in this minute, this one included. */
  add(peer: Peer): number;
}

const MINUTE_MS = 60_000;
/** Networks that are told apart; those of others count together. */
const NETWORKS_MAX = 1000;
const OTHERS = "(others)";

export function createPeerCounts(clock: Pick<Clock, "monotonicMs">): PeerCounts {
  let counts = new Map<string, number>();
  let minuteSinceMs = clock.monotonicMs();
  return {
    add({ network }) {
      const nowMs = clock.monotonicMs();
      if (nowMs - minuteSinceMs >= MINUTE_MS) {
        counts = new Map();
        minuteSinceMs = nowMs;
      }
      const name = counts.has(network) || counts.size < NETWORKS_MAX ? network : OTHERS;
      const counted = (counts.get(name) ?? 0) + 1;
      counts.set(name, counted);
      return counted;
    },
  };
}
