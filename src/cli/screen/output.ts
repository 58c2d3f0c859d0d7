import { createStyle } from "#cli/screen/style.ts";
import { toPrintable, toEscape, UNPRINTABLE } from "#kernel/printable.ts";
import { toMoment } from "#cli/screen/figures.ts";
import { fitTable, toTable, type FittedTable, type Table } from "#cli/screen/table.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { truncateCodePoints } from "#kernel/text.ts";

export interface OutputOptions {
  readonly json?: true;
}

/** A value as JSON, for programs. */
export function writeJson(terminal: Terminal, value: unknown): void {
  terminal.writeData(toJsonText(value));
}

export function toJsonText(value: unknown): string {
  return `${toPrintableLines(JSON.stringify(value, null, 2))}\n`;
}

/** A value as JSON on one line, for programs that read line by line. */
export function writeJsonLine(terminal: Terminal, value: unknown): void {
  terminal.writeData(`${toPrintableLines(JSON.stringify(value))}\n`);
}

/** What was done: the resource as JSON on stdout, or a sentence on stderr. */
export function writeDone(
  terminal: Terminal,
  options: OutputOptions,
  done: { readonly view: unknown; readonly sentence: string },
): void {
  if (options.json === true) writeJson(terminal, done.view);
  else terminal.writeMessage(`${toPrintable(done.sentence)}\n`);
}

export interface List<Row> {
  readonly views: readonly Row[];
  /** Fields, in the order of the columns. */
  readonly columns: readonly (keyof Row & string)[];
  /** Columns of figures. */
  readonly figures?: readonly (keyof Row & string)[];
  /** Columns that a narrow screen leaves out, the first of these first. */
  readonly spare?: readonly (keyof Row & string)[];
}

/** Views as JSON or as a table with these columns. */
export function writeList<Row extends object>(
  terminal: Terminal,
  options: OutputOptions,
  list: List<Row>,
): void {
  if (options.json === true) {
    writeJson(terminal, list.views);
    return;
  }
  const isScreen = terminal.columns !== null;
  const toIndices = (columns: readonly (keyof Row & string)[] = []) =>
    columns.map((column) => list.columns.indexOf(column)).filter((index) => index !== -1);
  writeTable(terminal, {
    heading: list.columns.map((column) => column.toUpperCase().replaceAll("_", " ")),
    rows: list.views.map((view) =>
      list.columns.map((column) => toCell(isScreen ? toReadable(view[column]) : view[column])),
    ),
    right: new Set(toIndices(list.figures)),
    spare: toIndices(list.spare),
  });
}

/** A table that fits the screen, where stdout is one; what had no room is told on stderr. */
export function writeTable(terminal: Terminal, table: Table): void {
  const { columns, env, screens } = terminal;
  const fitted: FittedTable = columns === null ? { ...table, leftOut: [] } : fitTable(table, columns);
  const { heading, rows, right, leftOut } = fitted;
  terminal.writeData(toTable(heading, rows, { right, styleHeading: createStyle(env, screens.data).bold }));
  writeLeftOut(terminal, leftOut);
}

/** Says which columns of a table had no room. */
export function writeLeftOut(terminal: Terminal, headings: readonly string[]): void {
  if (headings.length === 0) return;
  terminal.writeMessage(
    `Not shown on a screen this narrow: ${headings.join(", ").toLowerCase()}. --json has all.\n`,
  );
}

const INSTANT = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** An instant to the second, as people read it; anything else as it is. */
function toReadable(value: unknown): unknown {
  return typeof value === "string" && INSTANT.test(value) ? toMoment(value) : value;
}

/** One view as lines `field: value`, or as JSON. */
export function writeFields(terminal: Terminal, options: OutputOptions, view: object): void {
  if (options.json === true) {
    writeJson(terminal, view);
    return;
  }
  for (const [field, value] of Object.entries(view)) terminal.writeData(`${field}: ${toCell(value)}\n`);
}

export function toCell(value: unknown): string {
  if (value === null || value === undefined || value === "") return "-";
  if (typeof value === "string") return toPrintable(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return String(value);
  if (Array.isArray(value)) return value.length === 0 ? "-" : value.map(toCell).join(",");
  const pairs = Object.entries(value).map(([key, inner]) => `${toPrintable(key)}=${toCell(inner)}`);
  return pairs.length === 0 ? "-" : pairs.join(",");
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
