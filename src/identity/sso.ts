import { toErrorWord } from "./oidc-failure.ts";
import type { OpenIdProvider, ProvenIdentity } from "./oidc.ts";
import type { Peer } from "./peer.ts";
import { ADMIN_PRINCIPAL_NAME, type Principal, type Role } from "./principal.ts";
import { type IssuedSession, type SessionsDeps, issueSession } from "./sessions.ts";
import type { SignInLog } from "./sign-in-log.ts";
import { toGroups, toNumberedName, toPrincipalName } from "./sso-claims.ts";
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
import type { Log } from "#kernel/log.ts";

/** Sign-in with an OpenID provider (specification, section 5, point 6). */
export interface SingleSignOn {
  /** Where to send the browser, and the cookie that it has to bring back. Throws `sso_exchange_failed`. */
  begin(options: { readonly isRetry: boolean }): Promise<SsoDeparture>;
  /**
   * The way back. `retry`: the state did not match, and this was not the retry. Throws `sso_state_mismatch`, `sso_denied`,
   * `sso_code_missing`, `sso_exchange_failed`, `sso_userinfo_failed` and `sso_group_required`.
   */
  finish(callback: SsoCallback): Promise<SsoOutcome>;
}

export interface SsoDeparture {
  readonly authorizationUrl: string;
  /** For `buildStateCookie`. */
  readonly cookieValue: string;
}

export interface SsoCallback {
  readonly query: URLSearchParams;
  /** The cookie as the browser sent it; null when it sent none. */
  readonly stateCookie: string | null;
  readonly peer: Peer;
}

export type SsoOutcome =
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

/** How many people of one name are told apart by a number; after that by a random name. */
const NUMBERED_NAMES_MAX = 1000;

export interface SsoAccountsDeps {
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
