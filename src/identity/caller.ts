import type { Clock } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { KeyUse } from "./key-use.ts";
import type { PasswordPrint } from "./password-print.ts";
import { API_KEY_PREFIX, isOwnKeyText, type OwnedSecret, toSuffix } from "./secret.ts";
import { findSecret, peekSecret, refuseEnded, type SecretWords } from "./presented-secret.ts";
import { LOCAL_PRINCIPAL, type Principal } from "./principal.ts";
import { findSessionCookie } from "./session-cookie.ts";
import { createSessionRenewal, type SessionInUse } from "./session-renewal.ts";
import { type IssuedSession, readSession } from "./sessions.ts";
import type { SignInLog } from "./sign-in-log.ts";
import type { UsedStates } from "./sso-state.ts";
import type { FoundSecret, IdentityStore } from "./store.ts";

/** The principal that calls, and its credential. Only a mutation by session has its origin checked. */
export interface Caller {
  readonly principal: Principal;
  /** On all of its usage: the principal's, and before them the key's. */
  readonly fixedTags: readonly string[];
  readonly credential:
    /** `isFormer`: by the secret from before a rotation, in its grace. */
    | { readonly kind: "key"; readonly key: OwnedSecret; readonly isFormer: boolean }
    | { readonly kind: "session"; readonly session: SessionInUse }
    | { readonly kind: "local" };
}

/** A command beside the data folder. */
export const LOCAL_CALLER: Caller = {
  principal: LOCAL_PRINCIPAL,
  fixedTags: LOCAL_PRINCIPAL.tags,
  credential: { kind: "local" },
};

export interface Authenticator {
  /**
   * The order of section 5: a bearer key, else `x-api-key`, else the session cookie; the first that is present decides.
   * Throws `missing_api_key` when there is none or only a dead session, `invalid_api_key` for a key that is not good.
   * A promise only when memory does not tell.
   */
  authenticate(headers: Headers): Caller | Promise<Caller>;
  /**
   * Deletes the session of the request's cookie, whatever key comes with it and also while its principal is disabled:
   * it must not come back with the principal. Without such a session nothing happens.
   */
  endSession(headers: Headers): Promise<void>;
  /** A cookie for the caller's browser in place of an old one; mostly null. */
  renew(caller: Caller): Promise<IssuedSession | null>;
}

export interface AuthenticatorDeps {
  readonly store: IdentityStore;
  readonly keyUse: KeyUse;
  readonly secrets: SecretBox;
  readonly clock: Clock;
  readonly passwordPrint: Pick<PasswordPrint, "isInForce">;
  readonly signIns: Pick<SignInLog, "sessionReused">;
  readonly usedStates: UsedStates;
}

/** On every request: one HMAC (more for keys that are older than the secret key) and one look-up that asks the file for changes, so that a deleted key fails on the very next request. */
export function createAuthenticator(deps: AuthenticatorDeps): Authenticator {
  const { store, keyUse, secrets, clock } = deps;
  const search = { store: store.keys, secrets };
  const renewal = createSessionRenewal(deps);

  function authenticateKey(plaintext: string): Caller | Promise<Caller> {
    // Relay tokens start with `lpt_` and fail here: they authenticate nothing but the relay path.
    if (!plaintext.startsWith(API_KEY_PREFIX)) throw refuseForeignKey();
    const known = peekSecret(search, plaintext);
    return known === null ? findSecret(search, plaintext).then(toKeyCaller) : toKeyCaller(known);
  }

  function toKeyCaller(found: FoundSecret | null): Caller {
    // Unknown, deleted and disabled look the same from outside.
    if (found === null || !found.principal.enabled) throw refuseKey();
    const { secret, principal, fixedTags, endsAtUs, formerUntilUs } = found;
    // Infinity for most: they do not even ask for the time.
    if (endsAtUs !== Infinity && clock.nowUs() >= endsAtUs) {
      throw refuseEnded(found, clock.nowUs(), KEY_WORDS);
    }
    keyUse.touch(secret.id);
    const credential = { kind: "key", key: secret, isFormer: formerUntilUs !== null } as const;
    return { principal, fixedTags, credential };
  }

  async function authenticateSession(cookieValue: string): Promise<Caller> {
    const cookie = readSession(secrets, cookieValue);
    if (cookie === null) throw refuseMissing();
    const { tokenHash, passwordPrint } = cookie;
    const found = await store.findSession(tokenHash, clock.nowUs());
    if (found === null || !found.principal.enabled) throw refuseMissing();
    if (passwordPrint !== null && !deps.passwordPrint.isInForce(passwordPrint)) {
      // For good: it must not come back with the password.
      await store.deleteSession(tokenHash);
      throw refuseMissing();
    }
    const { cookieIssuedAtUs, expiresAtUs } = found.session;
    const session = { ...cookie, newestIssuedAtUs: cookieIssuedAtUs, expiresAtUs };
    const { principal } = found;
    await follow(session, principal);
    return { principal, fixedTags: principal.tags, credential: { kind: "session", session } };
  }

  async function follow(session: SessionInUse, principal: Principal): Promise<void> {
    const age = renewal.judge(session);
    if (age === "reused") {
      // Two hold cookies of one session, and nothing tells which of them is its owner.
      await store.deleteSession(session.tokenHash);
      deps.signIns.sessionReused(principal);
      throw refuseMissing();
    }
    if (age !== "next") return;
    renewal.begin(session);
    await store.advanceSession(session.tokenHash, session.issuedAtUs);
  }

  return {
    authenticate(headers) {
      const plaintext = findPresentedKey(headers);
      if (plaintext !== null) return authenticateKey(plaintext);
      const cookieValue = findSessionCookie(headers);
      if (cookieValue !== null) return authenticateSession(cookieValue);
      throw refuseMissing();
    },
    async endSession(headers) {
      const cookieValue = findSessionCookie(headers);
      const session = cookieValue === null ? null : readSession(secrets, cookieValue);
      if (session !== null) await store.deleteSession(session.tokenHash);
    },
    renew: async ({ principal, credential }) =>
      credential.kind === "session" ? renewal.offer(credential.session, principal) : null,
  };
}

