const GAP = "  ";

export interface TableOptions {
  /** Columns, by index, whose cells stand at the right, as figures do. */
  readonly right?: ReadonlySet<number>;
  /** How the heading is made to stand out; its width stays. */
  readonly styleHeading?: (text: string) => string;
}

/** Rows as aligned columns under a heading, each line ended; columns are as wide as their widest cell. */
export function toTable(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  { right, styleHeading = (text) => text }: TableOptions = {},
): string {
  const lines = [heading, ...rows];
  const widths = heading.map((_, column) =>
    Math.max(...lines.map((line) => Bun.stringWidth(line[column] ?? ""))),
  );
  return lines
    .map((line, index) => {
      const cells = line.map((cell, column) => {
        const blanks = " ".repeat(Math.max(0, (widths[column] ?? 0) - Bun.stringWidth(cell)));
        return right?.has(column) === true ? blanks + cell : cell + blanks;
      });
      const text = cells.join(GAP).trimEnd();
      return `${index === 0 ? styleHeading(text) : text}\n`;
    })
    .join("");
}
