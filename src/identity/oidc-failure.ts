import type { LogFields } from "#kernel/log.ts";

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

/** How far a failure is unwrapped: the library wraps twice. */
const CAUSES_MAX = 4;

/** The provider's word for why it refused, when it is one of the known ones: nothing else of what it says is logged. */
export function toErrorWord(error: unknown): string {
  return ERROR_WORDS.find((word) => word === error) ?? "other";
}

/**
 * What may be logged of a failed sign-in: class and code of the failure, which our library, the runtime or we ourselves
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
