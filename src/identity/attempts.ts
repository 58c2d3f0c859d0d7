import type { Clock } from "#kernel/clock.ts";
import { sleep } from "#kernel/timer.ts";
import { createFairQueue } from "./fair-queue.ts";
import type { Device } from "./devices.ts";
import type { Peer } from "./peer.ts";

/** Specification, section 8. */
export const FAILURE_DELAY_MS = 400;
/** The delay does not stop parallel guessing; these do, over the whole installation (decisions, "Sign-in"). */
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

/** What is guessed at: each has a bucket of its own. */
export type AttemptKind = "password" | "login_link";

/** The buckets that all processes of an installation draw from. */
export interface SharedAttempts {
  openBucket(kind: AttemptKind): AttemptBucket;
}

/** `ATTEMPTS_PER_SECOND` fall into it, and `ATTEMPTS_BURST` are in it at most. */
export interface AttemptBucket {
  /**
   * Draws one attempt. 0 when there was one, else after how many milliseconds to draw again. Never throws: a process that
   * cannot ask the others draws from a bucket of its own.
   */
  draw(): number | Promise<number>;
}

/** For a process that is alone. */
export function createOwnAttempts(clock: Clock): SharedAttempts {
  return { openBucket: () => createAttemptBucket(clock) };
}

export function createAttemptBucket(clock: Clock): AttemptBucket {
  let available = ATTEMPTS_BURST;
  let filledAtMs = clock.monotonicMs();
  return {
    draw() {
      const nowMs = clock.monotonicMs();
      const refilled = available + ((nowMs - filledAtMs) / 1000) * ATTEMPTS_PER_SECOND;
      available = Math.min(ATTEMPTS_BURST, refilled);
      filledAtMs = nowMs;
      if (available < 1) return ((1 - available) / ATTEMPTS_PER_SECOND) * 1000;
      available -= 1;
      return 0;
    },
  };
}

/** Who finds the bucket empty waits in a fair queue. */
export function createAttemptLimit(bucket: AttemptBucket, clock: Clock, pause: Pause = sleep): AttemptLimit {
  const queue = createFairQueue(clock, {
    waitingOfPeerMax: WAITING_OF_PEER_MAX,
    waitingMax: WAITING_MAX,
    waitMsMax: WAIT_MS_MAX,
  });
  let isCalling = false;

  const callUp = async (waitMs: number): Promise<void> => {
    isCalling = true;
    for (let nextMs = waitMs; !queue.isEmpty;) {
      if (nextMs > 0) await pause(nextMs);
      nextMs = await bucket.draw();
      if (nextMs === 0) queue.callNext();
    }
    isCalling = false;
  };

  return {
    async admit({ network }, { name, device } = UNKNOWN_BROWSER) {
      const waitMs = queue.isEmpty ? await bucket.draw() : null;
      if (waitMs === 0) return true;
      const turn = device === null ? queue.join(network, name) : queue.join(`device ${device.id}`);
      if (!isCalling) void callUp(waitMs ?? 0);
      return await turn;
    },
  };
}

export type Pause = (durationMs: number) => Promise<void>;
