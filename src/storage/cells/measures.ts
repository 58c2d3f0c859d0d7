import { UNIT_COLUMNS } from "#kernel/units.ts";

/** How the values of a measure become one. */
export type Adding =
  | "sum"
  /** The halves of an amount: what exceeds the low half (`COST_SEAM`) is carried into the high one. */
  | "high"
  | "low"
  /** A sum in which "nothing was reported" and a reported zero stay apart. */
  | "reported"
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

const toCount = (name: string): Measure => ({ name, adds: "sum", sqlite: "INTEGER" });

/** The measures of `hour_total`. A unit of `UNIT_TABLE` is one by itself. */
export const HOUR_MEASURES: readonly Measure[] = [
  toCount("requests"),
  toCount("priced_requests"),
  toCount("unpriced_requests"),
  { name: "cost_hi", adds: "high", sqlite: "REAL" },
  { name: "cost_lo", adds: "low", sqlite: "REAL" },
  ...UNIT_COLUMNS.map((name): Measure => ({ name, adds: "reported", sqlite: "REAL" })),
];

/**
 * The measures of `open_cell` and `cells`, those of hours first. The columns of both engines' tables, the SQL that adds to them,
 * the merging of cells and their bytes come from this list; a new measure also gets a place in `STORED_COLUMNS`.
 */
export const CELL_MEASURES: readonly Measure[] = [
  ...HOUR_MEASURES,
  toCount("duration_us"),
  { name: "last_seen_us", adds: "last", sqlite: "INTEGER" },
  ...BANDS.map(toCount),
];

/** The columns of measures in the DDL of usage.db. */
export function toSqliteColumns(measures: readonly Measure[]): string {
  return measures
    .map(({ name, adds, sqlite }) => `${name} ${sqlite}${adds === "reported" ? "" : " NOT NULL"}`)
    .join(", ");
}
