import { ValidationError } from "elysia";
import { ProxyError } from "#kernel/errors.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import { BodyRefusal, closesAfter } from "./body-reader.ts";
import { emptyBody, isEmptyBody } from "./json-body.ts";

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
  const closes = error instanceof BodyRefusal ? error.closesConnection : closesAfter(request);
  if (closes) headers.set("connection", "close");
  const envelope = {
    error: { message: error.message, type: "proxy_error", code: error.code, param: error.param },
    proxy: { source: "proxy" },
  };
  return new Response(JSON.stringify(envelope), { status: error.status, headers });
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

/** Elysia wraps what a parse hook throws, and has errors of its own; null: neither a refusal nor one of those. */
function toRefusal(failure: unknown): ProxyError | null {
  if (failure instanceof ProxyError) return failure;
  if (failure instanceof ValidationError) return toInvalidRequest(failure);
  if (failure instanceof Error && failure.cause instanceof ProxyError) return failure.cause;
  return null;
}

/** Names the field and what is wrong with its type; never the value, which may be a password. */
function toInvalidRequest(error: ValidationError): ProxyError {
  if (isEmptyBody(error.value)) return emptyBody();
  const first = error.all[0];
  const pointer = first !== undefined && "path" in first ? first.path : "";
  if (pointer === "") return new ProxyError("invalid_request", "The body must be a JSON object.");
  const param = toParam(pointer);
  if (param === null) return new ProxyError("invalid_request", UNKNOWN_FIELD);
  const problem = first !== undefined && "message" in first ? first.message : "";
  return new ProxyError("invalid_request", toSentence(param, problem), { param });
}

/** The field's name, which is text of the client, stands in `param` alone. */
const UNKNOWN_FIELD = "The body has a field that this request does not have.";

/**
 * A field's name may be anything that a client sent; only a plain one is repeated. Below the first step it may be a model's
 * name, which can hold slashes and colons (`models.org/name:free.pricing`).
 */
const PLAIN_POINTER = /^\/[A-Za-z0-9_.-]{1,64}(?:\/(?:[A-Za-z0-9_.:-]|~1){1,64}){0,4}$/;

/** JSON pointer (RFC 6901) → the spelling of `param`: `/capabilities/1` → `capabilities[1]`; null when it is not plain. */
function toParam(pointer: string): string | null {
  if (!PLAIN_POINTER.test(pointer)) return null;
  return pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/"))
    .map((step, index) => (/^[0-9]+$/.test(step) ? `[${step}]` : index === 0 ? step : `.${step}`))
    .join("");
}

/** TypeBox's own sentences name the expected type, never the value. */
function toSentence(param: string, problem: string): string {
  if (problem === "Unexpected property") return UNKNOWN_FIELD;
  if (problem === "Expected required property") return `${param} is required.`;
  return problem === ""
    ? `${param} is not valid.`
    : `${param} is not valid: ${problem.charAt(0).toLowerCase()}${problem.slice(1)}.`;
}
