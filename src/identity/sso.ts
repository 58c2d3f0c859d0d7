import type { Peer } from "./peer.ts";
import { ADMIN_PRINCIPAL_NAME, type Principal, type Role } from "./principal.ts";
import { type IssuedSession, type SessionsDeps, issueSession } from "./sessions.ts";
import type { SignInLog } from "./sign-in-log.ts";
import {
  STATE_SECONDS,
  STATE_SECRET_BYTES,
  type SignInAttempt,
  type UsedStates,
  isRetryState,
  readStateCookie,
  takeAttempt,
  toSignInAttempt,
} from "./sso-state.ts";
import type { IdentityStore } from "./store.ts";
import type { Clock } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import type { Log, LogFields } from "#kernel/log.ts";
import { NAME_LENGTH_MAX } from "#kernel/text.ts";

/** The values that one sign-in sends out, and expects back. */
export interface AuthorizationRequest {
  readonly redirectUri: string;
  readonly state: string;
  readonly nonce: string;
  /** RFC 7636, section 4.1. */
  readonly codeVerifier: string;
}

/** The account that signed in, as the provider has proved it. */
export interface ProvenIdentity {
  /** `iss` of the ID token. */
  readonly issuer: string;
  readonly subject: string;
  /** User info's claim, else the ID token's; undefined when neither has it, or both have null. */
  claim(name: string): unknown;
}

/** An OpenID provider, found by discovery from its issuer at the first sign-in and never before. */
export interface OpenIdProvider {
  /** The URL to send the browser to. Throws `sso_exchange_failed` when the provider's metadata cannot be had. */
  buildAuthorizationUrl(request: AuthorizationRequest): Promise<string>;
  /**
   * Redeems the code of a callback whose `state` was found good. The ID token is verified (signature, `iss`, `aud`, `exp`,
   * `nonce`), and user info has to have the same `sub`. Throws `sso_exchange_failed` and `sso_userinfo_failed`.
   */
  redeem(request: AuthorizationRequest, callback: URLSearchParams, peer: Peer): Promise<ProvenIdentity>;
}

/** Sign-in with an OpenID provider (specification, section 5, point 6). */
export interface SingleSignOn {
  /** The URL to send the browser to, and the cookie that it has to bring back. Throws `sso_exchange_failed`. */
  begin(options: { readonly isRetry: boolean }): Promise<SsoDeparture>;
  /**
   * The way back. `retry`: the state did not match, and this was not the retry. Throws `sso_state_mismatch`, `sso_denied`,
   * `sso_code_missing`, `sso_exchange_failed`, `sso_userinfo_failed` and `sso_group_required`.
   */
  finish(callback: SsoCallback): Promise<SsoOutcome>;
}

interface SsoDeparture {
  readonly authorizationUrl: string;
  /** For `buildStateCookie`. */
  readonly cookieValue: string;
}

interface SsoCallback {
  readonly query: URLSearchParams;
  /** The cookie as the browser sent it; null when it sent none. */
  readonly stateCookie: string | null;
  readonly peer: Peer;
}

type SsoOutcome =
  | { readonly kind: "retry" }
  | { readonly kind: "signed_in"; readonly session: IssuedSession };

export interface SingleSignOnDeps extends SessionsDeps {
  readonly provider: OpenIdProvider;
  readonly usedStates: UsedStates;
  /** Ends with `/auth/callback`. Asked at each sign-in: a free port is known only once it is bound. */
  readonly redirectUri: () => string;
  readonly requiredGroup: string | null;
  readonly adminGroup: string | null;
  /** The claim that lists the groups. */
  readonly groupsClaim: string;
  readonly log: Log;
  readonly signIns: SignInLog;
}

