import { createStyle } from "./style.ts";
import { toPrintable } from "#kernel/printable.ts";
import { toPrintableLines } from "./printable.ts";
import { toTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

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
  const style = createStyle(terminal.env, terminal.screens.data);
  const figures = new Set<string>(list.figures);
  terminal.writeData(
    toTable(
      list.columns.map((column) => column.toUpperCase().replaceAll("_", " ")),
      list.views.map((view) => list.columns.map((column) => toCell(view[column]))),
      {
        right: new Set(list.columns.flatMap((column, index) => (figures.has(column) ? [index] : []))),
        styleHeading: style.bold,
      },
    ),
  );
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
