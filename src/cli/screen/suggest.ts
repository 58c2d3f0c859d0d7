import { findNearest } from "#kernel/nearest.ts";

/** What to add to a refusal of one that is none of these: empty where none is near, else a line of its own. */
export function suggest(text: string, words: readonly string[]): string {
  const nearest = findNearest(text, words);
  return nearest === null ? "" : `\n(Did you mean ${nearest}?)`;
}
