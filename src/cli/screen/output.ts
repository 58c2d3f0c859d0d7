import { toPrintable, toEscape, UNPRINTABLE } from "#kernel/printable.ts";
import { fitTable, toTable, type FittedTable, type Table } from "#cli/screen/table.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { truncateCodePoints } from "#kernel/text.ts";
import { UNIT_TABLE, type Unit } from "#kernel/units.ts";
import type { Environment } from "#boot/settings/environment.ts";
import { CommandError, toFailure } from "#cli/screen/failure.ts";

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

/** Tells that something was done: the resource as JSON on stdout, or a sentence on stderr. */
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

const COUNT = new Intl.NumberFormat("en-US", { maximumFractionDigits: 3 });
const DECIMALS_MIN = 2;
const DECIMALS_MAX = 6;

/** `1,234,567`; nothing is a dash. */
export function toCount(value: number | undefined): string {
  return value === undefined ? "-" : COUNT.format(value);
}

/** An amount of money for reading, `$1,234.50`: two decimals, up to six where they matter. Nothing priced is a word of its own, never zero. */
export function toAmount(cost: number | null): string {
  if (cost === null) return "unpriced";
  if (cost < 0) return `-${toAmount(-cost)}`;
  const smallest = 10 ** -DECIMALS_MAX;
  if (cost > 0 && cost < smallest) return `<$${smallest.toFixed(DECIMALS_MAX)}`;
  const figure = cost.toLocaleString("en-US", {
    minimumFractionDigits: DECIMALS_MIN,
    maximumFractionDigits: cost < 1 ? DECIMALS_MAX : DECIMALS_MIN,
  });
  return `$${figure}`;
}

/** Figure of a limit, without its unit. */
export function toMeasured(measure: string, amount: number): string {
  return measure === "cost" ? toAmount(amount) : toCount(amount);
}

/** `$2.50`, a price per million, exact; one that a unit has not got is a word. */
export function toPrice(pricePerMillion: number | undefined, unit: Unit): string {
  if (pricePerMillion !== undefined) {
    const digits = { minimumFractionDigits: DECIMALS_MIN, maximumFractionDigits: DECIMALS_MAX };
    return `$${pricePerMillion.toLocaleString("en-US", digits)}`;
  }
  const { detailOf } = UNIT_TABLE[unit];
  return detailOf === null ? "unpriced" : `as ${detailOf}`;
}

/** `340 ms`, `2.4 s`, `3 min 20 s`. */
export function toDuration(durationMs: number): string {
  if (durationMs < 1000) return `${Math.round(durationMs)} ms`;
  const seconds = durationMs / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
}

/** `2026-03-11 12:00:00`, in UTC as everywhere; what is no instant stays as it is. */
export function toMoment(instant: string): string {
  const match = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})/.exec(instant);
  return match === null ? instant : `${match[1]} ${match[2]}`;
}

/** Makes words stand out; on anything but a screen each is the text itself. */
export interface Style {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly good: (text: string) => string;
  readonly warn: (text: string) => string;
  readonly bad: (text: string) => string;
}

/** Colours on a terminal only, and not where NO_COLOR is set (no-color.org) or the terminal is a dumb one. */
export function isColoured(env: Environment, isScreen: boolean): boolean {
  const off = env["NO_COLOR"];
  return isScreen && (off === undefined || off === "") && env["TERM"] !== "dumb";
}

export function createStyle(env: Environment, isScreen: boolean): Style {
  const coloured = isColoured(env, isScreen);
  // ECMA-48, section 8.3.117 (SGR).
  const between = (on: number, off: number) => (text: string) =>
    coloured && text !== "" ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  return {
    bold: between(1, 22),
    dim: between(2, 22),
    good: between(32, 39),
    warn: between(33, 39),
    bad: between(31, 39),
  };
}

export interface ShownSecret {
  readonly view: { readonly id: string };
  /** The plaintext. */
  readonly secret: string;
  /** Such as `key of ada`. */
  readonly what: string;
  /** Deletes it: no reader has it when its output is lost. Null where that would end what was there before. */
  readonly takeBack: (() => Promise<unknown>) | null;
}

/**
 * The one time that a secret is shown: alone on stdout, so that `KEY=$(lockport key create …)` works. Throws a
 * `CommandError` when it could not be shown, which has taken it back.
 */
export async function showSecret(
  terminal: Terminal,
  options: OutputOptions,
  { view, secret, what, takeBack }: ShownSecret,
): Promise<void> {
  if (options.json !== true) terminal.writeMessage(`This ${what} is shown once and cannot be read again:\n`);
  const text = options.json === true ? toJsonText(view) : `${secret}\n`;
  if (await terminal.deliverData(text)) return;
  if (takeBack === null) {
    throw new CommandError(
      "failure",
      `The ${what} was rotated but its new secret could not be shown: rotate it once more, ${view.id}, where the output can be written.`,
    );
  }
  try {
    await takeBack();
  } catch (cause) {
    const { kind, sentence } = toFailure(cause);
    throw new CommandError(
      kind,
      `The ${what} was made but could not be shown, and deleting it failed: ${sentence} Delete it by its id, ${view.id}.`,
    );
  }
  throw new CommandError(
    "failure",
    `The ${what} could not be shown and was deleted again: run the command once more where its output can be written.`,
  );
}
