import type { Outcome } from "../../api/reports.ts";

/** What an error means, in a sentence, and what to do about it. */
export interface KindHelp {
  readonly meaning: string;
  readonly advice: string;
}

export interface Kind {
  readonly outcome: Outcome;
  /** The provider's own short name, a transport error, or `http_<status>`; null when there is none. */
  readonly errorKind: string | null;
  readonly statusCode: number;
}

/** An unknown kind is explained by its status. */
export function toKindHelp({ outcome, errorKind, statusCode }: Kind): KindHelp {
  if (outcome === "cancelled") return CANCELLED;
  const named = errorKind === null ? undefined : NAMED.get(errorKind);
  if (named !== undefined) return named;
  const status = Number(/^http_(\d{3})$/.exec(errorKind ?? "")?.[1] ?? statusCode);
  return BY_STATUS.get(status) ?? toClassHelp(status);
}

const RATE_LIMIT: KindHelp = {
  meaning: "The provider's rate limit was hit.",
  advice: "Send fewer requests, ask the provider for a higher limit, or use another model too.",
};
const QUOTA: KindHelp = {
  meaning: "The provider's account has no credit or quota left.",
  advice: "An administrator should check billing and spending limits in the provider's console.",
};
const OVERLOADED: KindHelp = {
  meaning: "The provider had no capacity at that moment.",
  advice: "Let clients retry with backoff. If it persists, use another model.",
};
const PROVIDER_BUG: KindHelp = {
  meaning: "The provider had an internal error.",
  advice: "Try again. If it persists, check the provider's status page, or the log of your own server.",
};
const BAD_REQUEST: KindHelp = {
  meaning: "The provider refused what the client sent.",
  advice: "Check the clients below: the model may not support a parameter. Retrying does not help.",
};
const TOO_LONG: KindHelp = {
  meaning: "The prompt is longer than the context of the model.",
  advice: "Shorten the prompt, or choose a model with a larger context.",
};
const CREDENTIAL: KindHelp = {
  meaning: "The provider did not accept the credential of this server.",
  advice: "An administrator should replace the API key under Providers.",
};
const PERMISSION: KindHelp = {
  meaning: "The provider's account has no access to this model or endpoint.",
  advice: "An administrator should check the access in the provider's console.",
};
const NOT_FOUND: KindHelp = {
  meaning: "The provider does not know the model or the path.",
  advice: "An administrator should compare the upstream name and the base URL with the provider's list.",
};
const TOO_LARGE: KindHelp = {
  meaning: "The request is larger than the provider accepts.",
  advice: "Send smaller or fewer inputs, images above all.",
};
const FILTERED: KindHelp = {
  meaning: "The provider's content rules stopped the request.",
  advice: "Change the prompt, or ask the provider about its filters. Retrying does not help.",
};
const TIMEOUT: KindHelp = {
  meaning: "The provider took longer than its timeout.",
  advice: "Check the durations in the heat map. An administrator can raise the provider's timeouts.",
};
const GATEWAY: KindHelp = {
  meaning: "A gateway in front of the provider received no valid response.",
  advice:
    "Try again. If it persists, check the provider's status page, or the proxy in front of your own server.",
};
const CANCELLED: KindHelp = {
  meaning: "The caller disconnected before the answer was complete.",
  advice: "This is normal when a person pressed stop. Otherwise check the timeout of the client.",
};

const NAMED: ReadonlyMap<string, KindHelp> = new Map([
  ["rate_limit_error", RATE_LIMIT],
  ["rate_limit_exceeded", RATE_LIMIT],
  ["rate_limited", RATE_LIMIT],
  ["too_many_requests", RATE_LIMIT],
  ["resource_exhausted", RATE_LIMIT],
  ["insufficient_quota", QUOTA],
  ["billing_error", QUOTA],
  ["insufficient_credits", QUOTA],
  ["overloaded_error", OVERLOADED],
  ["overloaded", OVERLOADED],
  ["engine_overloaded", OVERLOADED],
  ["service_unavailable", OVERLOADED],
  ["unavailable", OVERLOADED],
  ["server_error", PROVIDER_BUG],
  ["api_error", PROVIDER_BUG],
  ["internal_error", PROVIDER_BUG],
  ["internal_server_error", PROVIDER_BUG],
  ["internalservererror", PROVIDER_BUG],
  ["invalid_request_error", BAD_REQUEST],
  ["badrequesterror", BAD_REQUEST],
  ["invalid_argument", BAD_REQUEST],
  ["validation_error", BAD_REQUEST],
  ["context_length_exceeded", TOO_LONG],
  ["authentication_error", CREDENTIAL],
  ["invalid_api_key", CREDENTIAL],
  ["unauthenticated", CREDENTIAL],
  ["permission_error", PERMISSION],
  ["permission_denied", PERMISSION],
  ["not_found_error", NOT_FOUND],
  ["notfounderror", NOT_FOUND],
  ["not_found", NOT_FOUND],
  ["model_not_found", NOT_FOUND],
  ["request_too_large", TOO_LARGE],
  ["content_filter", FILTERED],
  ["content_policy_violation", FILTERED],
  ["timeout", TIMEOUT],
  ["timeout_error", TIMEOUT],
  [
    "connection_error",
    {
      meaning: "The provider was unreachable, or the connection closed before the answer was complete.",
      advice: "Check that the provider runs and that the server can reach its base URL.",
    },
  ],
  [
    "interrupted",
    {
      meaning:
        "Lockport was stopped or killed while the request was running. The provider did nothing wrong.",
      advice:
        "Look for the reason in the log of the server. Give running requests more time to finish with PROXY_DRAIN_TIMEOUT.",
    },
  ],
  [
    "response_too_large",
    {
      meaning: "The answer of the provider was larger than the limit of this server.",
      advice: "Request less at a time, stream the answer, or raise PROXY_MAX_RESPONSE_BYTES.",
    },
  ],
]);

const BY_STATUS: ReadonlyMap<number, KindHelp> = new Map([
  [400, BAD_REQUEST],
  [401, CREDENTIAL],
  [402, QUOTA],
  [403, PERMISSION],
  [404, NOT_FOUND],
  [408, TIMEOUT],
  [413, TOO_LARGE],
  [422, BAD_REQUEST],
  [429, RATE_LIMIT],
  [502, GATEWAY],
  [503, OVERLOADED],
  [504, GATEWAY],
  [529, OVERLOADED],
]);

function toClassHelp(status: number): KindHelp {
  if (status >= 500) return PROVIDER_BUG;
  if (status >= 400) return BAD_REQUEST;
  return {
    meaning: "The provider reported an error after the answer had started.",
    advice: "Try again, or look this kind up in the provider's documentation.",
  };
}
