/** Width of a character of a chart's 11 px text, on the wide side: labels are placed before they are drawn. */
const CHARACTER_PX = 6.4;
/** East Asian characters and pictures are about as wide as they are high; they begin at this code point. */
const WIDE_PX = 12;
const WIDE_FROM = 0x2e80;

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

const PLAIN = /^[ -~]*$/;

/** About how wide a label is drawn. */
export function toTextWidth(text: string): number {
  // Most labels are figures and dates; finding the characters of other scripts takes a hundred times as long.
  if (PLAIN.test(text)) return text.length * CHARACTER_PX;
  return toCharacters(text).reduce((width, character) => width + toCharacterWidth(character), 0);
}

/** As much of a text as fits, with an ellipsis where it was cut; never half a character, and always one. */
export function toFittedText(text: string, widthPx: number): string {
  if (toTextWidth(text) <= widthPx) return text;
  const characters = toCharacters(text);
  let left = widthPx - CHARACTER_PX;
  const end = characters.findIndex((character) => (left -= toCharacterWidth(character)) < 0);
  return `${characters.slice(0, Math.max(1, end)).join("").trimEnd()}…`;
}

function toCharacters(text: string): readonly string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

function toCharacterWidth(character: string): number {
  return (character.codePointAt(0) ?? 0) < WIDE_FROM ? CHARACTER_PX : WIDE_PX;
}