export function createSingleSignOn(deps: SingleSignOnDeps): SingleSignOn {
  const { provider, usedStates, secrets, clock, ids, requiredGroup, adminGroup, log, signIns } = deps;
  const accounts = createSsoAccounts(deps);

  /** The attempt that this callback ends; null when it is none of ours, of another browser, too late or used before. */
  const takeOwn = async (
    attempt: SignInAttempt | null,
    states: readonly string[],
  ): Promise<SignInAttempt | null> => {
    const [state] = states;
    if (attempt === null || state === undefined || states.length > 1) return null;
    const isTaken = await takeAttempt(usedStates, { attempt, state, nowUs: clock.nowUs() });
    return isTaken ? attempt : null;
  };
  const checkAnswer = (query: URLSearchParams): void => {
    const error = query.get("error") ?? "";
    if (error !== "") {
      log.info("the identity provider refused a sign-in", { provider_error: toErrorWord(error) });
      throw new ProxyError("sso_denied", "The identity provider refused the sign-in.");
    }
    if ((query.get("code") ?? "") === "") {
      throw new ProxyError("sso_code_missing", "The identity provider sent no code.");
    }
  };

  const end = async ({ query, stateCookie, peer }: SsoCallback): Promise<SsoOutcome> => {
    const brought = stateCookie === null ? null : readStateCookie(secrets, stateCookie);
    const states = query.getAll("state");
    const attempt = await takeOwn(brought, states);
    if (attempt === null) {
      // Blocked cookies must not loop: then the mark in the signed state is the one that is left.
      const wasRetry = brought?.isRetry === true || states.some((state) => isRetryState(secrets, state));
      if (!wasRetry) return { kind: "retry" };
      throw new ProxyError(
        "sso_state_mismatch",
        "This browser did not bring back what the sign-in began with: allow cookies for this site, and sign in again.",
      );
    }
    checkAnswer(query);
    const identity = await provider.redeem({ ...attempt, redirectUri: deps.redirectUri() }, query, peer);
    const groups = toGroups(identity.claim(deps.groupsClaim));
    if (requiredGroup !== null && !groups.has(requiredGroup)) {
      log.info("a sign-in was refused: the account is not in PROXY_OIDC_REQUIRED_GROUP");
      throw new ProxyError(
        "sso_group_required",
        "This account is not in the group that may use this server.",
      );
    }
    const role = adminGroup === null ? null : groups.has(adminGroup) ? "admin" : "member";
    const principal = await accounts.settle(identity, role);
    const session = await issueSession(deps, principal);
    signIns.signedIn("sso", principal, peer);
    return { kind: "signed_in", session };
  };

  return {
    async begin({ isRetry }) {
      const secret = Buffer.from(ids.randomBytes(STATE_SECRET_BYTES)).toString("base64url");
      const expiresAtUs = clock.nowUs() + STATE_SECONDS * 1_000_000;
      const attempt = toSignInAttempt(secrets, { secret, isRetry, expiresAtUs });
      const authorizationUrl = await provider.buildAuthorizationUrl({
        ...attempt,
        redirectUri: deps.redirectUri(),
      });
      return { authorizationUrl, cookieValue: attempt.cookieValue };
    },

    async finish(callback) {
      try {
        return await end(callback);
      } catch (refusal) {
        if (refusal instanceof ProxyError) {
          signIns.failed("sso", { code: refusal.code, peer: callback.peer });
        }
        throw refusal;
      }
    },
  };
}

/** So many people of one name are told apart by a number; after that by a random name. */
const NUMBERED_NAMES_MAX = 1000;

