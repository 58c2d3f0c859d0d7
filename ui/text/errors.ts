import { type ErrorCode } from "#kernel/errors.ts";

/** Codes that are made in the browser, where no answer of the server carries one. */
export type PageCode =
  | "offline"
  | "unreadable_answer"
  | "incomplete_answer"
  | "upstream_redirect"
  | "page_error";

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

const SIGN_IN_AGAIN = "The session had ended and nothing was changed. Sign in and try again.";
const RELOAD = "Reload the page. If the error persists, check the log of the server.";
const ASK_ADMIN = "Ask an administrator.";
const CHECK_FIELD = "Correct the marked field and try again.";
const CHOOSE_NAME = "Choose another name, or rename the one that has it.";
const SEE_LIST = "It may have been deleted: reload the list.";

const ADVICE = {
  invalid_json: RELOAD,
  invalid_request: CHECK_FIELD,
  invalid_multipart: "Send the form as an SDK makes it, with one plain part `model`.",
  model_required: "Choose a model.",
  endpoint_not_supported:
    "Choose a model with this capability, or ask an administrator to declare it under Models.",
  embedding_batch_too_large: "Send fewer inputs in one request.",
  invalid_endpoint: "Use chat, completions, embeddings or transcription.",
  invalid_label: "Use at most 120 characters, without line breaks or other control characters.",
  invalid_expiry: "Enter a later date and time, in UTC, such as 2027-01-31T12:00:00Z.",
  invalid_tags: "Write up to 8 tags such as team:search, each with a name of its own.",
  invalid_models: "Choose 1 to 100 models, or none for every model.",
  invalid_date: "Enter a date in UTC such as 2026-01-31 or 2026-01-31T12:00:00Z.",
  invalid_bucket: "Choose hour, day, week or month.",
  range_too_large: "Narrow the window, or choose larger buckets.",
  invalid_outcome: "Choose ok, upstream_error, unreachable or cancelled.",
  invalid_name:
    "Use lower-case letters, digits, dots, dashes and underscores, beginning with a letter or a digit.",
  invalid_wire_format: "Choose openai, the only format.",
  invalid_base_url:
    "Enter an http or https URL without user name, query or fragment, such as https://llm.example/v1.",
  invalid_override: CHECK_FIELD,
  invalid_target: "Choose a model that routes to a provider.",
  invalid_pricing: "Correct the named price: a number from 0 with at most six decimals per million.",
  invalid_bill: "Export the file again as the provider offers it, or name its columns.",
  invalid_price_variants:
    "Correct the named variant: conditions of its own (tier, input_over, geo or hours), and a price.",
  invalid_host:
    "Open the page at a host name that the server allows (PROXY_PUBLIC_URL, PROXY_ALLOWED_HOSTS).",
  sso_denied: "Try again. If your account should have access, ask the operator of single sign-on.",
  sso_state_mismatch: "Start again from the sign-in page, in one tab, with cookies allowed.",
  sso_code_missing: "Start again from the sign-in page.",
  missing_api_key: SIGN_IN_AGAIN,
  invalid_api_key: SIGN_IN_AGAIN,
  wrong_password: "Try again. The path of the password file is printed when the server starts.",
  invalid_login_link: "Create a new link with lockport admin login-link: each link works once.",
  admin_required: ASK_ADMIN,
  scope_required: "Use a key whose scope is full, or sign in.",
  cross_origin_rejected: "Open the page at the configured address (PROXY_PUBLIC_URL).",
  host_not_allowed: "Add this host name to PROXY_ALLOWED_HOSTS, or open the page at another one.",
  sso_group_required: "Ask the operator of single sign-on to add you to the group.",
  model_not_found: "Check its name under Models. Its provider may be disabled.",
  response_not_found: "Ask with the id of a response of your own, while it is kept.",
  provider_not_found: SEE_LIST,
  former_credential_not_found: "Enter the key again: the former one is kept for a day.",
  principal_not_found: SEE_LIST,
  unknown_endpoint: "The server may be older than this page: reload the page.",
  key_not_found: SEE_LIST,
  relay_token_not_found: SEE_LIST,
  unknown_relay_token: "Create a new relay token.",
  transparent_relay_disabled: "Set PROXY_MESSAGES_BASE_URL to switch the relay on.",
  password_login_disabled: "Sign in with single sign-on.",
  sso_not_configured: "Sign in with the password, or set PROXY_OIDC_ISSUER.",
  notices_not_configured: "Set PROXY_NOTICE_URL on the server.",
  limit_not_found: SEE_LIST,
  repricing_not_found: SEE_LIST,
  schedule_not_found: SEE_LIST,
  request_not_found: "Check that the id is complete.",
  limit_exists: CHOOSE_NAME,
  repricing_running: "Wait until it is done: Re-pricing under Models shows how far it is. Then try again.",
  repricing_outdated: "Plan it again, or take the later one back first.",
  too_many_limits: "Delete a limit that is not needed any more.",
  too_many_schedules: "Take back prices to come that are not needed any more.",
  limit_exceeded: "Wait until the limit starts anew, or ask an administrator to raise it.",
  alias_exists: CHOOSE_NAME,
  provider_exists: CHOOSE_NAME,
  principal_exists: CHOOSE_NAME,
  model_in_use: "First delete its other names or change their target.",
  last_admin: "First make another person an administrator.",
  too_many_keys: "Delete a key that is not used any more.",
  too_many_relay_tokens: "Delete a relay token that is not used any more.",
  too_many_changes: "Wait a few seconds and try again.",
  changed_meanwhile: "Look at what it is now, then save again.",
  upgrade_not_supported: "Send the request as a POST.",
  request_too_large: "Send a smaller request, or raise PROXY_MAX_BODY_BYTES.",
  internal_error: "Try again. If the error persists, check the log of the server.",
  provider_unreachable: "Check the base URL, the network and the timeouts of the provider.",
  discovery_failed: "Check the base URL (does it end in /v1?) and the credential of the provider.",
  sso_exchange_failed:
    "Try again. If the error persists, check the issuer, client id and secret in the configuration.",
  sso_userinfo_failed: "Try again. If the error persists, check the scopes that the client may request.",
  busy: "Try again in some seconds, or send fewer large requests at once.",
  reports_busy: "Try again in a few seconds, or narrow the window.",
  offline: "Check that the server runs and is reachable, then try again.",
  unreadable_answer: "A proxy between this page and the server may have responded. Try again.",
  incomplete_answer: "What arrived is shown. Send the message again for the full answer.",
  upstream_redirect: "Ask an administrator to check the base URL of the provider.",
  page_error: "Reload the page. If it happens again, report the code and the message above.",
} as const satisfies Record<ErrorCode | PageCode, string>;
