import type { UsageDimensions } from "#usage/event.ts";

type Tags = Pick<UsageDimensions, "tags" | "fixedTags">;

const NO_TAGS: Tags = { tags: [], fixedTags: [] };

/**
 * The tags of a label set as one column holds them: a JSON array of the pairs and, where some of them are fixed, behind them
 * an array of those. Without fixed ones the text is what it was before there were any, and so is the fingerprint of its row.
 */
export function toStoredTags({ tags, fixedTags }: Tags): string {
  return JSON.stringify(fixedTags.length === 0 ? tags : [...tags, fixedTags]);
}

export function parseStoredTags(text: string): Tags {
  if (text === "[]") return NO_TAGS;
  const list: unknown = JSON.parse(text);
  if (!Array.isArray(list)) return NO_TAGS;
  const fixed: unknown = list.at(-1);
  return { tags: toTexts(list), fixedTags: Array.isArray(fixed) ? toTexts(fixed) : [] };
}

function toTexts(list: readonly unknown[]): readonly string[] {
  return list.filter((pair) => typeof pair === "string");
}
