import { COST_SEAM } from "#storage/cells/sums.ts";
import {
  CARRIED_MEASURES,
  DAY_MEASURES,
  HOUR_MEASURES,
  onConflict,
  type TotalTable,
} from "#storage/cells/total-columns.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import { type ColumnTypes, Rows, toSource, type Value } from "./rows.ts";

export interface Total extends TotalTable {
  readonly columns: ColumnTypes;
  /** Adds to the row that is there. */
  readonly ending: string;
}

/** Tables of totals with their keys. Where days still grow, the lane is one: replicas write no row of each other. */
export const HOUR = toTotal("hour_total", ["hour", "outcome", "lane"], HOUR_MEASURES);
export const OPEN_CELL = toTotal("open_cell", ["hour", "combination", "result", "lane"], DAY_MEASURES);
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
  return { table, keys, measures, columns, ending: onConflict({ table, keys, measures }) };
}

/** Adds rows, of which no two have one key, to a table of totals. */
export function addUnique(sql: Sql, total: Total, rows: Iterable<readonly Value[]>): Promise<void> {
  return add(sql, total, { rows, isGrouped: false });
}

/** Adds rows to a table of totals. Those with the same key become one first: an INSERT changes no row twice. */
export function addTotals(sql: Sql, total: Total, rows: Iterable<readonly Value[]>): Promise<void> {
  return add(sql, total, { rows, isGrouped: true });
}

/** Drops those of the rows with these keys that were left with nothing. */
export async function dropEmpty(sql: Sql, total: Total, keys: readonly (readonly Value[])[]): Promise<void> {
  if (keys.length === 0) return;
  const { given, isGiven } = toGiven(total);
  const rows = new Rows(given);
  for (const key of keys) rows.add(key);
  await sql.run(
    `DELETE FROM ${total.table} AS t USING ${toSource(given, "given")} WHERE ${isGiven} AND t.requests = 0`,
    rows.bindings,
  );
}

/** Sets when the rows with these keys have their last event, which `last` tells of a row `t`. */
export async function moveLast(
  sql: Sql,
  total: Total,
  { rows: keys, last }: { readonly rows: readonly (readonly Value[])[]; readonly last: string },
): Promise<void> {
  if (keys.length === 0) return;
  const { given, isGiven } = toGiven(total);
  const rows = new Rows(given);
  for (const key of keys) rows.add(key);
  await sql.run(
    `UPDATE ${total.table} AS t SET last_seen_us = ${last} FROM ${toSource(given, "given")} WHERE ${isGiven}`,
    rows.bindings,
  );
}

function toGiven({ keys, columns }: Total): { readonly given: ColumnTypes; readonly isGiven: string } {
  return {
    given: columns.slice(0, keys.length),
    isGiven: keys.map((key) => `t.${key} = given.${key}`).join(" AND "),
  };
}

async function add(
  sql: Sql,
  { table, keys, measures, columns, ending }: Total,
  { rows, isGrouped }: { readonly rows: Iterable<readonly Value[]>; readonly isGrouped: boolean },
): Promise<void> {
  const given = new Rows(columns);
  for (const row of rows) given.add(row);
  if (given.count === 0) return;
  const sums = isGrouped ? toAggregates(measures) : measures.join(", ");
  const grouping = isGrouped ? `GROUP BY ${keys.join(", ")}` : "";
  // In the order of the key: two writers that add to the same rows never wait for each other in a circle.
  await sql.run(
    `INSERT INTO ${table} (${columns.map(([name]) => name).join(", ")})
     SELECT ${keys.join(", ")}, ${sums} FROM ${toSource(columns, "given")} ${grouping} ORDER BY ${keys.join(", ")} ${ending}`,
    given.bindings,
  );
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
