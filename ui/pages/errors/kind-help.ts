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
  const named = HELPS.find(({ kinds }) => errorKind !== null && kinds.includes(errorKind));
  if (named !== undefined) return named;
  const status = Number(/^http_(\d{3})$/.exec(errorKind ?? "")?.[1] ?? statusCode);
  // A status without a help of its own has that of its class.
  const toHelp = (known: number) => HELPS.find(({ statuses = [] }) => statuses.includes(known));
  return toHelp(status) ?? (status >= 500 ? toHelp(500) : status >= 400 ? toHelp(400) : null) ?? LATE;
}

const CANCELLED: KindHelp = {
  meaning: "The caller disconnected before the answer was complete.",
  advice: "This is normal when a person pressed stop. Otherwise check the timeout of the client.",
};
const LATE: KindHelp = {
  meaning: "The provider reported an error after the answer had started.",
  advice: "Try again, or look this kind up in the provider's documentation.",
};

/** What providers call it, and the statuses that say as much. */
interface NamedHelp extends KindHelp {
  readonly kinds: readonly string[];
  readonly statuses?: readonly number[];
}

const HELPS: readonly NamedHelp[] = [
  {
    kinds: [
      "rate_limit_error",
      "rate_limit_exceeded",
      "rate_limited",
      "too_many_requests",
      "resource_exhausted",
    ],
    statuses: [429],
    meaning: "The provider's rate limit was hit.",
    advice: "Send fewer requests, ask the provider for a higher limit, or use another model too.",
  },
  {
    kinds: ["insufficient_quota", "billing_error", "insufficient_credits"],
    statuses: [402],
    meaning: "The provider's account has no credit or quota left.",
    advice: "An administrator should check billing and spending limits in the provider's console.",
  },
  {
    kinds: ["overloaded_error", "overloaded", "engine_overloaded", "service_unavailable", "unavailable"],
    statuses: [503, 529],
    meaning: "The provider had no capacity at that moment.",
    advice: "Let clients retry with backoff. If it persists, use another model.",
  },
  {
    kinds: ["server_error", "api_error", "internal_error", "internal_server_error", "internalservererror"],
    statuses: [500],
    meaning: "The provider had an internal error.",
    advice: "Try again. If it persists, check the provider's status page, or the log of your own server.",
  },
  {
    kinds: ["invalid_request_error", "badrequesterror", "invalid_argument", "validation_error"],
    statuses: [400, 422],
    meaning: "The provider refused what the client sent.",
    advice: "Check the clients below: the model may not support a parameter. Retrying does not help.",
  },
  {
    kinds: ["context_length_exceeded"],
    meaning: "The prompt is longer than the context of the model.",
    advice: "Shorten the prompt, or choose a model with a larger context.",
  },
  {
    kinds: ["authentication_error", "invalid_api_key", "unauthenticated"],
    statuses: [401],
    meaning: "The provider did not accept the credential of this server.",
    advice: "An administrator should replace the API key under Providers.",
  },
  {
    kinds: ["permission_error", "permission_denied"],
    statuses: [403],
    meaning: "The provider's account has no access to this model or endpoint.",
    advice: "An administrator should check the access in the provider's console.",
  },
  {
    kinds: ["not_found_error", "notfounderror", "not_found", "model_not_found"],
    statuses: [404],
    meaning: "The provider does not know the model or the path.",
    advice: "An administrator should compare the upstream name and the base URL with the provider's list.",
  },
  {
    kinds: ["request_too_large"],
    statuses: [413],
    meaning: "The request is larger than the provider accepts.",
    advice: "Send smaller or fewer inputs, images above all.",
  },
  {
    kinds: ["content_filter", "content_policy_violation"],
    meaning: "The provider's content rules stopped the request.",
    advice: "Change the prompt, or ask the provider about its filters. Retrying does not help.",
  },
  {
    kinds: ["timeout", "timeout_error"],
    statuses: [408],
    meaning: "The provider took longer than its timeout.",
    advice: "Check the durations in the heat map. An administrator can raise the provider's timeouts.",
  },
  {
    kinds: ["connection_error"],
    meaning: "The provider was unreachable, or the connection closed before the answer was complete.",
    advice: "Check that the provider runs and that the server can reach its base URL.",
  },
  {
    kinds: ["interrupted"],
    meaning: "Lockport was stopped or killed while the request was running. The provider did nothing wrong.",
    advice:
      "Look for the reason in the log of the server. Give running requests more time to finish with PROXY_DRAIN_TIMEOUT.",
  },
  {
    kinds: ["response_too_large"],
    meaning: "The answer of the provider was larger than the limit of this server.",
    advice: "Request less at a time, stream the answer, or raise PROXY_MAX_RESPONSE_BYTES.",
  },
  {
    kinds: [],
    statuses: [502, 504],
    meaning: "A gateway in front of the provider received no valid response.",
    advice:
      "Try again. If it persists, check the provider's status page, or the proxy in front of your own server.",
  },
];
