import type { Clock } from "#kernel/clock.ts";
import { createFairQueue } from "./fair-queue.ts";
import type { Device } from "./devices.ts";
import type { Peer } from "./peer.ts";

/** Specification, section 8. */
export const FAILURE_DELAY_MS = 400;
/** The delay does not stop parallel guessing; these do, over the whole process (decisions, "Sign-in"). */
export const ATTEMPTS_PER_SECOND = 10;
export const ATTEMPTS_BURST = 20;
/** Two seconds' worth: more of one network would only make each other wait. */
export const WAITING_OF_PEER_MAX = 20;
/** Each of so many networks has a turn within the time that one may wait. */
export const WAITING_MAX = 300;
const WAIT_MS_MAX = 30_000;

/** Who asks, as far as its headers tell: those that share an address have turns one after the other. */
export interface Browser {
  /** As its User-Agent says. Strangers can say anything, and gain no turn of another network by it. */
  readonly name: string;
  /** Null: it has not signed in here. */
  readonly device: Device | null;
}

export const UNKNOWN_BROWSER: Browser = { name: "", device: null };

/** Attempts at signing in that are looked at: few enough that guessing is hopeless, and each network has its turn. */
export interface AttemptLimit {
  /**
   * True when this attempt is to be looked at now; false when too many wait already. A browser with a device waits beside
   * its network, whatever that sends.
   */
  admit(peer: Pick<Peer, "network">, browser?: Browser): Promise<boolean>;
}

/** A token bucket; who finds none waits in a fair queue. */
export function createAttemptLimit(clock: Clock, pause: Pause = sleepFor): AttemptLimit {
  const queue = createFairQueue(clock, {
    waitingOfPeerMax: WAITING_OF_PEER_MAX,
    waitingMax: WAITING_MAX,
    waitMsMax: WAIT_MS_MAX,
  });
  let available = ATTEMPTS_BURST;
  let filledAtMs = clock.monotonicMs();
  let isCalling = false;

  const refill = (): void => {
    const nowMs = clock.monotonicMs();
    const refilled = available + ((nowMs - filledAtMs) / 1000) * ATTEMPTS_PER_SECOND;
    available = Math.min(ATTEMPTS_BURST, refilled);
    filledAtMs = nowMs;
  };
  const callUp = async (): Promise<void> => {
    isCalling = true;
    while (!queue.isEmpty) {
      await pause(((1 - available) / ATTEMPTS_PER_SECOND) * 1000);
      refill();
      while (available >= 1 && queue.callNext() !== null) available -= 1;
    }
    isCalling = false;
  };

  return {
    async admit({ network }, { name, device } = UNKNOWN_BROWSER) {
      refill();
      if (queue.isEmpty && available >= 1) {
        available -= 1;
        return true;
      }
      const turn = device === null ? queue.join(network, name) : queue.join(`device ${device.id}`);
      if (!isCalling) void callUp();
      return await turn;
    },
  };
}

export type Pause = (durationMs: number) => Promise<void>;

export function sleepFor(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
