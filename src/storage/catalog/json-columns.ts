import { normaliseTag } from "#kernel/tags.ts";

/** What a column holds; null for what is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The fixed tags of a column. Null for what is no list of pairs as they are written: its row is out of force. */
export function readTags(text: string | null): readonly string[] | null {
  if (text === null) return [];
  const list = parseJson(text);
  return Array.isArray(list) && list.every(isPair) ? list : null;
}

function isPair(pair: unknown): pair is string {
  return typeof pair === "string" && normaliseTag(pair) === pair;
}

export function fromTags(tags: readonly string[]): string | null {
  return tags.length === 0 ? null : JSON.stringify(tags);
}
