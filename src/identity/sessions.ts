import type { Clock, InstantUs } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import type { Ids } from "#kernel/ids.ts";
import type { Principal } from "./principal.ts";
import { findSessionCookie, signSession, verifySession } from "./session-cookie.ts";
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
  const token = createToken(deps.ids);
  const createdAtUs = deps.clock.nowUs();
  const expiresAtUs = createdAtUs + Math.round(deps.sessionTtlSeconds * 1_000_000);
  const tokenHash = deps.secrets.hashToken(token);
  await deps.store.createSession(
    { tokenHash, principalId: principal.id, createdAtUs, expiresAtUs },
    createdAtUs,
  );
  const cookieValue = signSession(deps.secrets, { token, role: principal.role, passwordPrint });
  return { principal, cookieValue, expiresAtUs };
}

/** How long a cookie is good for once a newer one was sent: requests of other tabs are under way with it. */
export const FORMER_COOKIE_SECONDS = 60;
/** A copy of a cookie is worth something for about so long while its owner uses the page. */
export const RENEW_AFTER_SECONDS = 3600;

export interface SessionRenewal {
  /**
   * A new cookie for a session whose own is older than `RENEW_AFTER_SECONDS`, with the age that is left: the former one is
   * dead after `FORMER_COOKIE_SECONDS`. Null when there is nothing to renew.
   */
  renew(headers: Headers): Promise<IssuedSession | null>;
}

/**
 * Cookies are sent to every port of a host (RFC 6265, section 8.5), so that another program there sees this one's: what it
 * has seen, or logged, must not be good for as long as the session is.
 */
export function createSessionRenewal(deps: Omit<SessionsDeps, "sessionTtlSeconds">): SessionRenewal {
  const { store, secrets, clock, ids } = deps;
  return {
    async renew(headers) {
      const cookie = findSessionCookie(headers);
      const former = cookie === null ? null : readSession(secrets, cookie);
      if (former === null) return null;
      const nowUs = clock.nowUs();
      const found = await store.findSession(former.tokenHash, nowUs);
      if (found === null || nowUs - found.session.createdAtUs < RENEW_AFTER_SECONDS * 1_000_000) return null;
      const token = createToken(ids);
      const next = { ...found.session, tokenHash: secrets.hashToken(token), createdAtUs: nowUs };
      const untilUs = nowUs + FORMER_COOKIE_SECONDS * 1_000_000;
      if (!(await store.renewSession(former.tokenHash, next, untilUs))) return null;
      const { principal } = found;
      const { passwordPrint } = former;
      const cookieValue = signSession(secrets, { token, role: principal.role, passwordPrint });
      return { principal, cookieValue, expiresAtUs: next.expiresAtUs };
    },
  };
}

function createToken(ids: Ids): string {
  return Buffer.from(ids.randomBytes(SESSION_TOKEN_BYTES)).toString("base64url");
}

/** The hash under which a cookie's session is kept; null when the cookie is not one that this installation signed. */
export function readSession(
  secrets: SecretBox,
  cookieValue: string,
): { readonly tokenHash: string; readonly passwordPrint: string | null } | null {
  const cookie = verifySession(secrets, cookieValue);
  if (cookie === null) return null;
  return { tokenHash: secrets.hashToken(cookie.token), passwordPrint: cookie.passwordPrint };
}
