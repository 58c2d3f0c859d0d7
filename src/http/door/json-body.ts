import type { ValidationError } from "elysia";
import type { BodyLimits } from "./body-reader.ts";
import { type BodyOwner, parseJson, readBody } from "./body.ts";
import { free } from "#kernel/bytes.ts";
import { ProxyError } from "#kernel/errors.ts";

/** An absent body is read as this: an object without fields, told apart from a `{}` that was sent. */
const EMPTY_BODY: object = Object.freeze({});

/** No request goes deeper than 2 levels; what validates a body and describes what is wrong with it works by recursion. */
const JSON_DEPTH_MAX = 128;

/** The JSON value of a request's body. Throws `invalid_json` and what `readBody` does. */
export async function readJsonBody(request: Request, limits: BodyLimits, from: BodyOwner): Promise<unknown> {
  const { bytes, reservation } = await readBody(request, limits, from);
  try {
    if (bytes.byteLength > 0) return parseShallow(bytes);
  } finally {
    free(bytes);
    reservation?.close();
  }
  // A change without a body changes nothing: it is a mistake, not a wish.
  if (request.method === "PATCH") throw emptyBody();
  return EMPTY_BODY;
}

function parseShallow(bytes: Uint8Array): unknown {
  const value = parseJson(bytes);
  if (walk(value)) return value;
  throw new ProxyError("invalid_json", `The body is nested deeper than ${JSON_DEPTH_MAX} levels.`);
}

export function isEmptyBody(value: unknown): boolean {
  return value === EMPTY_BODY;
}

/** The refusal of a body that is needed and did not come. */
export function emptyBody(): ProxyError {
  return new ProxyError("invalid_json", "The body is empty; send a JSON object.");
}

/** Visits the objects of a value level by level, without recursion. False when there are too many levels. */
function walk(value: unknown): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; depth <= JSON_DEPTH_MAX; depth += 1) {
    level = level.flatMap((member): readonly unknown[] => {
      if (typeof member !== "object" || member === null) return [];
      keepPrintable(member);
      return Object.values(member);
    });
    if (level.length === 0) return true;
  }
  return false;
}

/**
 * Lets `${object}` work whatever the object's fields are called. What validates a body makes such a text of a value that it
 * refuses, and a field `toString` or `valueOf` would make it throw a TypeError there. A symbol is no field: nothing that
 * reads the body meets it.
 */
function keepPrintable(member: object): void {
  if (!Object.hasOwn(member, "toString") && !Object.hasOwn(member, "valueOf")) return;
  Object.defineProperty(member, Symbol.toPrimitive, { value: () => "[object Object]" });
}

/** `invalid_request` for a body that its schema refuses: names the field and what is wrong with its type; never the value, which may be a password. */
export function toInvalidRequest(error: ValidationError): ProxyError {
  if (isEmptyBody(error.value)) return emptyBody();
  const first = toInnermost(error.all[0]);
  const pointer = first !== undefined && "path" in first ? first.path : "";
  if (pointer === "") return new ProxyError("invalid_request", "The body must be a JSON object.");
  const param = toParam(pointer);
  if (param === null) return new ProxyError("invalid_request", UNKNOWN_FIELD);
  const problem = first !== undefined && "message" in first ? first.message : "";
  return new ProxyError("invalid_request", toSentence(param, problem), { param });
}

type Fault = ValidationError["all"][number] | undefined;

/** The fault of a union says nothing: what is wrong within the value does, or else what the union's first kind is. */
function toInnermost(fault: Fault): Fault {
  if (fault === undefined || !("errors" in fault)) return fault;
  const kinds = fault.errors.flatMap((kind) => kind.First() ?? []);
  const within = kinds.find(({ path }) => path !== fault.path);
  return within === undefined ? (kinds[0] ?? fault) : toInnermost(within);
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
