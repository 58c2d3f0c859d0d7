import { free } from "#kernel/bytes.ts";
import { ProxyError } from "#kernel/errors.ts";
import { type BodyOwner, parseJson, readBody } from "./body.ts";
import type { BodyLimits } from "./body-reader.ts";

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
