import type { Pico, ReportUnit } from "#kernel/units.ts";
import { toReportUnit, UNITS } from "#kernel/units.ts";
import type { Dialect } from "#storage/sql/dialect.ts";
import { splitCost } from "#storage/cells/sums.ts";
import { dialectOf, empty, type Script, run } from "#storage/sql/script.ts";
import type { RowFilter } from "#stats/row-filter.ts";
import {
  type ShapeSql,
  toDisjointSql,
  toEventMeasures,
  toMannerColumns,
  toTotalSql,
} from "./event-measures.ts";
import { SHAPES } from "./label-groups.ts";
import type { ResolvedFilter } from "./request-filter.ts";

/**
 * What follows `event AS e` where `toChosenMeasures` are asked for, after `prepareEvents`: it leaves only what the filter
 * chooses, and `m` is the manner. `?1` is bound to the shapes of label sets (`LabelGroups`). CROSS JOIN keeps the clustered
 * table outermost.
 */
export function toEventJoins(dialect: Dialect, { rows }: Pick<ResolvedFilter, "rows">): string {
  return `CROSS JOIN chosen_manner AS m ON m.id = e.manner AND ${dialect.isByte("e.combination", ">", 0)}
    ${rows === null ? "" : toRowCondition(dialect, rows)}`;
}

/** The numbers stand in the text: they are whole, and made by the parser. */
function toRowCondition(dialect: Dialect, rows: RowFilter): string {
  const { isUnpriced, minCostPico, maxCostPico, minDurationUs, maxDurationUs } = rows;
  const toHalves = (pico: Pico) => {
    const halves = splitCost(pico);
    return `(${halves?.hi ?? 0}, ${halves?.lo ?? 0})`;
  };
  return [
    minCostPico === null ? "" : `AND (e.cost_hi, e.cost_lo) >= ${toHalves(minCostPico)}`,
    maxCostPico === null ? "" : `AND (e.cost_hi, e.cost_lo) <= ${toHalves(maxCostPico)}`,
    minDurationUs === null ? "" : `AND e.duration_us >= ${minDurationUs}`,
    maxDurationUs === null ? "" : `AND e.duration_us <= ${maxDurationUs}`,
    isUnpriced ? `AND (${toEventMeasure(dialect, "unpriced_requests")}) = 1` : "",
  ].join(" ");
}

function toShapeSql({ isByte }: Dialect): ShapeSql {
  const isShape = (shape: number) => isByte("e.combination", "=", shape);
  return {
    isInclusive: isShape(SHAPES.inclusive),
    isUntold: isShape(SHAPES.untold),
    isPending: isShape(SHAPES.pending),
  };
}

/** Each measure of one row of `event`, spelled for `toEventJoins`. */
export function toChosenMeasures(dialect: Dialect): ReadonlyMap<string, string> {
  return toEventMeasures(dialect, toShapeSql(dialect));
}

function toEventMeasure(dialect: Dialect, column: string): string {
  const sql = toChosenMeasures(dialect).get(column);
  if (sql === undefined) throw new Error(`events have no measure ${column}`);
  return sql;
}

/**
 * Whether a row of `event` has some of a report's unit without a price, its details included, and how much, as totals keep
 * it; for `toEventJoins`.
 */
export function toUnpricedMeasure(
  dialect: Dialect,
  unit: ReportUnit,
): { readonly isUsed: string; readonly quantity: string } {
  const { isInclusive } = toShapeSql(dialect);
  const parts = UNITS.filter((part) => toReportUnit(part) === unit).map((part) => ({
    part,
    quantity: toDisjointSql(dialect, part, isInclusive),
  }));
  const isUsed = parts.map(({ part, quantity }) => `m.${part} = 1 AND ${quantity} > 0`).join(" OR ");
  const sum = parts
    .map(({ part, quantity }) => `CASE WHEN m.${part} = 1 THEN coalesce(${quantity}, 0.0) ELSE 0.0 END`)
    .join(" + ");
  return {
    isUsed: `(${isUsed})`,
    quantity: parts.length === 1 ? toTotalSql(dialect, unit, isInclusive) : sum,
  };
}

/**
 * The manners that a filter lets through, and which units their prices leave unpriced: few, so that one look tells all. As
 * `chosen_manner` of this connection until the next call.
 */
export function* prepareEvents({ results }: Pick<ResolvedFilter, "results">): Script<void> {
  const dialect = yield* dialectOf();
  yield* empty("chosen_manner");
  yield* run(
    `INSERT INTO chosen_manner SELECT manner.id, result, ${dialect.toNumber("outcome = 'ok'")},
       ${toMannerColumns(dialect)}, streamed
     FROM manner JOIN result ON result.id = result JOIN price_set ON price_set.id = price_set
     WHERE ${dialect.isAnyOf("result.id", "number")}`,
    [results.map(({ id }) => id)],
  );
}
