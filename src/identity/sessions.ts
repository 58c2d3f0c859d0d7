import type { Clock, InstantUs } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import type { Ids } from "#kernel/ids.ts";
import type { Principal } from "./principal.ts";
import { type SessionCookie, signSession, verifySession } from "./session-cookie.ts";
import type { IdentityStore } from "./store.ts";

/** 256 bits: the session's only secret. */
const SESSION_TOKEN_BYTES = 32;

export interface SessionsDeps {
  readonly store: IdentityStore;
  readonly secrets: SecretBox;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Absolute lifetime: use does not prolong it. */
  readonly sessionTtlSeconds: number;
}

export interface IssuedSession {
  readonly principal: Principal;
  /** Signed; for `buildSessionCookie`. */
  readonly cookieValue: string;
  readonly expiresAtUs: InstantUs;
}

/**
 * Signing in always issues a new session: a value that a browser held before is never taken over (no session fixation).
 * `passwordPrint` is of the password that was given, if one was.
 */
export async function issueSession(
  deps: SessionsDeps,
  principal: Principal,
  passwordPrint: string | null = null,
): Promise<IssuedSession> {
  const token = Buffer.from(deps.ids.randomBytes(SESSION_TOKEN_BYTES)).toString("base64url");
  const issuedAtUs = deps.clock.nowUs();
  const expiresAtUs = issuedAtUs + Math.round(deps.sessionTtlSeconds * 1_000_000);
  const tokenHash = deps.secrets.hashToken(token);
  await deps.store.createSession(
    { tokenHash, principalId: principal.id, cookieIssuedAtUs: issuedAtUs, expiresAtUs },
    issuedAtUs,
  );
  const cookieValue = signSession(deps.secrets, { token, role: principal.role, passwordPrint, issuedAtUs });
  return { principal, cookieValue, expiresAtUs };
}

/** A cookie, and the hash under which its session is kept. */
export interface ReadSession extends Omit<SessionCookie, "role"> {
  readonly tokenHash: string;
}

/** Null when the cookie is not one that this installation signed. */
export function readSession(secrets: SecretBox, cookieValue: string): ReadSession | null {
  const cookie = verifySession(secrets, cookieValue);
  return cookie === null ? null : { ...cookie, tokenHash: secrets.hashToken(cookie.token) };
}