/** The caller of a route that answers everybody; null when `authenticate` refuses its credential, or its scope. */
export async function findCaller(authenticate: () => Caller | Promise<Caller>): Promise<Caller | null> {
  try {
    return await authenticate();
  } catch (refusal) {
    if (refusal instanceof ProxyError && (refusal.status === 401 || refusal.code === "scope_required"))
      return null;
    throw refusal;
  }
}

const KEY_WORDS: SecretWords = { noun: "API key", code: "invalid_api_key", unknown: refuseKey };

/** Throws `admin_required`. The role is the principal's as just read, not the one in its cookie. */
export function requireAdmin(caller: Caller): void {
  if (caller.principal.role !== "admin") {
    throw new ProxyError("admin_required", "This needs the admin role.");
  }
}

/**
 * Throws `invalid_api_key` for a secret from before a rotation, which in its grace is good for the data plane alone: a copy of
 * it must not rotate again and lock its owner out.
 */
export function refuseFormer({ credential }: Caller): void {
  if (credential.kind !== "key" || !credential.isFormer) return;
  throw new ProxyError(
    "invalid_api_key",
    "This API key was rotated: until its grace ends, the secret from before is good for requests to models only. Use the new one.",
  );
}

/** Throws `scope_required` for a key that is for inference alone. */
export function requireFullScope({ credential }: Caller): void {
  if (credential.kind !== "key" || credential.key.terms.scopedBy === null) return;
  throw new ProxyError(
    "scope_required",
    "The scope of this API key is inference: it reaches /v1, /my/usage and /my/limits only. Use a key of scope full, or sign in.",
  );
}

/** The aliases that a caller may use and see; null: every one. The one place that narrows them. */
export function toModelScope({ credential }: Caller): ReadonlySet<string> | null {
  return credential.kind === "key" ? credential.key.terms.models : null;
}

/**
 * The key that a request presents, good or not. A scheme other than Bearer, and `Bearer` with nothing after it, count as
 * no bearer header at all; then `x-api-key` is looked at.
 */
function findPresentedKey(headers: Headers): string | null {
  const authorization = headers.get("authorization");
  if (authorization !== null) {
    // Two Authorization headers arrive joined by a comma; which of them is meant cannot be told.
    if (authorization.includes(",")) throw refuseKey();
    const bearer = findBearer(authorization);
    if (bearer !== undefined) return bearer;
  }
  const apiKey = headers.get("x-api-key")?.trim() ?? "";
  return apiKey === "" ? null : apiKey;
}

/** The last four characters of the key that a request presents, good or not, if it has the form of this server's own. */
export function findKeySuffix(headers: Headers): string | null {
  const presented = findBearer(headers.get("authorization") ?? "") ?? headers.get("x-api-key")?.trim() ?? "";
  return isOwnKeyText(presented) ? toSuffix(presented) : null;
}

function findBearer(authorization: string): string | undefined {
  return /^bearer[ \t]+(.+)$/i.exec(authorization.trim())?.[1];
}

function refuseKey(): ProxyError {
  return new ProxyError("invalid_api_key", "This API key is not valid.");
}

function refuseForeignKey(): ProxyError {
  return new ProxyError("invalid_api_key", `This is not a Lockport key; they begin with ${API_KEY_PREFIX}.`);
}

function refuseMissing(): ProxyError {
  return new ProxyError(
    "missing_api_key",
    "An API key is needed: send it as Authorization: Bearer <API_KEY>.",
  );
}
