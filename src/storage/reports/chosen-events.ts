import type { Dialect } from "#storage/sql/dialect.ts";
import { findLastCombination } from "./last-combination.ts";
import { all, dialectOf, empty, type Script, run } from "#storage/sql/script.ts";
import type { Pico, ReportUnit } from "#kernel/units.ts";
import { toReportUnit, UNITS } from "#kernel/units.ts";
import type { RowFilter } from "#stats/row-filter.ts";
import { splitCost } from "#storage/cells/sums.ts";
import { toDisjointSql, toEventMeasures, toTotalSql, toUnpricedUnits } from "./event-measures.ts";
import type { ResolvedFilter } from "./request-filter.ts";

/**
 * What follows `event AS e` where `toChosenMeasures` are asked for, after `prepareEvents`: it leaves only what the filter
 * chooses, and `m` is the manner. CROSS JOIN keeps the clustered table outermost.
 */
export function toEventJoins(dialect: Dialect, { rows, combinations }: ResolvedFilter): string {
  return `CROSS JOIN chosen_manner AS m ON m.id = e.manner ${dialect.shapes.join(combinations)}
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

/** Each measure of one row of `event`, spelled for `toEventJoins`. */
export function toChosenMeasures(dialect: Dialect): ReadonlyMap<string, string> {
  return toEventMeasures(dialect, dialect.shapes.isInclusive);
}

/** The SQL of a measure of one row of `event`, by its column in the tables of totals; for `toEventJoins`. */
export function toEventMeasure(dialect: Dialect, column: string): string {
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
  const { isInclusive } = dialect.shapes;
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

/** For `toEventJoins` and `toChosenMeasures`, after `resolveFilter`. */
export function* prepareEvents(filter: ResolvedFilter): Script<void> {
  const dialect = yield* dialectOf();
  yield* saveManners(dialect, filter);
  if (dialect.shapes.areBytes) yield* saveShapes(filter);
}

/**
 * One byte for each combination, by its id: 0 when it is not chosen, 2 when its shape is exclusive, else 1. To look that up
 * takes a quarter of what a look into a table does, which counts where millions of events are read.
 */
function* saveShapes({ combinations }: ResolvedFilter): Script<void> {
  const last = yield* findLastCombination();
  const shapes = new Uint8Array(last);
  const rows = yield* all<{ id: number; shape: number }>(
    `SELECT id, CASE WHEN coalesce(shape, 'inclusive') = 'inclusive' THEN 1 ELSE 2 END AS shape FROM ${combinations}`,
  );
  for (const { id, shape } of rows) shapes[id - 1] = shape;
  yield* run("CREATE TEMP TABLE IF NOT EXISTS chosen_shapes (shapes BLOB)");
  yield* run("DELETE FROM chosen_shapes");
  yield* run("INSERT INTO chosen_shapes VALUES (?)", [shapes]);
}

/**
 * The manners that a filter lets through: with 1 in the column of their outcome, and which units their prices leave
 * unpriced. Few, so that one look tells all three.
 */
function* saveManners(dialect: Dialect, { resultCondition }: ResolvedFilter): Script<void> {
  yield* empty("chosen_manner");
  yield* run(
    `INSERT INTO chosen_manner SELECT manner.id, result, ${toOutcomes(dialect)},
       ${toUnpricedUnits(dialect).join(", ")}, streamed
     FROM manner JOIN result ON result.id = result JOIN price_set ON price_set.id = price_set
     WHERE true ${resultCondition}`,
  );
}

/** The columns of outcomes in `chosen_manner` and `chosen_outcome`, 1 in that of the row's own. */
export function toOutcomes({ toNumber }: Dialect): string {
  return ["ok", "cancelled", "upstream_error"]
    .map((outcome) => toNumber(`outcome = '${outcome}'`))
    .join(", ");
}
