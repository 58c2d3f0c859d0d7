import { equalsConstantTime } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Clock } from "#kernel/clock.ts";
import { ADMIN_PRINCIPAL_NAME } from "./principal.ts";
import type { IssuedSession, SessionsDeps } from "./sessions.ts";
import { issueSession } from "./sessions.ts";

/** Specification, section 8. */
export const PASSWORD_FAILURE_DELAY_MS = 400;
/** The delay does not stop parallel guessing; these do, over the whole process (decisions, "Sign-in"). */
export const PASSWORD_EVALUATIONS_PER_SECOND = 10;
export const PASSWORD_EVALUATIONS_BURST = 20;

export interface PasswordSignIn {
  /**
   * A new session of the principal `admin`. Throws `wrong_password` 400 ms after a failed attempt, whatever made it fail,
   * and `password_login_disabled` when this installation has no password.
   */
  signIn(password: string): Promise<IssuedSession>;
}

export interface PasswordSignInDeps extends SessionsDeps {
  /** Null when sign-in by password is switched off. */
  readonly password: string | null;
  /** For tests, which do not wait. */
  readonly sleep?: (durationMs: number) => Promise<void>;
}

export function createPasswordSignIn(deps: PasswordSignInDeps): PasswordSignIn {
  const { password: expected, store, clock, sleep = sleepFor } = deps;
  const takeEvaluation = createEvaluationLimit(clock);
  return {
    async signIn(given) {
      if (expected === null) {
        throw new ProxyError("password_login_disabled", "Sign-in by password is switched off.");
      }
      if (takeEvaluation() && equalsConstantTime(given, expected)) {
        const principal = await store.findPrincipalByName(ADMIN_PRINCIPAL_NAME);
        if (principal?.enabled === true) return issueSession(deps, principal);
      }
      await sleep(PASSWORD_FAILURE_DELAY_MS);
      throw new ProxyError("wrong_password", "The password is wrong.");
    },
  };
}

/** A token bucket: true when an evaluation may take place now. */
function createEvaluationLimit(clock: Clock): () => boolean {
  let available = PASSWORD_EVALUATIONS_BURST;
  let filledAtMs = clock.monotonicMs();
  return () => {
    const nowMs = clock.monotonicMs();
    const refilled = available + ((nowMs - filledAtMs) / 1000) * PASSWORD_EVALUATIONS_PER_SECOND;
    available = Math.min(PASSWORD_EVALUATIONS_BURST, refilled);
    filledAtMs = nowMs;
    if (available < 1) return false;
    available -= 1;
    return true;
  };
}

function sleepFor(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
