import { type ErrorCode } from "#kernel/errors.ts";

/** Codes that are made in the browser, where no answer of the server carries one. */
export type PageCode = "offline" | "unreadable_answer" | "incomplete_answer" | "page_error";

/**
 * What to do about an error, by its code: one sentence that stands after the server's own, which says what happened.
 * Null for a code of the provider's, or of a newer server, about which nothing is known.
 */
export function findAdvice(code: string): string | null {
  return isKnown(code) ? ADVICE[code] : null;
}

function isKnown(code: string): code is keyof typeof ADVICE {
  return Object.hasOwn(ADVICE, code);
}

const SIGN_IN_AGAIN =
  "The session had ended, and nothing was done. Once you are signed in again, try it once more.";
const RELOAD = "Reload the page; if it stays, look at the log of the server at the time of this error.";
const ASK_ADMIN = "Ask an admin of this installation.";
const CHECK_FIELD = "Correct the marked field and try again.";
const CHOOSE_NAME = "Choose another name, or change what has this one.";
const SEE_LIST = "It may have been deleted meanwhile: reload the list.";

const ADVICE = {
  invalid_json: RELOAD,
  invalid_request: CHECK_FIELD,
  model_required: "Choose a model.",
  endpoint_not_supported: "Choose a model with this capability, or let an admin declare it in the catalogue.",
  embedding_batch_too_large: "Send fewer inputs in one request.",
  invalid_endpoint: "Use chat, completions, embeddings or transcription.",
  invalid_label: "Use at most 120 characters, without line breaks or other control characters.",
  invalid_date: "Write the date as 2026-01-31 or 2026-01-31T12:00:00Z, in UTC.",
  invalid_bucket: "Choose hour, day, week or month.",
  range_too_large: "Narrow the window, or choose larger buckets.",
  invalid_outcome: "Choose ok, upstream_error, unreachable or cancelled.",
  invalid_name:
    "Use lower-case letters, digits, dots, dashes and underscores, beginning with a letter or a digit.",
  invalid_wire_format: "Choose openai: it is the only format today.",
  invalid_base_url:
    "Write an http or https URL without user name, query or fragment, such as https://llm.example/v1.",
  invalid_override: CHECK_FIELD,
  invalid_target: "Choose a model that routes to a provider itself.",
  invalid_pricing: "Correct the price that is named: a number from 0, with at most six decimals per million.",
  invalid_host:
    "Open the page under a host name that the server allows (PROXY_PUBLIC_URL, PROXY_ALLOWED_HOSTS).",
  sso_denied: "Try again; if your account should have access, ask whoever runs single sign-on.",
  sso_state_mismatch: "Start again from the sign-in page, in one tab, with cookies allowed.",
  sso_code_missing: "Start again from the sign-in page.",
  missing_api_key: SIGN_IN_AGAIN,
  invalid_api_key: SIGN_IN_AGAIN,
  wrong_password: "Try again. The path of the password file is printed when the server starts.",
  invalid_login_link: "Make a new link with lockport admin login-link: each is good for one sign-in.",
  admin_required: ASK_ADMIN,
  cross_origin_rejected:
    "Open the page under the address that the server is configured with (PROXY_PUBLIC_URL).",
  host_not_allowed: "Add this host name to PROXY_ALLOWED_HOSTS, or open the page under another one.",
  sso_group_required: "Ask whoever runs single sign-on to add you to the group.",
  model_not_found: "Look at the list of models for its name; its provider may be disabled.",
  provider_not_found: SEE_LIST,
  principal_not_found: SEE_LIST,
  unknown_endpoint: "The server may be older than this page: reload it.",
  key_not_found: SEE_LIST,
  relay_token_not_found: SEE_LIST,
  unknown_relay_token: "Make a new relay token.",
  transparent_relay_disabled: "Set PROXY_MESSAGES_BASE_URL to switch the relay on.",
  password_login_disabled: "Sign in with single sign-on.",
  sso_not_configured: "Sign in with the password, or set PROXY_OIDC_ISSUER.",
  alias_exists: CHOOSE_NAME,
  provider_exists: CHOOSE_NAME,
  principal_exists: CHOOSE_NAME,
  model_in_use: "Remove the names that point at it, or point them elsewhere, first.",
  last_admin: "Make another principal an admin first.",
  request_too_large: "Send less at once, or raise PROXY_MAX_BODY_BYTES.",
  internal_error: "Try again; if it stays, the log of the server at this time says more.",
  provider_unreachable: "Check the base URL, the network and the timeouts of the provider.",
  discovery_failed: "Check the base URL (does it end in /v1?) and the credential of the provider.",
  sso_exchange_failed:
    "Try again; if it stays, check the issuer, the client id and the secret in the configuration.",
  sso_userinfo_failed: "Try again; if it stays, check the scopes that the client may ask for.",
  offline: "Check that the server runs and that this machine reaches it; then try again.",
  unreadable_answer: "Something between this page and the server may have answered instead; try again.",
  incomplete_answer: "What has come of it is shown; send it again for the whole.",
  page_error: "Reload the page; if it happens again, report it with the code and the sentence above.",
} as const satisfies Record<ErrorCode | PageCode, string>;
