import type { Clock } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import type { Ids } from "#kernel/ids.ts";
import type { Principal } from "./principal.ts";
import { findCookie } from "./session-cookie.ts";

export const DEVICE_COOKIE_NAME = "proxy_device";
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

export interface Device {
  readonly id: string;
  isOf(principal: Pick<Principal, "id">): boolean;
}

export interface DevicesDeps {
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
