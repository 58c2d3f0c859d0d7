import type { ValidationError } from "elysia";
import { ProxyError } from "#kernel/errors.ts";
import { emptyBody, isEmptyBody } from "./json-body.ts";

/** `invalid_request` for a body that its schema refuses: names the field and what is wrong with its type; never the value, which may be a password. */
export function toInvalidRequest(error: ValidationError): ProxyError {
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
