/** Limits of one `x-proxy-tags` header (specification, sections 2.10 and 8). */
export const TAG_PAIRS_MAX = 8;
export const TAGS_BYTES_MAX = 256;

const NO_TAGS: readonly string[] = [];
const TAG_PATTERN = /^[a-z0-9][a-z0-9._-]*:[a-z0-9][a-z0-9._-]*$/;

/**
 * The normalised `key:value` pairs of an `x-proxy-tags` header, sorted by key (specification, section 2.10). Never refuses:
 * malformed pairs and pairs whose key was seen are dropped. Pairs are kept in the order of the header up to the first
 * that no longer fits the limits, commas counted; sorting comes after that.
 */
export function parseTags(header: string | null): readonly string[] {
  if (header === null) return NO_TAGS;
  const pairs: string[] = [];
  // In the order of the pairs.
  const keys: string[] = [];
  let sizeBytes = 0;
  for (const text of header.split(",")) {
    const pair = normaliseTag(text);
    if (pair === null) continue;
    const key = pair.slice(0, pair.indexOf(":"));
    if (keys.includes(key)) continue;
    // Normalised pairs are ASCII: a character is a byte.
    sizeBytes += pair.length + (pairs.length === 0 ? 0 : 1);
    if (pairs.length === TAG_PAIRS_MAX || sizeBytes > TAGS_BYTES_MAX) break;
    // By key, not by pair: `a:z` comes before `a-b:1`, although a colon comes after a hyphen.
    const after = keys.findIndex((other) => other > key);
    const at = after === -1 ? keys.length : after;
    keys.splice(at, 0, key);
    pairs.splice(at, 0, pair);
  }
  return pairs;
}

/** One pair, trimmed and in lower case; null when it is malformed. */
export function normaliseTag(pair: string): string | null {
  const normalised = pair.trim().toLowerCase();
  return TAG_PATTERN.test(normalised) ? normalised : null;
}
