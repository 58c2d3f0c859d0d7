import { isAbort, offline, toApiFailure, unreadableAnswer } from "./failure.ts";

/** What the typed client gives for any route. Without an answer from the network there is no response. */
interface Answer<Data> {
  readonly data: Data;
  readonly error: { readonly status: unknown; readonly value: unknown } | null;
  readonly response: Response | undefined;
}

/**
 * The data of an answer. Throws `ApiFailure` for everything else: a refusal with the server's code, `offline` when nothing
 * answered, `unreadable_answer` for what is not the server's JSON; and the `AbortError` of a question that was given up.
 */
export async function unwrap<Data>(asked: Promise<Answer<Data>>): Promise<NonNullable<Data>> {
  return (await unwrapWithHeaders(asked)).data;
}

/** Unwraps an answer with its headers. Throws as `unwrap` does. */
export async function unwrapWithHeaders<Data>(
  asked: Promise<Answer<Data>>,
): Promise<{ readonly data: NonNullable<Data>; readonly headers: Headers }> {
  const { data, error, response } = await settle(asked);
  if (response === undefined) throw toNetworkFailure(error?.value);
  if (!isJson(response.headers)) throw unreadableAnswer(response.status);
  if (error !== null) throw toApiFailure(response.status, error.value);
  if (data === null || data === undefined) throw unreadableAnswer(response.status);
  return { data, headers: response.headers };
}

/** Reading the body happens within the client: what fails there is no answer of its. */
async function settle<Data>(asked: Promise<Answer<Data>>): Promise<Answer<Data>> {
  try {
    return await asked;
  } catch (cause) {
    if (cause instanceof SyntaxError) throw unreadableAnswer(0, cause);
    throw toNetworkFailure(cause);
  }
}

/** For what `fetch` or the reading of a body threw. */
export function toNetworkFailure(cause: unknown): unknown {
  return isAbort(cause) ? cause : offline(cause);
}

export function isJson(headers: Headers): boolean {
  return headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase() === "application/json";
}
