import { StatementError } from "./errors.ts";

export type Binding = string | number | bigint | boolean | null | Uint8Array | Date | readonly unknown[];

/** A name of a schema, a table or a column as SQL takes it. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** OIDs of `bigint` and `bigint[]` (PostgreSQL's pg_type.dat). */
const INT8 = 20;
const INT8_ARRAY = 1016;

/** Makes a parameter of the driver, which would send an array as JSON. */
export function toParameter(binding: Binding): unknown {
  if (Array.isArray(binding)) return withoutNul(toArrayLiteral(binding));
  return typeof binding === "string" ? withoutNul(binding) : binding;
}

/**
 * PostgreSQL's text holds no NUL, and refuses a statement for one, also where it is only looked for. It becomes U+FFFD, as a
 * lone surrogate does when it is encoded.
 */
export function withoutNul(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", "\ufffd") : text;
}

/** A text as PostgreSQL gives it back: for what is spelled as JSON, or compared with what is stored. */
export function toStored(text: string): string {
  return withoutNul(text.toWellFormed());
}

/** The text form of an array, whose element type the statement or the column tells (PostgreSQL's documentation, 8.15.6). */
function toArrayLiteral(values: readonly unknown[]): string {
  // To join numbers takes a third of what to spell each one does, and most columns of a batch are such.
  const isNumbers = typeof values[0] === "number" && !values.includes(null);
  return `{${(isNumbers ? values : values.map(toElement)).join(",")}}`;
}

function toElement(value: unknown): string {
  switch (typeof value) {
    case "number":
    case "bigint":
    case "boolean":
      return String(value);
    case "string":
      return `"${value.replace(/["\\]/g, "\\$&")}"`;
    default:
  }
  if (value === null) return "NULL";
  if (value instanceof Uint8Array) return `"\\\\x${value.toHex()}"`;
  if (value instanceof Date) return `"${value.toISOString()}"`;
  if (Array.isArray(value)) return toArrayLiteral(value);
  throw new TypeError(`An array element of type ${typeof value} has no form in PostgreSQL.`);
}

/** Result columns of type `bigint` arrive as strings: makes numbers of them, in place. */
export function decodeIntegers(rows: unknown[], columns: readonly { name: string; type: number }[]): void {
  for (const { name, type } of columns) {
    if (type !== INT8 && type !== INT8_ARRAY) continue;
    const decode = type === INT8_ARRAY ? toNumbers : toNumber;
    for (const row of rows) if (isRecord(row)) row[name] = decode(row[name]);
  }
}

/**
 * SQLSTATE 22003 (numeric value out of range) for what no number says. Beyond 2^53 a number that was written reads back as
 * itself: a key may end in the year 9999, and one row that cannot be read would stop every replica.
 */
function toNumber(text: unknown): unknown {
  if (text === null) return null;
  const number = Number(text);
  if (!Number.isSafeInteger(number) && !isWritten(number, text)) throw new StatementError("22003", null);
  return number;
}

/** A binding of its own writes all digits of a number, an array its shortest ones. */
function isWritten(number: number, text: unknown): boolean {
  return String(number) === text || (Number.isInteger(number) && String(BigInt(number)) === text);
}

function toNumbers(texts: unknown): unknown {
  return Array.isArray(texts) ? texts.map(toNumber) : texts;
}

function isRecord(row: unknown): row is Record<string, unknown> {
  return typeof row === "object" && row !== null;
}
