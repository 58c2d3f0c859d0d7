import type { Clock, InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { sleep } from "#kernel/timer.ts";
import {
  type Browser,
  createAttemptLimit,
  FAILURE_DELAY_MS,
  type Pause,
  type SharedAttempts,
} from "./attempts.ts";
import type { Peer } from "./peer.ts";
import type { Principal } from "./principal.ts";
import { createSecretText } from "./secret.ts";
import { issueSession, type IssuedSession, type SessionsDeps } from "./sessions.ts";
import type { SignInLog } from "./sign-in-log.ts";

/** Prefix of a login link's token; no other secret begins so. */
export const LOGIN_LINK_PREFIX = "lpl_";
/** From the terminal to the browser is a matter of seconds; a link that was left lying about opens nothing. */
export const LOGIN_LINK_TTL_SECONDS = 600;
/** Longer texts are no token and are not hashed. */
const TOKEN_LENGTH_MAX = 100;

interface CreatedLoginLink {
  /** To be shown once, in a fragment, which no browser sends to a server. */
  readonly token: string;
  readonly expiresAtUs: InstantUs;
}

export interface LoginLinks {
  /** A token that signs its principal in once, within `LOGIN_LINK_TTL_SECONDS`. Throws `principal_not_found`. */
  create(principal: Principal): Promise<CreatedLoginLink>;
}

export interface LoginLinkSignIn {
  /**
   * A new session of the link's principal; the link is used up by it. Throws `invalid_login_link` 400 ms after a failed
   * attempt, whatever made it fail: an unknown token, one that was used or has expired, a disabled principal.
   */
  signIn(token: string, peer: Peer, browser?: Browser): Promise<IssuedSession>;
}

/** Made only by a process that may write to the database itself, which is more than any sign-in gives. */
export function createLoginLinks({
  store,
  secrets,
  clock,
  ids,
}: Omit<SessionsDeps, "sessionTtlSeconds">): LoginLinks {
  return {
    async create(principal) {
      const token = createSecretText(LOGIN_LINK_PREFIX, ids);
      const createdAtUs = clock.nowUs();
      const expiresAtUs = createdAtUs + LOGIN_LINK_TTL_SECONDS * 1_000_000;
      const tokenHash = secrets.hashToken(token);
      await store.createLoginLink(
        { tokenHash, principalId: principal.id, createdAtUs, expiresAtUs },
        createdAtUs,
      );
      return { token, expiresAtUs };
    },
  };
}

interface LoginLinkSignInDeps extends SessionsDeps {
  readonly signIns: SignInLog;
  readonly sharedAttempts: SharedAttempts;
  /** For tests, which do not wait: after a failure, and for a turn. */
  readonly sleep?: Pause;
  readonly pause?: Pause;
}

/**
 * Signing in by a link. The token is looked up by its keyed hash, so that the look-up tells nothing about tokens that
 * exist; attempts are limited like those of the password, by a limit of their own.
 */
export function createLoginLinkSignIn(deps: LoginLinkSignInDeps): LoginLinkSignIn {
  const { secrets, clock, signIns } = deps;
  const attempts = createAttemptLimit(deps.sharedAttempts.openBucket("login_link"), clock, deps.pause);
  return {
    async signIn(token, peer, browser) {
      const isLookedAt = token.length <= TOKEN_LENGTH_MAX && (await attempts.admit(peer, browser));
      const principal = isLookedAt ? await takePrincipal(deps, secrets.hashToken(token)) : null;
      if (principal !== null) {
        const session = await issueSession(deps, principal);
        signIns.signedIn("login_link", principal, peer);
        return session;
      }
      signIns.failed("login_link", { code: "invalid_login_link", peer, isUnseen: !isLookedAt });
      await (deps.sleep ?? sleep)(FAILURE_DELAY_MS);
      throw new ProxyError(
        "invalid_login_link",
        "This login link was used, has expired or is not one: make another with lockport admin login-link.",
      );
    },
  };
}

async function takePrincipal(
  { store, clock }: { readonly store: SessionsDeps["store"]; readonly clock: Clock },
  tokenHash: string,
): Promise<Principal | null> {
  const principal = await store.takeLoginLink(tokenHash, clock.nowUs());
  return principal?.enabled === true ? principal : null;
}
