/** Limits of one `x-proxy-tags` header (specification, sections 2.10 and 8), and of each list of fixed tags. */
export const TAG_PAIRS_MAX = 8;
export const TAGS_BYTES_MAX = 256;

const NO_TAGS: readonly string[] = [];
const TAG_PATTERN = /^[a-z0-9][a-z0-9._-]*:[a-z0-9][a-z0-9._-]*$/;

/**
 * The normalised `key:value` pairs of an `x-proxy-tags` header, sorted by key (specification, section 2.10). Never refuses:
 * malformed pairs and pairs whose key was seen are dropped. Pairs are kept in the order of the header up to the first
 * that no longer fits the limits, commas counted; sorting comes after that. `fixed` pairs, sorted by key, all stay: what they
 * leave of the limits is the header's, and their keys are not.
 */
export function parseTags(header: string | null, fixed: readonly string[] = NO_TAGS): readonly string[] {
  if (header === null) return fixed;
  const pairs = [...fixed];
  // In the order of the pairs.
  const keys = fixed.map(toTagKey);
  let sizeBytes = fixed.length === 0 ? 0 : fixed.join(",").length;
  for (const text of header.split(",")) {
    const pair = normaliseTag(text);
    if (pair === null) continue;
    const key = toTagKey(pair);
    if (keys.includes(key)) continue;
    // Normalised pairs are ASCII: a character is a byte.
    sizeBytes += pair.length + (pairs.length === 0 ? 0 : 1);
    if (pairs.length >= TAG_PAIRS_MAX || sizeBytes > TAGS_BYTES_MAX) break;
    // By key, not by pair: `a:z` comes before `a-b:1`, although a colon comes after a hyphen.
    const after = keys.findIndex((other) => other > key);
    const at = after === -1 ? keys.length : after;
    keys.splice(at, 0, key);
    pairs.splice(at, 0, pair);
  }
  return pairs;
}

/** Two lists that are sorted by key as one: of one key the pair of `over` stays. */
export function mergeTags(over: readonly string[], under: readonly string[]): readonly string[] {
  if (over.length === 0) return under;
  if (under.length === 0) return over;
  const keys = new Set(over.map(toTagKey));
  return sortTags([...over, ...under.filter((pair) => !keys.has(toTagKey(pair)))]);
}

/** By key, not by pair. */
export function sortTags(pairs: readonly string[]): readonly string[] {
  return pairs.toSorted((one, other) => (toTagKey(one) < toTagKey(other) ? -1 : 1));
}

/** The part of a normalised pair before its colon. */
export function toTagKey(pair: string): string {
  return pair.slice(0, pair.indexOf(":"));
}

/** One pair, trimmed and in lower case; null when it is malformed. */
export function normaliseTag(pair: string): string | null {
  const normalised = pair.trim().toLowerCase();
  return TAG_PATTERN.test(normalised) ? normalised : null;
}
