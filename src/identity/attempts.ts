import type { Clock } from "#kernel/clock.ts";
import { sleep } from "#kernel/timer.ts";
import { createFairQueue } from "./fair-queue.ts";
import type { Peer } from "./peer.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import type { Ids } from "#kernel/ids.ts";
import type { Principal } from "./principal.ts";
import { findCookie } from "./sessions.ts";

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

/** The browser that asks, as far as its headers tell: those that share an address have turns one after the other. */
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

/** The secrets that strangers guess at: each kind has a bucket of its own. */
export type AttemptKind = "password" | "login_link";

/** The buckets that all processes of an installation draw from. */
export interface SharedAttempts {
  openBucket(kind: AttemptKind): AttemptBucket;
}

/** `ATTEMPTS_PER_SECOND` fall into it, and `ATTEMPTS_BURST` are in it at most. */
interface AttemptBucket {
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

/** An attempt that finds the bucket empty waits in a fair queue. */
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

const DEVICE_COOKIE_NAME = "proxy_device";
/** Browsers keep no cookie for longer than 400 days (RFC 6265bis, section 5.5). */
const DEVICE_TTL_SECONDS = 365 * 86_400;
const DEVICE_ID_BYTES = 16;
/** 132 bits of base64url. */
const PRINT_LENGTH = 22;
/** The first part of the signed value, which no other signed value begins with. */
const KIND = "device";

/**
 * Browsers that a principal has signed in with before (OWASP, "Device cookies"). Such a browser waits for its sign-in in a
 * line of its own, beside strangers at the same address; it opens nothing, and a wrong password stays one.
 */
export interface Devices {
  /** A `Set-Cookie` value, for a browser that has just signed in. */
  issue(principal: Principal, options: { readonly secure: boolean }): string;
  /** The browser of these headers; null when it has never signed in, or not in the last year. */
  find(headers: Headers): Device | null;
}

interface Device {
  readonly id: string;
  isOf(principal: Pick<Principal, "id">): boolean;
}

interface DevicesDeps {
  readonly secrets: Pick<SecretBox, "sign" | "verify" | "hashToken">;
  readonly clock: Pick<Clock, "nowUs">;
  readonly ids: Pick<Ids, "randomBytes">;
}

export function createDevices({ secrets, clock, ids }: DevicesDeps): Devices {
  const printOf = ({ id }: Pick<Principal, "id">): string =>
    Buffer.from(secrets.hashToken(`device of ${id}`), "hex")
      .toString("base64url")
      .slice(0, PRINT_LENGTH);
  return {
    issue(principal, { secure }) {
      const id = Buffer.from(ids.randomBytes(DEVICE_ID_BYTES)).toString("base64url");
      const value = secrets.sign([KIND, id, printOf(principal), clock.nowUs()].join("."));
      // Strict: another site that sends a browser here has nothing to do with how it waits.
      const attributes = `Path=/auth; HttpOnly; SameSite=Strict; Max-Age=${DEVICE_TTL_SECONDS}`;
      return `${DEVICE_COOKIE_NAME}=${value}; ${attributes}${secure ? "; Secure" : ""}`;
    },
    find(headers) {
      const value = findCookie(headers, DEVICE_COOKIE_NAME);
      const parts = value === null ? null : secrets.verify(value)?.split(".");
      const [kind, id, print, issuedAt] = parts ?? [];
      if (kind !== KIND || id === undefined) return null;
      const ageUs = clock.nowUs() - Number(issuedAt);
      if (!(ageUs < DEVICE_TTL_SECONDS * 1_000_000)) return null;
      return { id, isOf: (principal) => print === printOf(principal) };
    },
  };
}
