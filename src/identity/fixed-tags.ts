import { ProxyError } from "#kernel/errors.ts";
import { normaliseTag, sortTags, TAG_PAIRS_MAX, TAGS_BYTES_MAX, toTagKey } from "#kernel/tags.ts";
import { containsOwnToken } from "./secret.ts";
import type { TermSetter } from "./secret-terms.ts";

/**
 * Fixed tags as a client writes them: a list of `name:value` in the form of `x-proxy-tags`, or null for none. They are on all
 * usage of the principal or secret that has them. Throws `invalid_tags` (param `tags`).
 */
export function parseFixedTags(value: unknown): readonly string[] {
  if (value === null) return [];
  if (!Array.isArray(value) || value.length > TAG_PAIRS_MAX) throw refuseTags();
  const pairs = value.map(toPair);
  const names = new Set(pairs.map(toTagKey));
  if (names.size < pairs.length || pairs.join(",").length > TAGS_BYTES_MAX) throw refuseTags();
  return sortTags(pairs);
}

/** Throws `admin_required` for anyone but an admin, whatever is asked for; undefined: nothing is. */
export function parseTagsOf(value: unknown, setter: TermSetter): readonly string[] | undefined {
  if (value === undefined) return undefined;
  if (setter !== "admin") {
    throw new ProxyError("admin_required", "Fixed tags are set by an admin.", { param: "tags" });
  }
  return parseFixedTags(value);
}

function toPair(value: unknown): string {
  const pair = typeof value === "string" ? normaliseTag(value) : null;
  // It would be on every row of the request log.
  if (pair === null || containsOwnToken(pair)) throw refuseTags();
  return pair;
}

function refuseTags(): ProxyError {
  return new ProxyError(
    "invalid_tags",
    `tags is a list of up to ${TAG_PAIRS_MAX} pairs such as team:search, each with a name of its own, of ${TAGS_BYTES_MAX} characters in all.`,
    { param: "tags" },
  );
}
