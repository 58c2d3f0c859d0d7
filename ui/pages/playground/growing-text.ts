/**
 * A text that grows, in pieces: those before the last stay as they are, so that a long answer is not drawn anew with every
 * word. A piece ends with its line break, and each is a block of its own on the page.
 */
export interface GrowingText {
  readonly closed: readonly string[];
  /** What is still written to. */
  readonly open: string;
}

export const NO_TEXT: GrowingText = { closed: [], open: "" };

/** Characters from which a piece is closed at its last line break; one without any goes on. */
const PIECE_LENGTH = 2_000;

export function appendText({ closed, open }: GrowingText, more: string): GrowingText {
  const text = open + more;
  const end = text.length < PIECE_LENGTH ? 0 : text.lastIndexOf("\n") + 1;
  return end === 0
    ? { closed, open: text }
    : { closed: [...closed, text.slice(0, end)], open: text.slice(end) };
}

export function toWholeText({ closed, open }: GrowingText): string {
  return closed.join("") + open;
}

export function isBlank({ closed, open }: GrowingText): boolean {
  return closed.length === 0 && open === "";
}
