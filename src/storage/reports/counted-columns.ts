import { TOKEN_COLUMNS } from "#storage/cells/measures.ts";
import type { Dialect } from "#storage/sql/dialect.ts";
import { EVENT_OF_ROWS, toEventMeasures } from "./event-measures.ts";

/** A request this long is found by an index of its own, so that what ended in the last hour is found without reading a day. */
export const LONG_REQUEST_US = 600_000_000;

/** The SELECT list of what limits count, over rows of `event AS e`, after `EVENT_JOINS`. */
export function toCountedColumns(dialect: Dialect): string {
  const measures = toEventMeasures(dialect, EVENT_OF_ROWS);
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
