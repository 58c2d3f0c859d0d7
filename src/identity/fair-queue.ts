import type { Clock } from "#kernel/clock.ts";

export interface FairQueueLimits {
  readonly waitingOfPeerMax: number;
  readonly waitingMax: number;
  /** Looked at when a turn is given: who has waited longer is refused then. */
  readonly waitMsMax: number;
}

/**
 * Those who wait for a turn, one network after the other: who sends many waits behind its own, and delays another network
 * by one turn.
 */
export interface FairQueue {
  readonly isEmpty: boolean;
  /** True when its turn has come; false when it is given up. */
  join(network: string): Promise<boolean>;
  /** Gives the next its turn, of those networks that may have one, and returns its network; null when none is waiting. */
  callNext(mayGo?: (network: string) => boolean): string | null;
}

interface Waiting {
  readonly sinceMs: number;
  readonly settle: (hasTurn: boolean) => void;
}

export function createFairQueue(clock: Clock, limits: FairQueueLimits): FairQueue {
  /** In the order of their turns. */
  const lines = new Map<string, Waiting[]>();
  let waiting = 0;

  const leave = (network: string, line: readonly Waiting[]): void => {
    waiting -= 1;
    if (line.length === 0) lines.delete(network);
  };
  /** Makes room by giving up the newest of the longest line, if that is longer than this one. */
  const displace = (length: number): boolean => {
    const [network, line] = [...lines].reduce<readonly [string, Waiting[]]>(
      (longest, entry) => (entry[1].length > longest[1].length ? entry : longest),
      ["", []],
    );
    const last = line.length > length ? line.pop() : undefined;
    if (last === undefined) return false;
    leave(network, line);
    last.settle(false);
    return true;
  };

  return {
    get isEmpty() {
      return waiting === 0;
    },
    join(network) {
      const line = lines.get(network) ?? [];
      if (line.length >= limits.waitingOfPeerMax) return Promise.resolve(false);
      if (waiting >= limits.waitingMax && !displace(line.length)) return Promise.resolve(false);
      const { promise, resolve } = Promise.withResolvers<boolean>();
      line.push({ sinceMs: clock.monotonicMs(), settle: resolve });
      lines.set(network, line);
      waiting += 1;
      return promise;
    },
    callNext(mayGo = () => true) {
      for (const [network, line] of lines) {
        const next = mayGo(network) ? line.shift() : undefined;
        if (next === undefined) continue;
        leave(network, line);
        // Behind the others.
        if (lines.delete(network)) lines.set(network, line);
        const isInTime = clock.monotonicMs() - next.sinceMs <= limits.waitMsMax;
        next.settle(isInTime);
        if (isInTime) return network;
      }
      return null;
    },
  };
}
