import { truncateCodePoints } from "#kernel/text.ts";

/**
 * C0, DEL and C1 controls, line separators, and the marks that turn the direction of text: on a terminal they would move
 * the cursor, forge lines or hide what follows. User-Agents and names are other people's text.
 */
// oxlint-disable-next-line no-control-regex
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Text that stays on its line and does nothing but be read: what is unprintable is shown as `\u001b`. */
export function toPrintable(text: string): string {
  return text.replace(UNPRINTABLE, toEscape);
}

/** As `toPrintable`, for text of several lines; JSON stays JSON of the same value. */
export function toPrintableLines(json: string): string {
  return json.replace(UNPRINTABLE, (character) => (character === "\n" ? character : toEscape(character)));
}

/** A word of a message that is longer was typed by mistake, and would push the message off the screen. */
const WORD_LENGTH_MAX = 500;
const LONG_WORD = new RegExp(`\\S{${WORD_LENGTH_MAX},}`, "g");

/** As `toPrintableLines`, for a message, which may repeat an argument. */
export function toPrintableMessage(text: string): string {
  return toPrintableLines(text.replace(LONG_WORD, (word) => `${truncateCodePoints(word, WORD_LENGTH_MAX)}…`));
}

function toEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
