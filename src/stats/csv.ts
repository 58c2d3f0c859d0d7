import type { Pico } from "#kernel/units.ts";

/** An amount is a whole number of 10⁻¹². */
const PICO_DIGITS = 12;

/** A bigint is an exact amount of money; null is an empty cell. */
export type CsvCell = string | number | Pico | null;

/**
 * One record of RFC 4180, its CRLF included. Numbers and amounts are plain decimals, never with an exponent. A text that a
 * spreadsheet would take for a formula gets a leading apostrophe (OWASP, "CSV Injection").
 */
export function toCsvRow(cells: readonly CsvCell[]): string {
  return `${cells.map(toCsvCell).join(",")}\r\n`;
}

function toCsvCell(cell: CsvCell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return toPlainDecimal(cell);
  if (typeof cell === "bigint") return toAmount(cell);
  return toText(cell);
}

/** Spreadsheets skip what cannot be seen before the sign, and read fullwidth signs like the narrow ones. */
const FORMULA = /^(?:[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]|[\s\p{Cc}\p{Cf}]*?[\t\r\n])/u;
const NEEDS_QUOTES = /[",\r\n]/;

function toText(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const EXPONENT = /^(?<sign>-?)(?<whole>\d)(?:\.(?<fraction>\d+))?e(?<exponent>[+-]\d+)$/;

/** The digits that JavaScript writes, which name exactly this number, without their exponent. */
function toPlainDecimal(number: number): string {
  const text = String(number);
  const groups = EXPONENT.exec(text)?.groups;
  if (groups === undefined) return text;
  const fraction = groups["fraction"] ?? "";
  const digits = `${groups["whole"]}${fraction}`;
  const exponent = Number(groups["exponent"]);
  const plain = exponent < 0 ? `0.${"0".repeat(-exponent - 1)}${digits}` : digits.padEnd(exponent + 1, "0");
  return `${groups["sign"]}${plain}`;
}

function toAmount(amount: Pico): string {
  const sign = amount < 0n ? "-" : "";
  const digits = (amount < 0n ? -amount : amount).toString().padStart(PICO_DIGITS + 1, "0");
  const fraction = digits.slice(-PICO_DIGITS).replace(/0+$/, "");
  const whole = digits.slice(0, -PICO_DIGITS);
  return `${sign}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}
