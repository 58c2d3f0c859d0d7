import type { SumRow } from "./move.ts";
import { REQUEST_LOG } from "./tables.ts";

/** The UTC month `2026-11` of microseconds since 1970, which the engines spell differently. */
export type ToMonth = (us: string) => string;

export const SQLITE_MONTH: ToMonth = (us) => `strftime('%Y-%m', (${us}) / 1000000, 'unixepoch')`;
export const POSTGRES_MONTH: ToMonth = (us) =>
  `to_char(to_timestamp((${us}) / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM')`;

/** Tell rows apart, and are compared as groups. */
const KEYS: ReadonlySet<string> = new Set(["combination", "lane"]);
/** A double adds up the remainders of instants exactly, and not themselves. */
const REMAINDER = 1_000_003;

/**
 * The SELECT whose rows are the same in both engines when the request log is: its rows, and each column's sum, by month,
 * principal and model.
 */
export function toSumsSql(columns: readonly string[], toMonth: ToMonth): string {
  const sums = columns
    .filter((column) => !KEYS.has(column))
    .map((column) => `sum(CAST(${toSummand(column)} AS double precision)) AS "${column}"`);
  return `SELECT ${toMonth("t.id")} AS "month", g.principal_name AS "principal", g.model AS "model",
    count(*) AS "rows", ${sums.join(", ")}
    FROM ${REQUEST_LOG} AS t JOIN combination AS g ON g.id = t.combination GROUP BY 1, 2, 3`;
}

function toSummand(column: string): string {
  return column === "id" ? `CAST(t.id AS bigint) % ${REMAINDER}` : `t.${column}`;
}

const GROUP_COLUMNS: ReadonlySet<string> = new Set(["month", "principal", "model"]);

/** The first difference, in words: which group, which column, and both values; null when there is none. */
export function findDifference(source: readonly SumRow[], target: readonly SumRow[]): string | null {
  const found = new Map(target.map((row) => [toGroup(row), row]));
  for (const row of source) {
    const other = found.get(toGroup(row));
    if (other === undefined) return `${toLabel(row)}: ${row["rows"]} rows in the source, none in the target`;
    found.delete(toGroup(row));
    const column = Object.keys(row).find(
      (name) => !GROUP_COLUMNS.has(name) && !isEqual(row[name] ?? null, other[name] ?? null),
    );
    if (column !== undefined) {
      return `${toLabel(row)}: ${column} ${row[column]} in the source, ${other[column]} in the target`;
    }
  }
  const [more] = found.values();
  return more === undefined ? null : `${toLabel(more)}: no row in the source, ${more["rows"]} in the target`;
}

/**
 * Whole numbers below 2^53 add up exactly in any order. What is larger, or has a fraction, as seconds of audio have, depends
 * on the order in the last digits.
 */
function isEqual(source: string | number | null, target: string | number | null): boolean {
  if (source === target) return true;
  if (typeof source !== "number" || typeof target !== "number") return false;
  const isExact = Number.isSafeInteger(source) && Number.isSafeInteger(target);
  return !isExact && Math.abs(source - target) <= Math.abs(source) * ROUNDING;
}

/** A double's own rounding (2^-53), some hundred million times over. */
const ROUNDING = 1e-9;

function toGroup(row: SumRow): string {
  // Text has no NUL in PostgreSQL.
  return JSON.stringify(toKey(row)).replaceAll("\\u0000", "\u{fffd}");
}

function toLabel(row: SumRow): string {
  return toKey(row)
    .filter((part) => part !== null)
    .join(", ");
}

function toKey(row: SumRow) {
  return [row["month"], row["principal"], row["model"]];
}
