import { REQUEST_ID_HEADER, setProxiedBy, toProxiedBy } from "#forward/headers.ts";
import type { ForwardResult } from "#forward/request-end.ts";
import { BodyRefusal, closeUnread, closesAfter } from "./body-reader.ts";
import type { InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { eventIdToUuid } from "#kernel/ids.ts";

/** nginx's code for a caller that hung up: it is never read, and it is not a failure of ours. */
const CALLER_GONE_STATUS = 499;

/** The answer to a caller that has gone. */
export function toGoneResponse(): Response {
  return new Response(null, { status: CALLER_GONE_STATUS });
}

/**
 * Whose clients read an error. Those of the messages API show its message only where the top level has `"type": "error"`;
 * people paste messages and no headers, so those of both APIs end with the request's id.
 */
export type ErrorDialect = "interface" | "completions" | "messages";

/** Facts of the request that an error answers. */
export interface ErrorContext {
  readonly requestId: string;
  readonly dialect: ErrorDialect;
}

/** The error envelope (specification, section 2.1, and the amendments). The only place that makes one. */
export function toErrorResponse(
  error: ProxyError,
  request: Request,
  { requestId, dialect }: ErrorContext,
): Response {
  const headers = new Headers({
    [REQUEST_ID_HEADER]: requestId,
    "content-type": "application/json",
    "x-proxy-error-source": "proxy",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
  });
  // RFC 9110, section 15.5.2: a 401 names a way to authenticate. `Bearer` makes no browser ask for a password.
  if (error.status === 401) headers.set("www-authenticate", "Bearer");
  // Claude Code (2.1.330) tries a wrong key for minutes without a word unless it is told that this does not help.
  if (error.status === 401 && dialect === "messages") headers.set("x-should-retry", "false");
  if (error.retryAfterSeconds !== null) headers.set("retry-after", String(error.retryAfterSeconds));
  for (const [name, value] of Object.entries(error.headers)) headers.set(name, value);
  const closes = (error instanceof BodyRefusal && error.closesConnection) || closesAfter(request);
  if (closes) headers.set("connection", "close");
  const message = dialect === "interface" ? error.message : `${error.message} (request ${requestId})`;
  const envelope = {
    ...(dialect === "messages" && { type: "error" }),
    error: { message, type: "proxy_error", code: error.code, param: error.param },
    proxy: { source: "proxy", request_id: requestId },
  };
  return new Response(JSON.stringify(envelope), { status: error.status, headers });
}

/** Names the request in its answer, as each answer of the data plane and each error does (decisions, "Request id"). */
export function withRequestId(response: Response, arrivedAtUs: InstantUs, lane: number): Response {
  response.headers.set(REQUEST_ID_HEADER, eventIdToUuid(arrivedAtUs, lane));
  return response;
}

export interface AnsweredRequest {
  readonly arrivedAtUs: InstantUs;
  readonly lane: number;
  readonly dialect: ErrorDialect;
}

/** The response of an exchange: the upstream's answer, or a 502 `provider_unreachable` in its place. */
export function toExchangeResponse(
  answer: ForwardResult,
  request: Request,
  { arrivedAtUs, lane, dialect }: AnsweredRequest,
): Response {
  if (answer.kind === "responded") return closeUnread(request, answer.response);
  if (answer.kind === "cancelled") return toGoneResponse();
  const context = { requestId: eventIdToUuid(arrivedAtUs, lane), dialect };
  if (answer.kind === "refused") return toErrorResponse(answer.refusal, request, context);
  const error = new ProxyError("provider_unreachable", `The provider did not answer: ${answer.error}.`);
  const response = toErrorResponse(error, request, context);
  setProxiedBy(response.headers, toProxiedBy(answer.provider, answer.upstreamName));
  return response;
}
