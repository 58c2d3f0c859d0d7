const GRAPHEMES = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Text that takes so many columns of a screen at most; what is cut off is an ellipsis. */
export function truncateWidth(text: string, columns: number): string {
  if (Bun.stringWidth(text) <= columns) return text;
  let cut = "";
  for (const { segment } of GRAPHEMES.segment(text)) {
    if (Bun.stringWidth(cut + segment) > columns - 1) break;
    cut += segment;
  }
  return `${cut}…`;
}
