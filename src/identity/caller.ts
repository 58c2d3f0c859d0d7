import { type Clock, formatInstant, type InstantUs } from "#kernel/clock.ts";
import { type SecretBox, sha256Hex } from "#kernel/crypto.ts";
import { ProxyError, type ErrorCode } from "#kernel/errors.ts";
import type { KeyUse } from "./key-use.ts";
import type { PasswordPrint } from "./password.ts";
import {
  API_KEY_PREFIX,
  isOwnKeyText,
  type OwnedSecret,
  toSuffix,
  RELAY_TOKEN_PREFIX,
  toDigestText,
} from "./secret.ts";
import { LOCAL_PRINCIPAL, type Principal } from "./principal.ts";
import {
  findSessionCookie,
  createSessionRenewal,
  type SessionInUse,
  type IssuedSession,
  readSession,
} from "./sessions.ts";
import type { SignInLog } from "./sign-in-log.ts";
import type { UsedStates } from "./sso-state.ts";
import type { FoundSecret, IdentityStore, SecretStore } from "./store.ts";

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

interface AuthenticatorDeps {
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
    const { secret, principal, fixedTags, formerUntilUs } = requireGood(found, clock, KEY_WORDS);
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
    "The scope of this API key is inference: it reaches /v1, /my/usage, /my/limits and /my/requests only. Use a key of scope full, or sign in.",
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

/** Nothing is captured: what it would be captured in is garbage of each request. */
const BEARER = /^bearer[ \t]+/i;

function findBearer(authorization: string): string | undefined {
  const text = authorization.trim();
  return BEARER.test(text) ? text.replace(BEARER, "") : undefined;
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

interface SecretSearch {
  readonly store: Pick<SecretStore, "findByHash" | "peekByHash">;
  readonly secrets: SecretBox;
}

/** The secret with this plaintext, if memory tells; null when the store has to be asked. */
function peekSecret({ store, secrets }: SecretSearch, plaintext: string): FoundSecret | null {
  const known = store.peekByHash(secrets.hashToken(plaintext));
  if (known !== null) return known;
  for (const hash of listOtherHashes(secrets, plaintext)) {
    const other = store.peekByHash(hash);
    if (other !== null) return other;
  }
  return null;
}

/** Everything that a plaintext may be stored under, first what a new secret is stored under. */
export function listHashes(secrets: SecretBox, plaintext: string): readonly string[] {
  return [secrets.hashToken(plaintext), ...listOtherHashes(secrets, plaintext)];
}

/** By former secret keys, and as a secret that a file has only the SHA-256 of. One at a time: most are found before the last. */
function* listOtherHashes(secrets: SecretBox, plaintext: string): Generator<string> {
  yield* secrets.formerHashes(plaintext);
  const digest = toDigestText(sha256Hex(plaintext));
  yield secrets.hashToken(digest);
  yield* secrets.formerHashes(digest);
}

/**
 * The secret with this plaintext, and its owner; null when there is none. It is stored under the hash of the secret key that
 * was in use when it was made. The store notices a rotation when it is asked: then the look-up is made once more.
 */
async function findSecret({ store, secrets }: SecretSearch, plaintext: string): Promise<FoundSecret | null> {
  for (;;) {
    const { generation } = secrets;
    for (const hash of listHashes(secrets, plaintext)) {
      const found = await store.findByHash(hash);
      if (found !== null) return found;
    }
    if (secrets.generation === generation) return null;
  }
}

/** The name of a kind of secret, and the refusals of a request with one. */
interface SecretWords {
  readonly noun: "API key" | "relay token";
  readonly code: ErrorCode;
  readonly unknown: () => ProxyError;
}

/** The secret that a request has presented. Throws unless it is good: unknown, deleted and disabled look the same from outside. */
function requireGood(
  found: FoundSecret | null,
  clock: Pick<Clock, "nowUs">,
  words: SecretWords,
): FoundSecret {
  if (found === null || !found.principal.enabled) throw words.unknown();
  // Infinity for most: they do not even ask for the time.
  if (found.endsAtUs !== Infinity && clock.nowUs() >= found.endsAtUs) {
    throw refuseEnded(found, clock.nowUs(), words);
  }
  return found;
}

/**
 * The refusal of a secret whose `endsAtUs` is reached. Only the holder of the right plaintext is told more than that it is
 * not valid.
 */
function refuseEnded(
  { secret: { terms }, formerUntilUs }: FoundSecret,
  nowUs: InstantUs,
  { noun, code, unknown }: SecretWords,
): ProxyError {
  if (formerUntilUs !== null && nowUs >= formerUntilUs) return unknown();
  const { expiresAtUs, pausedBy } = terms;
  if (expiresAtUs !== null && nowUs >= expiresAtUs) {
    return new ProxyError(
      code,
      `This ${noun} expired at ${formatInstant(expiresAtUs)}. Make another one, or set a later expiry.`,
    );
  }
  const who = pausedBy === "admin" ? "An admin" : "Its owner or an admin";
  return new ProxyError(code, `This ${noun} is paused. ${who} can resume it.`);
}

/** To whom a relayed request is attributed, and by which token. */
interface RelayCaller {
  readonly principal: Principal;
  readonly relayTokenId: string;
  /** On all of its usage: the principal's, and before them the token's. */
  readonly fixedTags: readonly string[];
}

export interface RelayAuthenticator {
  /**
   * The owner of the token in a relay path (specification, sections 4.5 and 5). Throws `unknown_relay_token` for whatever
   * is no living token of an enabled principal: unknown, deleted, malformed, expired, paused, an API key.
   */
  authenticate(token: string): Promise<RelayCaller>;
}

interface RelayAuthenticatorDeps {
  readonly store: Pick<IdentityStore, "relayTokens">;
  readonly keyUse: KeyUse;
  readonly secrets: SecretBox;
  readonly clock: Pick<Clock, "nowUs">;
}

/** Asks the store on every request, so that a deleted token fails on the very next one. */
export function createRelayAuthenticator({
  store,
  keyUse,
  secrets,
  clock,
}: RelayAuthenticatorDeps): RelayAuthenticator {
  const search = { store: store.relayTokens, secrets };
  return {
    async authenticate(token) {
      // An API key starts with `lp_` and fails here, whosever it is.
      if (!token.startsWith(RELAY_TOKEN_PREFIX)) throw refuseForeign();
      const found = peekSecret(search, token) ?? (await findSecret(search, token));
      const { principal, secret, fixedTags } = requireGood(found, clock, TOKEN_WORDS);
      keyUse.touch(secret.id);
      return { principal, relayTokenId: secret.id, fixedTags };
    },
  };
}

const TOKEN_WORDS: SecretWords = {
  noun: "relay token",
  code: "unknown_relay_token",
  // Names no token: its message is read in logs and screenshots.
  unknown: () => new ProxyError("unknown_relay_token", "This relay token is not known."),
};

function refuseForeign(): ProxyError {
  return new ProxyError(
    "unknown_relay_token",
    `This is not a relay token of Lockport; they begin with ${RELAY_TOKEN_PREFIX}.`,
  );
}
