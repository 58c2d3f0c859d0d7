import { UNITS } from "#kernel/units.ts";
import { TOKEN_COLUMNS } from "#storage/cells/measures.ts";
import type { Dialect } from "#storage/sql/dialect.ts";
import { IS_INCLUSIVE, toEventMeasures, toUnpricedUnits } from "./event-measures.ts";
import { IS_PENDING, IS_UNTOLD, UNMETERED_RESULT } from "./unmetered.ts";

/** A request this long is found by an index of its own, so that what ended in the last hour is found without reading a day. */
export const LONG_REQUEST_US = 600_000_000;

/** The SELECT list of what limits count, over rows of `event AS e`, after `toCountedJoins`. */
export function toCountedColumns(dialect: Dialect): string {
  const measures = toEventMeasures(dialect, IS_INCLUSIVE);
  const toMeasure = (column: string): string => {
    const sql = measures.get(column);
    if (sql === undefined) throw new Error(`events have no measure ${column}`);
    return sql;
  };
  return `${toMeasure("requests")} AS requests, ${toMeasure("unpriced_requests")} AS unpriced_requests,
    CASE WHEN ${IS_UNTOLD} THEN m.unmetered WHEN ${IS_PENDING} THEN ${dialect.toConstant(1)} ELSE ${dialect.toConstant(0)} END AS unknown_requests,
    ${toMeasure("cost_hi")} AS cost_hi, ${toMeasure("cost_lo")} AS cost_lo,
    ${TOKEN_COLUMNS.map((column) => `coalesce(${toMeasure(column)}, 0.0)`).join(" + ")} AS tokens`;
}

/** CROSS JOIN keeps the clustered table outermost. */
export function toCountedJoins(dialect: Dialect): string {
  const unpriced = toUnpricedUnits(dialect);
  return `CROSS JOIN (SELECT manner.id, ${dialect.toNumber(UNMETERED_RESULT)} AS unmetered,
        ${UNITS.map((unit, index) => `${unpriced[index]} AS ${unit}`).join(", ")}
      FROM manner JOIN result ON result.id = result JOIN price_set ON price_set.id = price_set) AS m ON m.id = e.manner
    CROSS JOIN combination AS c ON c.id = e.combination`;
}
