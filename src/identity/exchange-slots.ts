import type { Clock } from "#kernel/clock.ts";
import { createFairQueue } from "./fair-queue.ts";
import type { Peer } from "./peer.ts";

/** Each waits for the identity provider, which may hang. */
export const EXCHANGES_MAX = 32;
/** A network whose exchanges hang leaves the others room. */
export const EXCHANGES_OF_PEER_MAX = 16;
export const WAITING_OF_PEER_MAX = 100;
const WAITING_MAX = 500;
/** As long as two requests to a provider that hangs take, one behind the other. */
const WAIT_MS_MAX = 20_000;

/** Bounds what the server asks of the identity provider at once. */
export interface ExchangeSlots {
  /** What `step` returns, once there is a slot; null when too many wait for one. */
  run<Result>(peer: Peer, step: () => Promise<Result>): Promise<Result | null>;
}

export function createExchangeSlots(clock: Clock): ExchangeSlots {
  const queue = createFairQueue(clock, {
    waitingOfPeerMax: WAITING_OF_PEER_MAX,
    waitingMax: WAITING_MAX,
    waitMsMax: WAIT_MS_MAX,
  });
  const runningOf = new Map<string, number>();
  let running = 0;
  const hasSlot = (network: string): boolean => (runningOf.get(network) ?? 0) < EXCHANGES_OF_PEER_MAX;
  const count = (network: string, change: 1 | -1): void => {
    running += change;
    const left = (runningOf.get(network) ?? 0) + change;
    if (left === 0) runningOf.delete(network);
    else runningOf.set(network, left);
  };
  return {
    async run({ network }, step) {
      if (running < EXCHANGES_MAX && hasSlot(network)) count(network, 1);
      else if (!(await queue.join(network))) return null;
      try {
        return await step();
      } finally {
        count(network, -1);
        // Counted here and not where its holder goes on, which is only later.
        const next = queue.callNext(hasSlot);
        if (next !== null) count(next, 1);
      }
    },
  };
}
