import { DAY_US } from "#kernel/clock.ts";
import type { Fields } from "#kernel/fields.ts";

/**
 * The ways in which a provider's stored credential is sent: as `Authorization: Bearer`, or as `x-api-key`, which servers of Anthropic's API
 * take (platform.claude.com/docs/en/api/overview).
 */
export const AUTH_STYLES = ["bearer", "x-api-key"] as const;
export type AuthStyle = (typeof AUTH_STYLES)[number];
export const AUTH_STYLE_DEFAULT: AuthStyle = "bearer";

/** How long a credential that was replaced is kept, so that it can be taken back. */
export const FORMER_CREDENTIAL_US = DAY_US;

/** A day: longer than any call, and far within what a timer can count (2³¹ ms). */
export const TIMEOUT_SECONDS_MAX = 86_400;
/** The pool of a whole operating system is about 250 KB. */
export const CA_PEM_LENGTH_MAX = 1_048_576;

/**
 * The settings of a provider (specification, section 2.3) in the order of its documents; their keys are those of `Provider`.
 * Its name, URLs and credential have rules of their own, in `provider.ts`.
 */
export const PROVIDER_SETTINGS = {
  /** Not bound to the credential: whatever it says, the credential goes to the same servers. */
  authStyle: {
    kind: "choice",
    wire: "auth_style",
    words: AUTH_STYLES,
    initial: AUTH_STYLE_DEFAULT,
    unit: "style",
    options: [
      { value: "bearer", label: "Authorization: Bearer" },
      { value: "x-api-key", label: "x-api-key", detail: "Anthropic's API" },
    ],
    label: "Credential header",
    description: "How its credential is sent; absent for `bearer`.",
    isAddition: true,
    help: "how the API key is sent; default: bearer. Anthropic's API: x-api-key",
  },
  verifyTls: {
    kind: "switch",
    wire: "verify_tls",
    initial: true,
    label: "Verify the TLS certificate",
    hint: "Without verification, traffic to the provider can be read and changed on the way.",
    help: "hold certificates to their rules",
    helpOff: "accept any certificate",
  },
  caPem: {
    kind: "pem",
    wire: "ca_pem",
    shownAs: "has_custom_ca",
    initial: null,
    maxLength: CA_PEM_LENGTH_MAX,
    label: "Certificate authority (PEM)",
    flag: "ca-file",
    help: "PEM file that is trusted instead of the system's roots",
  },
  timeoutConnectSeconds: {
    kind: "number",
    wire: "timeout_connect",
    initial: 10,
    unit: "seconds",
    exclusiveMinimum: 0,
    maximum: TIMEOUT_SECONDS_MAX,
    label: "Connect timeout",
    description: "Seconds.",
    help: "default: 10",
  },
  timeoutReadSeconds: {
    kind: "number",
    wire: "timeout_read",
    initial: 300,
    unit: "seconds",
    exclusiveMinimum: 0,
    maximum: TIMEOUT_SECONDS_MAX,
    label: "Read timeout",
    hint: "The longest pause in a stream, and the total time of other requests",
    description: "Seconds; also the deadline of a unary request.",
    help: "default: 300; also the deadline of unary requests",
  },
  maxConcurrency: {
    kind: "count",
    wire: "max_concurrency",
    initial: null,
    unit: "requests",
    label: "Max concurrency",
    hint: "More requests wait in a queue, at most for the read timeout",
    help: "default: unlimited, which is also 0",
  },
} as const satisfies Fields;

/** The header of every call to a provider that has a credential; null without one. */
export function toAuthHeader(
  authStyle: AuthStyle,
  credential: string | null,
): [name: string, value: string] | null {
  if (credential === null) return null;
  return authStyle === "bearer" ? ["authorization", `Bearer ${credential}`] : ["x-api-key", credential];
}
