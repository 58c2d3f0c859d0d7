/** What keeps an installation from being used, in words. */
export interface Finding {
  readonly finding: string;
  /** What to do. Without a capital and a full stop: it is a part of a sentence as well. */
  readonly advice: string;
}

/** Advice that stands by itself. */
export function toOwnSentence(advice: string): string {
  return `${advice.charAt(0).toUpperCase()}${advice.slice(1)}.`;
}
