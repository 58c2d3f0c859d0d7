import { toEscape, UNPRINTABLE } from "#kernel/printable.ts";
import { truncateCodePoints } from "#kernel/text.ts";

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
