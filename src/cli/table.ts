const GAP = "  ";

/** Rows as aligned columns under a heading, each line ended; columns are as wide as their widest cell. */
export function toTable(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [heading, ...rows];
  const widths = heading.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? "").length)));
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join(GAP)
          .trimEnd()}\n`,
    )
    .join("");
}
