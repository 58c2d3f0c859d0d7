import type { SumRow } from "./source.ts";
import type { MovedTable } from "./tables.ts";

/** The UTC month `2026-11` of microseconds since 1970, which the engines spell differently. */
export type ToMonth = (us: string) => string;

export const SQLITE_MONTH: ToMonth = (us) => `strftime('%Y-%m', (${us}) / 1000000, 'unixepoch')`;
export const POSTGRES_MONTH: ToMonth = (us) =>
  `to_char(to_timestamp((${us}) / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM')`;

/** What the rows of a table are told apart by when they are added up, over `table AS t` and the joined `g`. */
interface Groups {
  readonly join: string;
  /** Null where the column `month` says it, in months since 1970. */
  readonly atUs: string | null;
  readonly by: readonly [string, string];
}

const JOIN_CALLER = "JOIN combination AS g ON g.id = t.combination";
const BY_CALLER = ["g.principal_name", "g.model"] as const;
const DAY_US = "86400000000";
const HOUR_US = "3600000000";

const GROUPS: { readonly [table: string]: Groups } = {
  event: { join: JOIN_CALLER, atUs: "t.id", by: BY_CALLER },
  hour_total: { join: "", atUs: `t.hour * ${HOUR_US}`, by: ["t.outcome", "NULL"] },
  day_total: { join: JOIN_CALLER, atUs: `t.day * ${DAY_US}`, by: BY_CALLER },
  sealed_day_total: { join: JOIN_CALLER, atUs: `t.day * ${DAY_US}`, by: BY_CALLER },
  month_total: { join: JOIN_CALLER, atUs: null, by: BY_CALLER },
  dimension_total: {
    join: "JOIN dimension AS g ON g.id = t.dimension",
    atUs: `t.day * ${DAY_US}`,
    by: ["g.kind", "g.value"],
  },
  carried_total: { join: JOIN_CALLER, atUs: `t.ended_day * ${DAY_US}`, by: BY_CALLER },
};

/** Tell rows apart, and are compared as groups. */
const KEYS: ReadonlySet<string> = new Set(["combination", "dimension", "outcome", "month", "lane"]);
/** Instants: a double adds up their remainders exactly, and not themselves. */
const INSTANTS: ReadonlySet<string> = new Set(["id", "last_seen_us"]);
const REMAINDER = 1_000_003;

/**
 * The SELECT whose rows are the same in both engines when the table is: its rows, and each column's sum, by month and by
 * principal and model, or what the table has in their place.
 */
export function toSumsSql({ name }: MovedTable, columns: readonly string[], toMonth: ToMonth): string {
  const groups = GROUPS[name];
  if (groups === undefined) throw new TypeError(`nothing tells how ${name} is added up`);
  const { join, atUs, by } = groups;
  const sums = columns
    .filter((column) => !KEYS.has(column))
    .map((column) => `sum(CAST(${toSummand(column)} AS double precision)) AS "${column}"`);
  return `SELECT ${atUs === null ? "t.month" : toMonth(atUs)} AS "group_month", ${by[0]} AS "group_first", ${by[1]} AS "group_second",
    count(*) AS "rows", ${sums.join(", ")}
    FROM ${name} AS t ${join} GROUP BY 1, 2, 3`;
}

function toSummand(column: string): string {
  return INSTANTS.has(column) ? `CAST(t.${column} AS bigint) % ${REMAINDER}` : `t.${column}`;
}

const GROUP_COLUMNS: ReadonlySet<string> = new Set(["group_month", "group_first", "group_second"]);

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
  return JSON.stringify([row["group_month"], row["group_first"], row["group_second"]]).replaceAll(
    "\\u0000",
    "\u{fffd}",
  );
}

function toLabel(row: SumRow): string {
  return [row["group_month"], row["group_first"], row["group_second"]]
    .filter((part) => part !== null)
    .join(", ");
}