interface SsoAccountsDeps {
  readonly store: IdentityStore;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export interface SsoAccounts {
  /**
   * The principal of this issuer and subject, made at the first sign-in, never one that was made otherwise. `role` is what
   * the groups say; null leaves an existing role and makes new people members. Throws `sso_denied` when it is disabled.
   */
  settle(identity: ProvenIdentity, role: Role | null): Promise<Principal>;
}

/** Principals by single sign-on (decisions, "Sign-in"). Sign-ins write no audit event. */
export function createSsoAccounts({ store, clock, ids, log }: SsoAccountsDeps): SsoAccounts {
  const create = async (identity: ProvenIdentity, role: Role): Promise<Principal> => {
    const subject = { issuer: identity.issuer, subject: identity.subject };
    const draft = {
      id: ids.uuid(),
      kind: "user",
      role,
      enabled: true,
      createdAtUs: clock.nowUs(),
      tags: [],
    } as const;
    for (const name of toCandidates(toPrincipalName(identity), draft.id)) {
      if ((await store.findPrincipalByName(name)) !== null) continue;
      try {
        return await store.createPrincipalForSubject({ ...draft, name }, subject);
      } catch (refusal) {
        // Another sign-in took the name meanwhile.
        if (!(refusal instanceof ProxyError) || refusal.code !== "principal_exists") throw refusal;
      }
    }
    throw new Error("every name is taken");
  };

  const follow = async (principal: Principal, role: Role): Promise<Principal> => {
    try {
      return await store.updatePrincipal(principal.id, { role }, null);
    } catch (refusal) {
      if (!(refusal instanceof ProxyError) || refusal.code !== "last_admin") throw refusal;
      log.warn("the last admin has left the admin group and stays an admin until there is another one");
      return principal;
    }
  };

  return {
    async settle(identity, role) {
      const known = await store.findPrincipalBySubject(identity.issuer, identity.subject);
      const principal = known ?? (await create(identity, role ?? "member"));
      if (!principal.enabled) throw new ProxyError("sso_denied", "This account is disabled on this server.");
      return role === null || role === principal.role ? principal : await follow(principal, role);
    },
  };
}

/** The name `admin` belongs to the password sign-in: an account of that name elsewhere does not become it. */
function* toCandidates(name: string, id: string): Generator<string> {
  for (let number = 1; number <= NUMBERED_NAMES_MAX; number += 1) {
    const candidate = toNumberedName(name, number);
    if (candidate !== ADMIN_PRINCIPAL_NAME) yield candidate;
  }
  yield `user-${id}`;
}

/**
 * The groups of a claim: the texts of an array, each taken whole, or the words of a space- or comma-separated text.
 * Anything else is no group. What is searched for in it is compared by exact element.
 */
export function toGroups(claim: unknown): ReadonlySet<string> {
  if (typeof claim === "string") return new Set(claim.split(/[\s,]+/).filter((word) => word !== ""));
  if (!Array.isArray(claim)) return new Set();
  return new Set(claim.filter((element): element is string => typeof element === "string"));
}

/**
 * A name by the rule of section 2.8: of `preferred_username`, else of the e-mail address's local part, else of `sub`; of
 * the first of them that leaves any character that the rule allows.
 */
export function toPrincipalName(identity: Pick<ProvenIdentity, "subject" | "claim">): string {
  const email = identity.claim("email");
  const localPart = typeof email === "string" ? email.split("@", 1)[0] : undefined;
  const sources = [identity.claim("preferred_username"), localPart, identity.subject];
  const names = sources.map((source) => (typeof source === "string" ? fitName(source) : ""));
  return names.find((name) => name !== "") ?? "user";
}

/** `jane`, `jane-2`, `jane-3`, …, each within the length of a name. */
export function toNumberedName(name: string, number: number): string {
  const suffix = number === 1 ? "" : `-${number}`;
  return `${name.slice(0, NAME_LENGTH_MAX - suffix.length)}${suffix}`;
}

/** A longer text is a mistake or an attack, and normalising costs time. */
const SOURCE_LENGTH_MAX = 1000;

/** Letters lose their accents (`José` is `jose`), other runs become a dash; empty when nothing is left. */
function fitName(text: string): string {
  return text
    .slice(0, SOURCE_LENGTH_MAX)
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+/, "")
    .slice(0, NAME_LENGTH_MAX)
    .replace(/-+$/, "");
}

/** The words that RFC 6749 (sections 4.1.2.1 and 5.2) and OpenID Connect Core 1.0 (section 3.1.2.6) give to refusals. */
const ERROR_WORDS = [
  "access_denied",
  "account_selection_required",
  "consent_required",
  "interaction_required",
  "invalid_client",
  "invalid_grant",
  "invalid_request",
  "invalid_scope",
  "login_required",
  "server_error",
  "temporarily_unavailable",
  "unauthorized_client",
  "unsupported_grant_type",
  "unsupported_response_type",
] as const;

/** A failure is unwrapped no further: the library wraps twice. */
const CAUSES_MAX = 4;

/** The provider's word for why it refused, when it is one of the known ones: nothing else of what it says is logged. */
function toErrorWord(error: unknown): string {
  return ERROR_WORDS.find((word) => word === error) ?? "other";
}

/**
 * The parts of a failed sign-in that may be logged: class and code of the failure, which our library, the runtime or we ourselves
 * gave, and the provider's error word. Messages and bodies are left out: they may hold tokens, and whatever a hostile
 * provider wants to see in a log.
 */
export function describeProviderFailure(failure: unknown): LogFields {
  let current = failure;
  for (let depth = 0; depth < CAUSES_MAX && current instanceof Error; depth += 1) {
    if ("code" in current && typeof current.code === "string") {
      const word = "error" in current ? { provider_error: toErrorWord(current.error) } : {};
      return { cause: current.name, cause_code: current.code, ...word };
    }
    current = current.cause;
  }
  return { cause: failure instanceof Error ? failure.name : typeof failure, cause_code: null };
}
