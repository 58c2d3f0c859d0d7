import type { AnswerOf, CallOf, RouteName } from "#http/client.ts";
import { type RouteInput, toRouteRequest } from "#kernel/route-request.ts";
import { isAbort, offline, toApiFailure, unreadableAnswer } from "./failure.ts";

/** Every `fetch` of the page has these. A redirect would repeat a body, which may hold a key or a prompt, wherever it leads. */
export const OWN_SERVER = { credentials: "same-origin", redirect: "error" } as const;

/**
 * Calls a route, with the types of the server's own source: `call("DELETE /my/keys/:id", { params: { id } })`. Throws `ApiFailure`
 * for everything but its answer: a refusal with the server's code, `offline` when nothing answered, `unreadable_answer` for what
 * is not the server's JSON; and the `AbortError` of a question that was given up.
 */
export function call<const Name extends RouteName>(...args: CallOf<Name>): Promise<AnswerOf<Name>>;
export async function call(route: string, input?: RouteInput): Promise<unknown> {
  return (await ask(route, input)).data;
}

/** An answer with its headers. */
export interface Answered<Data> {
  readonly data: Data;
  readonly headers: Headers;
}

/** Throws as `call` does. */
export function callWithHeaders<const Name extends RouteName>(
  ...args: CallOf<Name>
): Promise<Answered<AnswerOf<Name>>>;
export async function callWithHeaders(route: string, input?: RouteInput): Promise<Answered<unknown>> {
  return await ask(route, input);
}

/** Throws as `call` does. The routes of `resource` are known by text alone. */
export async function ask(route: string, input: RouteInput = {}): Promise<Answered<unknown>> {
  // Relative, hence of the origin that the page came from.
  const { address, init } = toRouteRequest(route, input);
  const response = await fetch(address, { ...OWN_SERVER, ...init }).catch(refuse);
  const { status, headers } = response;
  if (!isJson(headers)) throw unreadableAnswer(status);
  const data = await readJson(response);
  if (!response.ok) throw toApiFailure(status, data);
  if (data === null) throw unreadableAnswer(status);
  return { data, headers };
}

async function readJson(response: Response): Promise<unknown> {
  const text = await response.text().catch(refuse);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw unreadableAnswer(response.status, cause);
  }
}

/** Throws what `fetch`, or the reading of a body, threw as a failure of the page. */
export function refuse(cause: unknown): never {
  throw isAbort(cause) ? cause : offline(cause);
}

export function isJson(headers: Headers): boolean {
  return headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase() === "application/json";
}
