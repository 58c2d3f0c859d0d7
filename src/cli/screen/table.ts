const GAP = "  ";
/** Text is cut to no less than this. */
const TEXT_COLUMNS_MIN = 8;
/** Cells that are of no use in part: figures, also with their units, instants, ids and actions such as `limit.create`. */
const WHOLE =
  /^(?:-|[<$]*\d[\d.,]*(?: [a-z/ ]+|\*)?|\d{4}-\d\d-\d\d[ T\d:.Z]*|[\da-f]{8}-[\da-f]{4}-[\da-f-]{22}|[a-z_]+\.[a-z]+|yes|no|unpriced)$/;

export interface TableOptions {
  /** Columns, by index, whose cells stand at the right, as figures do. */
  readonly right?: ReadonlySet<number>;
  /** Makes the heading stand out; its width stays. */
  readonly styleHeading?: (text: string) => string;
}

/** Rows as aligned columns under a heading, each line ended; columns are as wide as their widest cell. */
export function toTable(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  { right, styleHeading = (text) => text }: TableOptions = {},
): string {
  const lines = [heading, ...rows];
  const widths = toWidths(lines);
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

export interface Table {
  readonly heading: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Columns, by index, of figures. */
  readonly right: ReadonlySet<number>;
  /** Columns that may be left out, the first of these first. */
  readonly spare: readonly number[];
}

export interface FittedTable extends Table {
  /** Headings of columns that had no room. */
  readonly leftOut: readonly string[];
}

/**
 * A table that fits so many columns of a screen, where that is possible. Spare columns in which nothing stands go first;
 * then the widest texts are cut, never figures, instants and ids; where that is not enough, spare columns are left out.
 */
export function fitTable(whole: Table, room: number): FittedTable {
  const table = toTotal(toWidths([whole.heading, ...whole.rows])) <= room ? whole : dropEmpty(whole);
  const wanted = toWidths([table.heading, ...table.rows]);
  const canShrink = (column: number) =>
    !table.right.has(column) && table.rows.some((row) => !WHOLE.test(row[column] ?? ""));
  const widths = fitWidths(
    wanted.map((columns, column) => ({
      columns,
      least: canShrink(column) ? Math.min(columns, TEXT_COLUMNS_MIN) : columns,
    })),
    { spare: table.spare, room },
  );
  const kept = pickColumns(table, [...widths.keys()]);
  const leftOut = whole.heading.filter((heading) => !kept.heading.includes(heading));
  const left = [...widths.values()];
  const toCut = (line: readonly string[]) =>
    line.map((cell, column) => truncateWidth(cell, left[column] ?? 0));
  return { ...kept, heading: toCut(kept.heading), rows: kept.rows.map(toCut), leftOut };
}

function dropEmpty(table: Table): Table {
  const isEmpty = (column: number) => table.rows.every((row) => row[column] === "-");
  const dropped = new Set(table.spare.filter(isEmpty));
  return pickColumns(
    table,
    [...table.heading.keys()].filter((column) => !dropped.has(column)),
  );
}

function pickColumns({ heading, rows, right, spare }: Table, picked: readonly number[]): Table {
  const pick = (line: readonly string[]) => picked.map((column) => line[column] ?? "");
  const toIndices = (columns: readonly number[]) =>
    columns.map((column) => picked.indexOf(column)).filter((index) => index !== -1);
  return {
    heading: pick(heading),
    rows: rows.map(pick),
    right: new Set(toIndices([...right])),
    spare: toIndices(spare),
  };
}

function toTotal(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1));
}

interface ColumnRoom {
  /** Width where there is room enough. */
  readonly columns: number;
  readonly least: number;
}

/** Width of each column, by its index: the widest give way first, and spare ones are left out where that is not enough. */
export function fitWidths(
  wanted: readonly ColumnRoom[],
  { spare, room }: { readonly spare: readonly number[]; readonly room: number },
): ReadonlyMap<number, number> {
  const widths = new Map(wanted.map(({ columns }, column) => [column, columns]));
  const toLeast = (column: number) => wanted[column]?.least ?? 0;
  for (const column of spare) {
    if (toTotal([...widths.keys()].map(toLeast)) <= room) break;
    widths.delete(column);
  }
  for (let over = toTotal([...widths.values()]) - room; over > 0; over -= 1) {
    const [widest] = [...widths]
      .filter(([column, width]) => width > toLeast(column))
      .toSorted(([, left], [, right]) => right - left);
    if (widest === undefined) break;
    widths.set(widest[0], widest[1] - 1);
  }
  return widths;
}

function toWidths(lines: readonly (readonly string[])[]): number[] {
  const count = Math.max(...lines.map((line) => line.length));
  return Array.from({ length: count }, (_, column) =>
    Math.max(...lines.map((line) => Bun.stringWidth(line[column] ?? ""))),
  );
}

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
