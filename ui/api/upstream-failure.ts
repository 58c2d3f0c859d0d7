import { toErrorKind } from "#usage/error-kind.ts";
import { isJsonObject } from "#usage/json.ts";
import { ApiFailure } from "./failure.ts";

/** Characters; an error is a sentence, whatever else comes is a page of somebody's. */
const DETAIL_LENGTH_MAX = 4_000;

/**
 * What a provider said of its own failure, in its own words where it has some; `code` is the kind of error that the
 * request log gets. `text` is the answer as it came, `body` what was read in it.
 */
export function toUpstreamFailure(status: number, body: unknown, text: string): ApiFailure {
  const error = isJsonObject(body) && isJsonObject(body["error"]) ? body["error"] : body;
  const message = isJsonObject(error) ? error["message"] : null;
  return new ApiFailure({
    code: toErrorKind(status, body),
    status,
    message: typeof message === "string" ? message : `The provider answered HTTP ${status}.`,
    source: "upstream",
    detail: text.length > DETAIL_LENGTH_MAX ? `${text.slice(0, DETAIL_LENGTH_MAX)}…` : text,
  });
}
