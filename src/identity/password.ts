import { equalsConstantTime } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import { createAttemptLimit, FAILURE_DELAY_MS, sleepFor } from "./attempts.ts";
import { ADMIN_PRINCIPAL_NAME } from "./principal.ts";
import { type IssuedSession, type SessionsDeps, issueSession } from "./sessions.ts";

export interface PasswordSignIn {
  /**
   * A new session of the principal `admin`. Throws `wrong_password` 400 ms after a failed attempt, whatever made it fail,
   * and `password_login_disabled` when this installation has no password.
   */
  signIn(password: string): Promise<IssuedSession>;
}

export interface PasswordSignInDeps extends SessionsDeps {
  /** Null when sign-in by password is switched off. One that may change while the process runs is asked for at each attempt. */
  readonly password: string | (() => string) | null;
  /** For tests, which do not wait. */
  readonly sleep?: (durationMs: number) => Promise<void>;
}

export function createPasswordSignIn(deps: PasswordSignInDeps): PasswordSignIn {
  const { password: expected, store, clock, sleep = sleepFor } = deps;
  const takeEvaluation = createAttemptLimit(clock);
  return {
    async signIn(given) {
      if (expected === null) {
        throw new ProxyError("password_login_disabled", "Sign-in by password is switched off.");
      }
      if (takeEvaluation() && equalsConstantTime(given, toText(expected))) {
        const principal = await store.findPrincipalByName(ADMIN_PRINCIPAL_NAME);
        if (principal?.enabled === true) return issueSession(deps, principal);
      }
      await sleep(FAILURE_DELAY_MS);
      throw new ProxyError("wrong_password", "The password is wrong.");
    },
  };
}

function toText(password: string | (() => string)): string {
  return typeof password === "string" ? password : password();
}
