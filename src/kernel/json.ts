export type JsonObject = { readonly [member: string]: unknown };

/** The value of a JSON text, or undefined when it is none. Never throws, also not on nesting too deep for the parser. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A JSON object, as opposed to an array, a primitive or null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
