import { normaliseTag } from "#kernel/tags.ts";
import { parseJson } from "./column-json.ts";

/** Whether a column of fixed tags holds a list of pairs as they are written; one that is null is not asked. */
export function isReadableTags(text: string): boolean {
  const list = parseJson(text);
  return Array.isArray(list) && list.every((pair) => typeof pair === "string" && normaliseTag(pair) === pair);
}

/** A list that cannot be read is empty: its row is out of force, so that nothing is used without them. */
export function toTags(text: string | null): readonly string[] {
  if (text === null || !isReadableTags(text)) return [];
  const list = parseJson(text);
  return Array.isArray(list) ? list.filter((pair) => typeof pair === "string") : [];
}

export function fromTags(tags: readonly string[]): string | null {
  return tags.length === 0 ? null : JSON.stringify(tags);
}
