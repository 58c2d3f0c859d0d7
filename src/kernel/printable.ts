import { truncateCodePoints } from "./text.ts";

/**
 * C0, DEL and C1 controls, line separators, and the marks that turn the direction of text: on a terminal they would move
 * the cursor, forge lines or hide what follows. User-Agents and names are other people's text.
 */
// oxlint-disable-next-line no-control-regex
export const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Text that stays on its line and does nothing but be read: what is unprintable is shown as `\u001b`. */
export function toPrintable(text: string): string {
  return text.replace(UNPRINTABLE, toEscape);
}

/** A name that a caller chose, for a sentence: between backticks, printable, and no longer than this before it is escaped. */
export function toQuoted(text: string, lengthMax: number): string {
  const shown = truncateCodePoints(text, lengthMax);
  return `\`${toPrintable(shown.toWellFormed())}${shown.length < text.length ? "…" : ""}\``;
}

export function toEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
