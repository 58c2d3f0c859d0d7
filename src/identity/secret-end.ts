import { formatInstant, type InstantUs } from "#kernel/clock.ts";
import { type ErrorCode, ProxyError } from "#kernel/errors.ts";
import type { FoundSecret } from "./store.ts";

/** How a secret is called, and what a request with it is refused with. */
export interface SecretWords {
  readonly noun: "API key" | "relay token";
  readonly code: ErrorCode;
  readonly unknown: () => ProxyError;
}

/**
 * The refusal of a secret whose `endsAtUs` is reached. Only the holder of the right plaintext is told more than that it is
 * not valid.
 */
export function refuseEnded(
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
