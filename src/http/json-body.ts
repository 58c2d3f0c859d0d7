import { ProxyError } from "#kernel/errors.ts";
import { JSON_BODY_BYTES_MAX, parseJson, readBody, toBodyLimits } from "./body.ts";

/** What an absent body is read as: an object without fields, told apart from a `{}` that was sent. */
const EMPTY_BODY: object = Object.freeze({});

/** The JSON value of a request's body. Throws `request_too_large`, `invalid_json` and `invalid_request`. */
export async function readJsonBody(request: Request): Promise<unknown> {
  const bytes = await readBody(request, toBodyLimits(JSON_BODY_BYTES_MAX));
  if (bytes.byteLength > 0) return parseJson(bytes);
  // A change without a body changes nothing: it is a mistake, not a wish.
  if (request.method === "PATCH") throw emptyBody();
  return EMPTY_BODY;
}

export function isEmptyBody(value: unknown): boolean {
  return value === EMPTY_BODY;
}

/** For a body that was needed and did not come. */
export function emptyBody(): ProxyError {
  return new ProxyError("invalid_json", "The body is empty; send a JSON object.");
}
