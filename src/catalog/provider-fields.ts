import { findCertificates } from "#kernel/certificates.ts";
import { ProxyError } from "#kernel/errors.ts";
import { AUTH_STYLES, type AuthStyle, isAuthStyle } from "./auth-style.ts";

/** A day: longer than any call, and far within what a timer can count (2³¹ ms). */
export const TIMEOUT_SECONDS_MAX = 86_400;
/** Half of the 16 KiB in which common servers read a whole request head. */
export const API_KEY_LENGTH_MAX = 8192;
/** The pool of a whole operating system is about 250 KB. */
export const CA_PEM_LENGTH_MAX = 1_048_576;

/** Text that can stand in a field value as it is (RFC 9110, section 5.5), without blanks at its ends. */
const HEADER_VALUE_PATTERN = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** Empty is none. Throws `invalid_request`, param `api_key`: a line break in it would end the header it is sent in. */
export function parseApiKey(text: string): string | null {
  if (text === "") return null;
  if (text.length > API_KEY_LENGTH_MAX || !HEADER_VALUE_PATTERN.test(text)) {
    throw new ProxyError(
      "invalid_request",
      `api_key is at most ${API_KEY_LENGTH_MAX} printable ASCII characters, without line breaks and without blanks at its ends.`,
      { param: "api_key" },
    );
  }
  return text;
}

/** Throws `invalid_request`, param `auth_style`. */
export function parseAuthStyle(text: string): AuthStyle {
  if (isAuthStyle(text)) return text;
  throw new ProxyError("invalid_request", `auth_style is ${AUTH_STYLES.join(" or ")}.`, {
    param: "auth_style",
  });
}

/**
 * Empty is none. The certificates alone, one after the other, without what stood between them.
 * Checked here since a PEM that does not parse looks like a network failure at the first call. Throws `invalid_request`, param `ca_pem`.
 */
export function parseCaPem(text: string): string | null {
  if (text.trim() === "") return null;
  const certificates = text.length > CA_PEM_LENGTH_MAX ? null : findCertificates(text);
  if (certificates === null) {
    throw new ProxyError(
      "invalid_request",
      `ca_pem is one or more PEM certificates and no private key, at most ${CA_PEM_LENGTH_MAX} characters.`,
      { param: "ca_pem" },
    );
  }
  return certificates;
}

/** Throws `invalid_request` with the given param. */
export function parseTimeout(seconds: number, param: "timeout_connect" | "timeout_read"): number {
  if (!Number.isFinite(seconds) || seconds <= 0 || seconds > TIMEOUT_SECONDS_MAX) {
    throw new ProxyError(
      "invalid_request",
      `${param} is a number of seconds above 0 and at most ${TIMEOUT_SECONDS_MAX}.`,
      {
        param,
      },
    );
  }
  return seconds;
}

/** Zero or less is unlimited, which is null. Throws `invalid_request`, param `max_concurrency`. */
export function parseMaxConcurrency(count: number | null): number | null {
  if (count === null) return null;
  if (!Number.isSafeInteger(count)) {
    throw new ProxyError("invalid_request", "max_concurrency is a whole number; zero or less is unlimited.", {
      param: "max_concurrency",
    });
  }
  return count > 0 ? count : null;
}
