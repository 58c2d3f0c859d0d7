import { isJsonObject } from "#kernel/json.ts";

/** Who refused: the proxy itself, the provider behind it, or this page, which could not ask or not read the answer. */
export type FailureSource = "proxy" | "upstream" | "page";

export interface FailureFields {
  readonly code: string;
  readonly status: number;
  readonly message: string;
  readonly param?: string | null;
  readonly source?: FailureSource;
  /** The whole answer of a provider, as far as it is shown. */
  readonly detail?: string | null;
  /** Kept for the console; not shown. */
  readonly cause?: unknown;
}

/**
 * Why a question has no answer. `code` is stable: the server's own (specification, section 7), an upstream's, or one of this
 * page: `offline` (no server answered; `status` 0), `unreadable_answer` (something else than the server's JSON came) and
 * `incomplete_answer` (a model's answer broke off).
 */
export class ApiFailure extends Error {
  override readonly name = "ApiFailure";
  readonly code: string;
  readonly status: number;
  /** The offending field of the request, in the spelling of the server; null when none is. */
  readonly param: string | null;
  readonly source: FailureSource;
  /** What a provider answered, as text and cut to a length that can be shown; null when it was not the provider. */
  readonly detail: string | null;

  constructor(fields: FailureFields) {
    const { code, status, message, param = null, source = "proxy", detail = null, cause } = fields;
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.param = param;
    this.source = source;
    this.detail = detail;
  }
}

/** The failure that an answer with this status and body (parsed JSON, or what else there was) tells of. */
export function toApiFailure(status: number, body: unknown): ApiFailure {
  const error = readField(body, "error");
  const code = readField(error, "code");
  const message = readField(error, "message");
  if (typeof code !== "string" || typeof message !== "string") return unreadableAnswer(status);
  const param = readField(error, "param");
  return new ApiFailure({ code, status, message, param: typeof param === "string" ? param : null });
}

/** Nothing answered: the server is gone, or the network is. */
export function offline(cause: unknown): ApiFailure {
  return new ApiFailure({
    code: "offline",
    status: 0,
    message: "The server does not respond. The page retries automatically.",
    source: "page",
    cause,
  });
}

/** Something answered that is not this server: a proxy in between, or a version whose answers this page does not know. */
export function unreadableAnswer(status: number, cause?: unknown): ApiFailure {
  return new ApiFailure({
    code: "unreadable_answer",
    status,
    message: `The response (HTTP ${status}) did not come from this server, or was cut short. Reload the page.`,
    source: "page",
    cause,
  });
}

/** A model's answer was a redirect; `status` is 0 where the browser does not tell it. */
export function upstreamRedirect(status: number): ApiFailure {
  return new ApiFailure({
    code: "upstream_redirect",
    status,
    message: "The upstream answered with a redirect (3xx). Lockport never follows one.",
    source: "upstream",
  });
}

/** The connection broke off within an answer of a model, here or between the proxy and the provider. */
export function incompleteAnswer(cause?: unknown): ApiFailure {
  return new ApiFailure({
    code: "incomplete_answer",
    status: 0,
    message: "The answer was interrupted. What arrived is shown. Send the message again for the full answer.",
    source: "page",
    cause,
  });
}

/** What a change was made from is another one by now, as this page has found out by itself. */
export function changedMeanwhile(message: string): ApiFailure {
  return new ApiFailure({ code: "changed_meanwhile", status: 412, message, source: "page" });
}

export function isChangedMeanwhile(failure: Error | null): boolean {
  return failure instanceof ApiFailure && failure.code === "changed_meanwhile";
}

/** Whether a query ended because its reader left. */
export function isAbort(failure: unknown): boolean {
  return failure instanceof DOMException && failure.name === "AbortError";
}

function readField(value: unknown, name: string): unknown {
  return isJsonObject(value) ? value[name] : undefined;
}
