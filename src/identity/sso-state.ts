import type { Clock, InstantUs } from "#kernel/clock.ts";
import { equalsConstantTime, type SecretBox } from "#kernel/crypto.ts";

export const STATE_COOKIE_NAME = "proxy_sso_state";
/** Decisions, "Sign-in". */
export const STATE_SECONDS = 600;
/** 256 bits, of which nonce and code verifier are derived. */
export const STATE_SECRET_BYTES = 32;
/** Limit of remembered states. Beyond it the oldest are forgotten, and only the provider refuses their second use. */
const USED_STATES_MAX = 10_000;

/** One way to the identity provider and back, bound to the browser that holds its cookie. */
export interface SignInAttempt {
  /** The `state` parameter: signed, so that it tells by itself whether this was the one retry. */
  readonly state: string;
  /** OpenID Connect Core 1.0, section 3.1.2.1. */
  readonly nonce: string;
  /** RFC 7636, section 4.1: 64 of its characters. */
  readonly codeVerifier: string;
  readonly isRetry: boolean;
  readonly expiresAtUs: InstantUs;
  /** The signed value of the state cookie. */
  readonly cookieValue: string;
}

interface AttemptDraft {
  /** Fresh random text without a dot; only the cookie holds it. */
  readonly secret: string;
  readonly isRetry: boolean;
  readonly expiresAtUs: InstantUs;
}

/** Everything that goes out is derived from the cookie's secret by keyed hashes: none of it tells of the others. */
export function toSignInAttempt(secrets: SecretBox, draft: AttemptDraft): SignInAttempt {
  const { secret, isRetry, expiresAtUs } = draft;
  const expiresAtSeconds = Math.floor(expiresAtUs / 1_000_000);
  const derive = (purpose: string) => secrets.hashToken(`sso ${purpose} ${secret}`);
  const mark = isRetry ? "retry" : "first";
  return {
    state: secrets.sign(`sso-state.${derive("state")}.${mark}`),
    nonce: derive("nonce"),
    codeVerifier: derive("verifier"),
    isRetry,
    expiresAtUs: expiresAtSeconds * 1_000_000,
    cookieValue: secrets.sign(`sso-cookie.${secret}.${mark}.${expiresAtSeconds}`),
  };
}

/** The attempt of a state cookie, expired or not; null when this installation did not sign it. */
export function readStateCookie(secrets: SecretBox, cookieValue: string): SignInAttempt | null {
  const value = secrets.verify(cookieValue);
  const [, secret, mark, seconds] =
    /^sso-cookie\.([A-Za-z0-9_-]+)\.(first|retry)\.([0-9]{1,12})$/.exec(value ?? "") ?? [];
  if (secret === undefined) return null;
  const expiresAtUs = Number(seconds) * 1_000_000;
  return toSignInAttempt(secrets, { secret, isRetry: mark === "retry", expiresAtUs });
}

/** True for a `state` of ours that was sent with the one retry, also in a browser that keeps no cookies. */
export function isRetryState(secrets: SecretBox, state: string): boolean {
  return /^sso-state\.[0-9a-f]+\.retry$/.test(secrets.verify(state) ?? "");
}

/** Makes a sign-in's state good for one callback, and a cookie for one offer, over all processes of an installation. */
export interface UsedStates {
  /** True once for each state, until it expires and is not to be asked about any more. */
  claim(state: string, expiresAtUs: InstantUs): Promise<boolean>;
}

/** True once for an attempt that has not expired and whose state is this one. */
export async function takeAttempt(
  used: UsedStates,
  {
    attempt,
    state,
    nowUs,
  }: { readonly attempt: SignInAttempt; readonly state: string; readonly nowUs: InstantUs },
): Promise<boolean> {
  if (attempt.expiresAtUs <= nowUs || !equalsConstantTime(state, attempt.state)) return false;
  return await used.claim(attempt.state, attempt.expiresAtUs);
}

/** For a process that is alone. */
export function createUsedStates(clock: Clock): UsedStates {
  const expiriesUs = new Map<string, InstantUs>();
  const forgetOld = (nowUs: InstantUs) => {
    // In order of use, and each lives for at most ten minutes: the first are the oldest.
    for (const [state, expiresAtUs] of expiriesUs) {
      if (expiresAtUs > nowUs && expiriesUs.size < USED_STATES_MAX) return;
      expiriesUs.delete(state);
    }
  };
  return {
    async claim(state, expiresAtUs) {
      if (expiriesUs.has(state)) return false;
      forgetOld(clock.nowUs());
      expiriesUs.set(state, expiresAtUs);
      return true;
    },
  };
}

/** A `Set-Cookie` value: `Lax`, since the way back from the provider is a navigation from another site. */
export function buildStateCookie(value: string, options: { readonly secure: boolean }): string {
  const maxAgeSeconds = value === "" ? 0 : STATE_SECONDS;
  const attributes = `Path=/auth; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${options.secure ? "; Secure" : ""}`;
  return `${STATE_COOKIE_NAME}=${value}; ${attributes}`;
}
