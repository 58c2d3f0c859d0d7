import { CARRIED_MEASURES } from "#storage/ledger/queries/counted-columns.ts";
import { COST_SEAM } from "#storage/ledger/rows/sums.ts";
import {
  DAY_MEASURES,
  HOUR_MEASURES,
  onConflict,
  type TotalTable,
} from "#storage/ledger/rows/total-columns.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import { type ColumnTypes, Rows, toSource, type Value } from "./rows.ts";

export interface Total extends TotalTable {
  readonly columns: ColumnTypes;
}

export const HOUR = toTotal("hour_total", ["hour", "outcome", "lane"], HOUR_MEASURES);
export const DAY = toTotal("day_total", ["day", "combination", "result", "lane"], DAY_MEASURES);
export const SEALED_DAY = toTotal("sealed_day_total", ["combination", "day", "result"], DAY_MEASURES);
export const MONTH = toTotal("month_total", ["combination", "result", "month"], DAY_MEASURES);
export const DIMENSION = toTotal("dimension_total", ["day", "dimension", "outcome"], HOUR_MEASURES);
export const CARRIED = toTotal(
  "carried_total",
  ["ended_day", "arrived_day", "combination", "lane"],
  CARRIED_MEASURES,
);

function toTotal(table: string, keys: readonly string[], measures: readonly string[]): Total {
  const columns = [
    ...keys.map((key) => [key, key === "outcome" ? "text" : "integer"] as const),
    ...measures.map((measure) => [measure, "double precision"] as const),
  ];
  return { table, keys, measures, columns };
}

/** Adds rows to a table of totals. Rows with the same key become one first: an INSERT changes no row twice. */
export async function addTotals(sql: Sql, total: Total, rows: Iterable<readonly Value[]>): Promise<void> {
  const columns = new Rows(total.columns);
  for (const row of rows) columns.add(row);
  if (columns.count > 0) await sql.run(toAddSql(total), columns.bindings);
}

/** The SELECT list of measures added up, for a GROUP BY. */
export function toAggregates(measures: readonly string[]): string {
  const carry = `floor(sum(cost_lo) / ${COST_SEAM})`;
  return measures
    .map((column) => {
      if (column === "cost_hi") return `sum(cost_hi) + ${carry} AS cost_hi`;
      if (column === "cost_lo") return `sum(cost_lo) - ${carry} * ${COST_SEAM} AS cost_lo`;
      return `${column === "last_seen_us" ? "max" : "sum"}(${column}) AS ${column}`;
    })
    .join(", ");
}

const ADD_SQL = new Map<Total, string>();

function toAddSql(total: Total): string {
  let sql = ADD_SQL.get(total);
  if (sql === undefined) {
    const { table, keys, measures, columns } = total;
    // In the order of the key: two writers that add to the same rows never wait for each other in a circle.
    sql = `INSERT INTO ${table} (${columns.map(([name]) => name).join(", ")})
      SELECT ${keys.join(", ")}, ${toAggregates(measures)} FROM ${toSource(columns, "given")}
      GROUP BY ${keys.join(", ")} ORDER BY ${keys.join(", ")} ${onConflict(total)}`;
    ADD_SQL.set(total, sql);
  }
  return sql;
}
