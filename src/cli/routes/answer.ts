import { isJsonObject } from "#kernel/json.ts";
import { toPrintable } from "#kernel/printable.ts";
import { isRareUnit, REPORT_UNITS, UNIT_TABLE } from "#kernel/units.ts";
import type { Json } from "#cli/installation/client.ts";
import { toAmount, toCount, toDuration, toMoment, toCell, writeTable } from "#cli/screen/output.ts";
import { type Terminal, toSize } from "#cli/screen/terminal.ts";

/** Which rows of an answer are shown, and what of each. */
export interface TableShape {
  /** Fields that hold rows: the first that the answer has. */
  readonly rows: readonly string[];
  /**
   * Fields of a row, `duration_ms.p95` for one within another, with `as p95` for another heading; `units` is a column for
   * each unit that was used. One that ends in `?` is left out where no row has it.
   */
  readonly columns: readonly string[];
  /** Columns that a narrow screen leaves out, the first of these first; absent: all but two, the last first. */
  readonly spare?: readonly string[];
  /** A field that holds the sums of the rows that the answer leaves out; null where it has all. */
  readonly others?: string;
  /** A field that holds the sums of all rows. */
  readonly total?: string;
}

interface Column {
  readonly field: string;
  readonly heading: string;
  readonly isOptional: boolean;
}

/** Rows of an answer as a table. */
export function writeRows(terminal: Terminal, body: Json, shape: TableShape): readonly Json[] {
  const rows = findRows(body, shape.rows);
  const toSum = (field: string | undefined, name: string) => {
    const sum = field === undefined ? undefined : body[field];
    return isJsonObject(sum) && rows.length > 0 ? [{ name, sum }] : [];
  };
  const sums = [...toSum(shape.others, "all others"), ...toSum(shape.total, "total")];
  const columns = shape.columns
    .flatMap((column) => toColumns(column, rows))
    .filter(({ field, isOptional }) => !isOptional || rows.some((row) => find(row, field) !== undefined));
  const show = (row: Json) => columns.map(({ field }) => toFigure(terminal, field, row));
  const isFigure = ({ field }: Column) =>
    rows.some((row) => typeof find(row, field) === "number") || MONEY.test(field);
  const spare =
    shape.spare ??
    columns
      .slice(2)
      .map(({ heading }) => heading)
      .toReversed();
  writeTable(terminal, {
    heading: columns.map(({ heading }) => heading.toUpperCase()),
    rows: [...rows.map(show), ...sums.map(({ name, sum }) => show(sum).with(0, name))],
    right: new Set(columns.flatMap((column, index) => (isFigure(column) ? [index] : []))),
    spare: spare
      .map((heading) => columns.findIndex((column) => column.heading === heading))
      .filter((index) => index !== -1),
  });
  return rows;
}

/** Rows under the first of these fields that has any. */
export function findRows(body: Json, fields: readonly string[]): readonly Json[] {
  const found = fields.map((field) => body[field]).find((value) => Array.isArray(value));
  return Array.isArray(found) ? found.filter(isJsonObject) : [];
}

/** Fields that hold an amount of money. */
const MONEY = /(?:^|[._])(?:cost|difference|saving)(?:_|$)|^terms\./;

function toColumns(column: string, rows: readonly Json[]): readonly Column[] {
  const [name = "", heading] = column.split(" as ");
  const field = name.replace(/\?$/, "");
  const isOptional = field !== name;
  if (field !== "units") return [{ field, heading: heading ?? field.replaceAll(/[._]/g, " "), isOptional }];
  const used = new Set(rows.flatMap(({ units }) => (isJsonObject(units) ? Object.keys(units) : [])));
  return REPORT_UNITS.filter((unit) => used.has(unit) || (rows.length === 0 && !isRareUnit(unit))).map(
    (unit) => ({
      field: `units.${unit}`,
      heading: `${UNIT_TABLE[unit].heading.toLowerCase()}${UNIT_TABLE[unit].measure === "seconds" ? " s" : ""}`,
      isOptional: false,
    }),
  );
}

function find(row: unknown, field: string): unknown {
  return field
    .split(".")
    .reduce<unknown>((value, name) => (isJsonObject(value) ? value[name] : undefined), row);
}

/** A value as people read it, by its name: money, times, sizes and counts. */
function toFigure(terminal: Terminal, field: string, row: Json): string {
  const value = find(row, field);
  if (field.endsWith("share") && typeof value === "number") return `${(value * 100).toFixed(1)}%`;
  // A missing price is one reason of several for these.
  if (field.startsWith("cache.") && value === null) return "-";
  // No attempt of a storm told a usage: there is nothing that lacks a price.
  if (field === "cost" && value === null && row["input_tokens"] === null) return "-";
  if (MONEY.test(field))
    return typeof value === "number" || (value === null && row["requests"] !== 0)
      ? toAmount(typeof value === "number" ? value : null)
      : "-";
  if (typeof value === "number") {
    if (/_ms(?:\.|$)/.test(field)) return toDuration(value);
    if (field.endsWith("_bytes")) return toSize(value);
    if (field === "price" || field.endsWith("price_per_million")) return String(value);
    return toCount(value);
  }
  const isInstant = typeof value === "string" && terminal.columns !== null;
  return toCell(isInstant ? toMoment(value) : value);
}

/** An answer without rows of its own: a line for each field, and a table for each list of objects. */
export function writeAnswer(terminal: Terminal, body: Json): void {
  const lists = Object.entries(body).filter(([, value]) => Array.isArray(value) && value.some(isJsonObject));
  const named = new Set(lists.map(([field]) => field));
  for (const field of listFields(body).filter((each) => !named.has(each)))
    terminal.writeData(`${toPrintable(field)}: ${toFigure(terminal, field, body)}\n`);
  for (const [field, rows] of lists) {
    const first: unknown = Array.isArray(rows) ? rows.find(isJsonObject) : null;
    terminal.writeData(`\n${field.replaceAll("_", " ")}\n`);
    writeRows(terminal, body, { rows: [field], columns: isJsonObject(first) ? Object.keys(first) : [] });
  }
}

/** Its fields, and in place of an object those within it. */
function listFields(body: Json): readonly string[] {
  return Object.entries(body).flatMap(([field, value]) =>
    isJsonObject(value) && Object.keys(value).length > 0
      ? Object.keys(value).map((inner) => `${field}.${inner}`)
      : [field],
  );
}
