import { REQUEST_ID_HEADER } from "#forward/headers.ts";
import type { InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { eventIdToUuid } from "#kernel/ids.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import { BodyRefusal, closesAfter } from "./body-reader.ts";

/** nginx's code for a caller that hung up: it is never read, and it is not a failure of ours. */
export const CALLER_GONE_STATUS = 499;

/** The error envelope (specification, section 2.1). The only place that makes one. */
export function toErrorResponse(error: ProxyError, request: Request): Response {
  const headers = new Headers({
    "content-type": "application/json",
    "x-proxy-error-source": "proxy",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
  });
  // RFC 9110, section 15.5.2: a 401 names a way to authenticate. `Bearer` makes no browser ask for a password.
  if (error.status === 401) headers.set("www-authenticate", "Bearer");
  if (error.retryAfterSeconds !== null) headers.set("retry-after", String(error.retryAfterSeconds));
  const closes = error instanceof BodyRefusal ? error.closesConnection : closesAfter(request);
  if (closes) headers.set("connection", "close");
  const envelope = {
    error: { message: error.message, type: "proxy_error", code: error.code, param: error.param },
    proxy: { source: "proxy" },
  };
  return new Response(JSON.stringify(envelope), { status: error.status, headers });
}

/** Names the request in its answer, as each answer of the data plane and each error does (decisions, "Request id"). */
export function withRequestId(response: Response, arrivedAtUs: InstantUs): Response {
  response.headers.set(REQUEST_ID_HEADER, eventIdToUuid(arrivedAtUs));
  return response;
}

/**
 * The answer to whatever was thrown while a request was served. A cause never goes on the wire; any other failure
 * is `internal_error` and is logged by its class and code alone, unless the log has it already.
 */
export function toFailureResponse(failure: unknown, request: Request, log: Log): Response {
  const refusal = toRefusal(failure);
  if (refusal === null && request.signal.aborted) return new Response(null, { status: CALLER_GONE_STATUS });
  const error =
    refusal ?? new ProxyError("internal_error", "The server failed; its log says more.", { cause: failure });
  if (error.code === "internal_error" && !error.isLogged) {
    log.error("a request failed", { method: request.method, ...describeCause(error.cause ?? error) });
  }
  return toErrorResponse(error, request);
}

/** Elysia wraps what a parse hook throws. Null: no refusal. */
function toRefusal(failure: unknown): ProxyError | null {
  if (failure instanceof ProxyError) return failure;
  if (failure instanceof Error && failure.cause instanceof ProxyError) return failure.cause;
  return null;
}
