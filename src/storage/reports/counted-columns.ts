import { TOKEN_COLUMNS } from "#storage/cells/measures.ts";
import type { Dialect } from "#storage/sql/dialect.ts";
import { SHAPE_OF_LABELS, toEventMeasures, toMannerColumns } from "./event-measures.ts";

/** A request this long is found by an index of its own, so that what ended in the last hour is found without reading a day. */
export const LONG_REQUEST_US = 600_000_000;

/** The SELECT list of what limits count, over rows of `event AS e`, after `toCountedJoins`. */
export function toCountedColumns(dialect: Dialect): string {
  const measures = toEventMeasures(dialect, SHAPE_OF_LABELS);
  const toMeasure = (column: string): string => {
    const sql = measures.get(column);
    if (sql === undefined) throw new Error(`events have no measure ${column}`);
    return sql;
  };
  return `${toMeasure("requests")} AS requests, ${toMeasure("unpriced_requests")} AS unpriced_requests,
    ${toMeasure("pending_requests")} + ${toMeasure("unmetered_requests")} AS unknown_requests,
    ${toMeasure("cost_hi")} AS cost_hi, ${toMeasure("cost_lo")} AS cost_lo,
    ${TOKEN_COLUMNS.map((column) => `coalesce(${toMeasure(column)}, 0.0)`).join(" + ")} AS tokens`;
}

/** CROSS JOIN keeps the clustered table outermost. */
export function toCountedJoins(dialect: Dialect): string {
  return `CROSS JOIN (SELECT manner.id, ${toMannerColumns(dialect)} FROM manner JOIN result ON result.id = result JOIN price_set ON price_set.id = price_set) AS m ON m.id = e.manner
    CROSS JOIN combination AS c ON c.id = e.combination`;
}
