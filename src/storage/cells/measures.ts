import { UNIT_COLUMNS, UNIT_TABLE } from "#kernel/units.ts";
import { COST_SEAM } from "./sums.ts";

/** The way in which the values of a measure become one. */
export type Adding =
  | "sum"
  /** The halves of an amount: what exceeds the low half (`COST_SEAM`) is carried into the high one. */
  | "high"
  | "low"
  /** A sum in which "nothing was reported" and a reported zero stay apart. */
  | "reported"
  /** A sum that is nothing where it is zero: a re-pricing that is taken back takes out what it added. */
  | "counted"
  | "last";

/** A column of totals. */
export interface Measure {
  readonly name: string;
  readonly adds: Adding;
  /** Its type in usage.db. PostgreSQL has `double precision` for all: sums of its integers would arrive as text. */
  readonly sqlite: "INTEGER" | "REAL";
}

/** Requests by how long they took. */
export const BANDS = [
  "band_under_1s",
  "band_under_5s",
  "band_under_15s",
  "band_under_30s",
  "band_under_60s",
  "band_under_120s",
  "band_over_120s",
] as const;

const BY_REQUEST: string = UNIT_TABLE.requests.column;

const toCount = (name: string): Measure => ({ name, adds: "sum", sqlite: "INTEGER" });
/** Measures of amounts are two halves, the low one behind the high one. */
export const AMOUNTS = ["cost", "cost_reported"] as const;
const toHalves = (amount: (typeof AMOUNTS)[number]): readonly Measure[] => [
  { name: `${amount}_hi`, adds: "high", sqlite: "REAL" },
  { name: `${amount}_lo`, adds: "low", sqlite: "REAL" },
];

/** The measures of `hour_total` and `carried_total`. A unit of `UNIT_TABLE` is one by itself. */
export const HOUR_MEASURES: readonly Measure[] = [
  toCount("requests"),
  toCount("priced_requests"),
  toCount("unpriced_requests"),
  // Its usage is still to come (`Settlement`), or it ended without one (`isUnmetered`).
  toCount("pending_requests"),
  toCount("unmetered_requests"),
  ...toHalves("cost"),
  ...UNIT_COLUMNS.map((name): Measure => ({
    name,
    adds: name === BY_REQUEST ? "counted" : "reported",
    sqlite: "REAL",
  })),
  // Its provider told a cost (`costReportedPico`).
  toCount("cost_reported_requests"),
  ...toHalves("cost_reported"),
];

/**
 * The measures of `open_cell` and `cells`, those of hours first. The columns of both engines' tables, the SQL that adds to them,
 * the merging of cells and their bytes come from this list. A new measure also gets a place in `STORED_COLUMNS`, and what an event
 * adds to it: in `counting`, and in SQL in `reports/event-measures`.
 */
export const CELL_MEASURES: readonly Measure[] = [
  ...HOUR_MEASURES,
  toCount("duration_us"),
  { name: "last_seen_us", adds: "last", sqlite: "INTEGER" },
  ...BANDS.map(toCount),
];

/** A request this long is found by an index of its own, so that what ended in the last hour is found without reading a day. */
export const LONG_REQUEST_US = 600_000_000;

/** The columns of measures in the DDL of usage.db. */
export function toSqliteColumns(measures: readonly Measure[]): string {
  return measures
    .map(({ name, adds, sqlite }) => `${name} ${sqlite}${isNullable(adds) ? "" : " NOT NULL"}`)
    .join(", ");
}

/** True where NULL stands for nothing. */
export function isNullable(adds: Adding): boolean {
  return adds === "reported" || adds === "counted";
}

/** Adds to the value of a row one that comes to it; `carries` is true where the low halves exceed the seam. */
const ADDING_SQL: { readonly [way in Adding]: (have: string, more: string, carries: string) => string } = {
  sum: (have, more) => `${have} + ${more}`,
  high: (have, more, carries) => `${have} + ${more} + CASE WHEN ${carries} THEN 1.0 ELSE 0.0 END`,
  low: (have, more, carries) => `${have} + ${more} - CASE WHEN ${carries} THEN ${COST_SEAM}.0 ELSE 0.0 END`,
  reported: (have, more) =>
    `CASE WHEN ${more} IS NULL THEN ${have} ELSE coalesce(${have}, 0.0) + ${more} END`,
  counted: (have, more) => `nullif(coalesce(${have}, 0.0) + coalesce(${more}, 0.0), 0.0)`,
  last: (have, more) => `CASE WHEN ${have} < ${more} THEN ${more} ELSE ${have} END`,
};

/** The end of an INSERT into `table` that adds measures to those that are there; SQL that every engine speaks. */
export function toAddingSql(table: string, keys: readonly string[], measures: readonly Measure[]): string {
  const sums = measures.map(({ name, adds }) => {
    const low = name.replace(/_hi$/, "_lo");
    const carries = `${table}.${low} + excluded.${low} >= ${COST_SEAM}`;
    return `${name} = ${ADDING_SQL[adds](`${table}.${name}`, `excluded.${name}`, carries)}`;
  });
  return `ON CONFLICT (${keys.join(", ")}) DO UPDATE SET ${sums.join(", ")}`;
}
