import type { SecretBox } from "#kernel/crypto.ts";
import type { Role } from "./principal.ts";

export const SESSION_COOKIE_NAME = "proxy_session";

/**
 * The signed value of the session cookie: a random token and the role at sign-in (specification, section 5). The role is
 * for a reader's eyes; the role in force is the principal's, read from the store at each request.
 */
export function signSession(secrets: SecretBox, token: string, role: Role): string {
  return secrets.sign(`${token}.${role}`);
}

/** The token of a cookie value, or null when the signature does not hold. */
export function verifySession(secrets: SecretBox, cookieValue: string): string | null {
  const value = secrets.verify(cookieValue);
  if (value === null) return null;
  const dot = value.lastIndexOf(".");
  return dot > 0 ? value.slice(0, dot) : null;
}

/** The value of the session cookie in a request; null when there is none, and when there are two (decisions, "Sign-in"). */
export function findSessionCookie(headers: Headers): string | null {
  return findCookie(headers, SESSION_COOKIE_NAME);
}

/** The value of the one cookie of this name in a request; null when there is none, an empty one, or more than one. */
export function findCookie(headers: Headers, name: string): string | null {
  const cookies = headers.get("cookie");
  if (cookies === null || !cookies.includes(name)) return null;
  // Two Cookie header fields arrive joined by a comma, which has no place in a cookie of ours (RFC 6265, section 4.1.1).
  const values = cookies.split(/[;,]/).flatMap((pair) => {
    const equals = pair.indexOf("=");
    return equals >= 0 && pair.slice(0, equals).trim() === name ? [pair.slice(equals + 1).trim()] : [];
  });
  const [value] = values;
  return values.length === 1 && value !== undefined && value !== "" ? value : null;
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
