import { equalsConstantTime, type SecretBox } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import { sleep } from "#kernel/timer.ts";
import {
  type Browser,
  createAttemptLimit,
  FAILURE_DELAY_MS,
  type Pause,
  type SharedAttempts,
  UNKNOWN_BROWSER,
} from "./attempts.ts";
import type { Peer } from "./peer.ts";
import { ADMIN_PRINCIPAL_NAME } from "./principal.ts";
import { type IssuedSession, type SessionsDeps, issueSession } from "./sessions.ts";
import type { SignInLog } from "./sign-in-log.ts";

export interface PasswordSignIn {
  /**
   * A new session of the principal `admin`. Throws `wrong_password` 400 ms after a failed attempt, whatever made it fail,
   * and `password_login_disabled` when this installation has no password.
   */
  signIn(password: string, peer: Peer, browser?: Browser): Promise<IssuedSession>;
}

interface PasswordSignInDeps extends SessionsDeps {
  readonly password: PasswordSource;
  readonly passwordPrint: Pick<PasswordPrint, "of">;
  readonly signIns: SignInLog;
  readonly sharedAttempts: SharedAttempts;
  /** For tests, which do not wait: after a failure, and for a turn. */
  readonly sleep?: Pause;
  readonly pause?: Pause;
}

export function createPasswordSignIn(deps: PasswordSignInDeps): PasswordSignIn {
  const { password: expected, store, signIns } = deps;
  const attempts = createAttemptLimit(deps.sharedAttempts.openBucket("password"), deps.clock, deps.pause);
  /** A device of another principal's has signed in without this password, and waits like a stranger. */
  const toKnown = async (browser: Browser): Promise<Browser> => {
    if (browser.device === null) return browser;
    const principal = await store.findPrincipalByName(ADMIN_PRINCIPAL_NAME);
    const isOwn = principal !== null && browser.device.isOf(principal);
    return isOwn ? browser : { ...browser, device: null };
  };
  return {
    async signIn(given, peer, browser = UNKNOWN_BROWSER) {
      if (expected === null) {
        throw new ProxyError("password_login_disabled", "Sign-in by password is switched off.");
      }
      const isLookedAt = await attempts.admit(peer, await toKnown(browser));
      if (isLookedAt && equalsConstantTime(given, toText(expected))) {
        const principal = await store.findPrincipalByName(ADMIN_PRINCIPAL_NAME);
        if (principal?.enabled === true) {
          const session = await issueSession(deps, principal, deps.passwordPrint.of(given));
          signIns.signedIn("password", principal, peer);
          return session;
        }
      }
      signIns.failed("password", { code: "wrong_password", peer, isUnseen: !isLookedAt });
      await (deps.sleep ?? sleep)(FAILURE_DELAY_MS);
      throw new ProxyError("wrong_password", "The password is wrong.");
    },
  };
}

function toText(password: string | (() => string)): string {
  return typeof password === "string" ? password : password();
}

/** Null when sign-in by password is switched off. One that may change while the process runs is asked for each time. */
export type PasswordSource = string | (() => string) | null;

/** Tells which password made a session, so that the session ends when the password is another one. */
export interface PasswordPrint {
  /** A keyed hash: it tells nothing without the installation's secret key. */
  of(password: string): string;
  /** True for the print of the password in force; reading its file takes 8 µs. */
  isInForce(print: string): boolean;
}

/** 132 bits of base64url. */
const PRINT_LENGTH = 22;

export function createPasswordPrint(
  password: PasswordSource,
  secrets: Pick<SecretBox, "hashToken">,
): PasswordPrint {
  const of = (text: string): string =>
    Buffer.from(secrets.hashToken(`admin password ${text}`), "hex")
      .toString("base64url")
      .slice(0, PRINT_LENGTH);
  return {
    of,
    isInForce(print) {
      const current = readPassword(password);
      return current !== null && equalsConstantTime(print, of(current));
    },
  };
}

/** Null also when the file is gone or holds no password: then nothing says that it is the same one. */
function readPassword(password: PasswordSource): string | null {
  try {
    return typeof password === "function" ? password() : password;
  } catch {
    return null;
  }
}
