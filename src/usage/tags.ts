import { compareCodeUnits } from "#kernel/text.ts";

/** Limits of one `x-proxy-tags` header (specification, sections 2.10 and 8). */
export const TAG_PAIRS_MAX = 8;
export const TAGS_BYTES_MAX = 256;

const TAG_PATTERN = /^[a-z0-9][a-z0-9._-]*:[a-z0-9][a-z0-9._-]*$/;

/**
 * The normalised `key:value` pairs of an `x-proxy-tags` header, sorted by key (specification, section 2.10). Never refuses:
 * malformed pairs and pairs whose key was seen are dropped. Pairs are kept in the order of the header up to the first
 * that no longer fits the limits, commas counted; sorting comes after that.
 */
export function parseTags(header: string | null): readonly string[] {
  if (header === null) return [];
  const pairsByKey = new Map<string, string>();
  let sizeBytes = 0;
  for (const text of header.split(",")) {
    const pair = normaliseTag(text);
    if (pair === null) continue;
    const key = toKey(pair);
    if (pairsByKey.has(key)) continue;
    // Normalised pairs are ASCII: a character is a byte.
    sizeBytes += pair.length + (pairsByKey.size === 0 ? 0 : 1);
    if (pairsByKey.size === TAG_PAIRS_MAX || sizeBytes > TAGS_BYTES_MAX) break;
    pairsByKey.set(key, pair);
  }
  // By key, not by pair: `a:z` comes before `a-b:1`, although a colon comes after a hyphen.
  return [...pairsByKey].sort(([left], [right]) => compareCodeUnits(left, right)).map(([, pair]) => pair);
}

/** One pair, trimmed and in lower case; null when it is malformed. */
export function normaliseTag(pair: string): string | null {
  const normalised = pair.trim().toLowerCase();
  return TAG_PATTERN.test(normalised) ? normalised : null;
}

function toKey(pair: string): string {
  return pair.slice(0, pair.indexOf(":"));
}
