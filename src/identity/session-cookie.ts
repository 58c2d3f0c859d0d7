import type { SecretBox } from "#kernel/crypto.ts";
import type { InstantUs } from "#kernel/clock.ts";
import type { Role } from "./principal.ts";

export const SESSION_COOKIE_NAME = "proxy_session";

/** In place of a password's print, which is longer. */
const NO_PASSWORD = "-";

export interface SessionCookie {
  /** Random; the session's only secret. */
  readonly token: string;
  /** At sign-in, for a reader's eyes; the role in force is the principal's, read from the store at each request. */
  readonly role: Role;
  /** A keyed hash of the password that made the session; null when it was made otherwise. */
  readonly passwordPrint: string | null;
  /** A session in use has cookies one after the other; a later one ends those before it. */
  readonly issuedAtUs: InstantUs;
}

/** The signed value of the session cookie (specification, section 5). */
export function signSession(
  secrets: Pick<SecretBox, "sign">,
  { token, role, passwordPrint, issuedAtUs }: SessionCookie,
): string {
  return secrets.sign([token, role, passwordPrint ?? NO_PASSWORD, issuedAtUs].join("."));
}

/**
 * What a cookie value says, or null when its signature does not hold, or it does not say how its session was made and when
 * it was issued: one of an earlier executable says less, and nothing tells whether it is the newest.
 */
export function verifySession(secrets: SecretBox, cookieValue: string): Omit<SessionCookie, "role"> | null {
  const [token, role, print, issuedAt] = secrets.verify(cookieValue)?.split(".") ?? [];
  if (token === undefined || token === "" || role === undefined || print === undefined) return null;
  const issuedAtUs = Number(issuedAt);
  if (!Number.isSafeInteger(issuedAtUs)) return null;
  return { token, passwordPrint: print === NO_PASSWORD ? null : print, issuedAtUs };
}

/** The value of the session cookie in a request; null when there is none, and when there are two (decisions, "Sign-in"). */
export function findSessionCookie(headers: Headers): string | null {
  return findCookie(headers, SESSION_COOKIE_NAME);
}

/** The value of the one cookie of this name in a request; null when there is none, an empty one, or more than one. */
export function findCookie(headers: Headers, name: string): string | null {
  const values = listCookies(headers, name);
  const [value] = values;
  return values.length === 1 && value !== undefined && value !== "" ? value : null;
}

/** The values of the session cookies in a request, which no header that goes on may repeat. */
export function listSessionCookies(headers: Headers): readonly string[] {
  return listCookies(headers, SESSION_COOKIE_NAME);
}

function listCookies(headers: Headers, name: string): readonly string[] {
  const cookies = headers.get("cookie");
  if (cookies === null || !cookies.includes(name)) return [];
  // Two Cookie header fields arrive joined by a comma, which has no place in a cookie of ours (RFC 6265, section 4.1.1).
  return cookies.split(/[;,]/).flatMap((pair) => {
    const equals = pair.indexOf("=");
    return equals >= 0 && pair.slice(0, equals).trim() === name ? [pair.slice(equals + 1).trim()] : [];
  });
}

export interface SessionCookieOptions {
  readonly value: string;
  /** Rounded up: the moment that signing in took is not to make 7 days a second less. */
  readonly maxAgeSeconds: number;
  /** True when the server's public URL is https. */
  readonly secure: boolean;
}

/** A `Set-Cookie` value (RFC 6265, section 4.1). */
export function buildSessionCookie({ value, maxAgeSeconds, secure }: SessionCookieOptions): string {
  const attributes = `Path=/; HttpOnly; SameSite=Lax; Max-Age=${Math.ceil(maxAgeSeconds)}${secure ? "; Secure" : ""}`;
  return `${SESSION_COOKIE_NAME}=${value}; ${attributes}`;
}

/** A `Set-Cookie` value that makes a browser forget the session cookie. */
export function buildClearedSessionCookie(options: { readonly secure: boolean }): string {
  return buildSessionCookie({ value: "", maxAgeSeconds: 0, secure: options.secure });
}
