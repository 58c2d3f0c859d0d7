/** A member's name may be anything a client sent; only a plain one is repeated in an error. */
const PLAIN_KEY_PATTERN = /^[A-Za-z0-9_.-]{1,64}$/;

/** The `param` of a member of an object field: `pricing.input_tokens`, or only `pricing` when the key is no plain word. */
export function fieldParam(field: string, key: string): string {
  return PLAIN_KEY_PATTERN.test(key) ? `${field}.${key}` : field;
}
