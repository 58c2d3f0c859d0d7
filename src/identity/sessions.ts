import type { Clock, InstantUs } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import type { Ids } from "#kernel/ids.ts";
import type { Principal, Role } from "./principal.ts";
import type { IdentityStore } from "./store.ts";
import type { UsedStates } from "./sso-state.ts";
import { ProxyError } from "#kernel/errors.ts";

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

/**
 * The fields of a cookie value, and the hash under which its session is kept. Null when its signature does not hold, or it does
 * not say how its session was made and when it was issued: one of an earlier executable says less, and nothing tells whether it
 * is the newest.
 */
export function readSession(secrets: SecretBox, cookieValue: string) {
  const [token, role, print, issuedAt] = secrets.verify(cookieValue)?.split(".") ?? [];
  if (token === undefined || token === "" || role === undefined || print === undefined) return null;
  const issuedAtUs = Number(issuedAt);
  if (!Number.isSafeInteger(issuedAtUs)) return null;
  const tokenHash = secrets.hashToken(token);
  return { tokenHash, token, passwordPrint: print === NO_PASSWORD ? null : print, issuedAtUs };
}

const SESSION_COOKIE_NAME = "proxy_session";

/** In place of a password's print, which is longer. */
const NO_PASSWORD = "-";

interface SessionCookie {
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

const NONE: readonly string[] = [];

function listCookies(headers: Headers, name: string): readonly string[] {
  const cookies = headers.get("cookie");
  if (cookies === null || !cookies.includes(name)) return NONE;
  // Two Cookie header fields arrive joined by a comma, which has no place in a cookie of ours (RFC 6265, section 4.1.1).
  const values: string[] = [];
  // No closure, which would make a scope of its variables for each request, also without a cookie.
  for (const pair of cookies.split(/[;,]/)) {
    const equals = pair.indexOf("=");
    if (equals >= 0 && pair.slice(0, equals).trim() === name) values.push(pair.slice(equals + 1).trim());
  }
  return values;
}

interface SessionCookieOptions {
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

/**
 * A copy of a cookie is good for about so long while its owner uses the page. Shorter would sign more people out after a
 * crash of their browser, which writes its cookies to the disk up to half a minute late; longer gives a copy more.
 */
export const RENEW_AFTER_SECONDS = 3600;
/** Requests of other tabs are under way with the former cookie when the next one is used for the first time. */
export const OVERLAP_SECONDS = 60;
/** One browser alone is offered a cookie for so long. Then the offer is taken for lost, and whoever asks has one. */
const OFFER_SECONDS = 60;
/** Offers, and sessions with a first use, that are remembered; past it the oldest are forgotten. */
const REMEMBERED_MAX = 10_000;

/** A session as a request found it: what its cookie says, and what its row does. */
export interface SessionInUse {
  readonly tokenHash: string;
  readonly token: string;
  readonly passwordPrint: string | null;
  /** The moment at which the cookie that came was issued. */
  readonly issuedAtUs: InstantUs;
  /** The moment at which the newest cookie that was ever used was issued. */
  readonly newestIssuedAtUs: InstantUs;
  readonly expiresAtUs: InstantUs;
}

/**
 * Cookies that follow each other (RFC 9700, section 4.14.2, has it so for refresh tokens). A cookie is offered, and the one
 * before it lives on until the next has been used: an answer that was lost signs nobody out.
 */
interface SessionRenewal {
  /**
   * `next`: an offered cookie is used for the first time, and the row has to say so; `former`: one of requests under way;
   * `reused`: a copy, or the owner's own after a copy was renewed.
   */
  judge(session: SessionInUse): "newest" | "next" | "former" | "reused";
  /**
   * Before the row says that this cookie is the newest: others read that while the disk has not confirmed it yet, and the
   * former cookie is good for a while from here on.
   */
  begin(session: SessionInUse): void;
  /** A cookie in place of the newest one when that is old; null when nothing is due. The session's end stays. */
  offer(session: SessionInUse, principal: Principal): Promise<IssuedSession | null>;
}

interface SessionRenewalDeps {
  readonly secrets: Pick<SecretBox, "sign">;
  readonly clock: Clock;
  /** Lets one of the replicas that are asked at once offer a cookie. */
  readonly usedStates: UsedStates;
}

export function createSessionRenewal({ secrets, clock, usedStates }: SessionRenewalDeps): SessionRenewal {
  // After a start, times that it has forgotten count from the start on.
  const startedMs = clock.monotonicMs();
  const firstUsedMs = new Map<string, number>();
  const offeredMs = new Map<string, number>();
  const isWithin = (sinceMs: number, seconds: number): boolean =>
    clock.monotonicMs() - sinceMs < seconds * 1000;

  return {
    judge({ tokenHash, issuedAtUs, newestIssuedAtUs }) {
      if (issuedAtUs === newestIssuedAtUs) return "newest";
      if (issuedAtUs > newestIssuedAtUs) return "next";
      if (isWithin(firstUsedMs.get(tokenHash) ?? startedMs, OVERLAP_SECONDS)) return "former";
      // Another replica may have seen the first use, which a browser makes as soon as it has the cookie.
      return clock.nowUs() - newestIssuedAtUs < OVERLAP_SECONDS * 1_000_000 ? "former" : "reused";
    },
    begin: ({ tokenHash }) => remember(firstUsedMs, tokenHash, clock.monotonicMs()),
    async offer({ tokenHash, token, passwordPrint, issuedAtUs, newestIssuedAtUs, expiresAtUs }, principal) {
      const nowUs = clock.nowUs();
      if (issuedAtUs !== newestIssuedAtUs || nowUs - issuedAtUs < RENEW_AFTER_SECONDS * 1_000_000)
        return null;
      // Named by the newest cookie: another one may have been used at another replica since.
      const name = `cookie of ${tokenHash} after ${newestIssuedAtUs}`;
      const sinceMs = offeredMs.get(name);
      // Tabs that ask at once must not be given cookies of which the older one could arrive last.
      if (sinceMs !== undefined && isWithin(sinceMs, OFFER_SECONDS)) return null;
      // After a lost offer, every request is offered a cookie: a thief could otherwise take them all and use none.
      if (sinceMs === undefined) {
        remember(offeredMs, name, clock.monotonicMs());
        const isOurs = usedStates.claim(name, nowUs + OFFER_SECONDS * 1_000_000);
        // A request does not fail for a cookie that may come later.
        if (!(await isOurs.catch(() => false))) return null;
      }
      const cookie = { token, role: principal.role, passwordPrint, issuedAtUs: nowUs };
      return { principal, cookieValue: signSession(secrets, cookie), expiresAtUs };
    },
  };
}

function remember(moments: Map<string, number>, name: string, atMs: number): void {
  moments.delete(name);
  moments.set(name, atMs);
  const [oldest] = moments.keys();
  if (moments.size > REMEMBERED_MAX && oldest !== undefined) moments.delete(oldest);
}

/**
 * Keeps another site's page from acting with a browser's session (decisions, "Sign-in"): for mutations by session and for
 * the password form. `ownOrigin` is the public URL's origin, else `http://` and the Host header; `X-Forwarded-*` is never
 * looked at. Throws `cross_origin_rejected`. A request with neither header was not made by a browser's page and passes.
 */
export function checkOrigin(headers: Headers, ownOrigin: string): void {
  const fetchSite = headers.get("sec-fetch-site");
  if (fetchSite !== null && fetchSite !== "same-origin" && fetchSite !== "none") throw refuse();
  const origin = headers.get("origin");
  if (origin === null) return;
  // An unparsable own origin (a broken Host) equals nothing, rather than another unparsable one.
  const given = parseOrigin(origin);
  if (given === null || given !== parseOrigin(ownOrigin)) throw refuse();
}

/** Scheme, host and port in their one spelling; null for `null` and for whatever is no http(s) origin. */
function parseOrigin(text: string): string | null {
  const url = URL.parse(text);
  return url !== null && (url.protocol === "http:" || url.protocol === "https:") ? url.origin : null;
}

function refuse(): ProxyError {
  return new ProxyError("cross_origin_rejected", "This request comes from another origin.");
}
