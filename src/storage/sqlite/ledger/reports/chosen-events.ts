import type { Database } from "bun:sqlite";
import type { Pico, ReportUnit } from "#kernel/units.ts";
import { toReportUnit, UNITS } from "#kernel/units.ts";
import type { RowFilter } from "#stats/row-filter.ts";
import { splitCost } from "#storage/ledger/rows/sums.ts";
import {
  toDisjointSql,
  toEventMeasures,
  toTotalSql,
  UNPRICED_UNITS,
} from "#storage/sqlite/ledger/file/event-measures.ts";
import type { ResolvedFilter } from "./request-filter.ts";

/**
 * What follows `event AS e` where `EVENT_MEASURES` are asked for, after `prepareEvents`: it leaves only what the filter
 * chooses, and `m` is the manner. CROSS JOIN keeps the clustered table outermost.
 */
export function toEventJoins({ rows }: ResolvedFilter): string {
  return `CROSS JOIN chosen_manner AS m ON m.id = e.manner
    AND substr((SELECT shapes FROM chosen_shapes), e.combination, 1) > x'00' ${rows === null ? "" : toRowCondition(rows)}`;
}

/** The numbers stand in the text: they are whole, and made by the parser. */
function toRowCondition(rows: RowFilter): string {
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
    isUnpriced ? `AND (${toEventMeasure("unpriced_requests")}) = 1` : "",
  ].join(" ");
}

const IS_INCLUSIVE = "substr((SELECT shapes FROM chosen_shapes), e.combination, 1) = x'01'";

/** Each measure of one row of `event`, spelled for `toEventJoins`. */
export const EVENT_MEASURES = toEventMeasures(IS_INCLUSIVE);

/** The SQL of a measure of one row of `event`, by its column in the tables of totals; for `toEventJoins`. */
export function toEventMeasure(column: string): string {
  const sql = EVENT_MEASURES.get(column);
  if (sql === undefined) throw new Error(`events have no measure ${column}`);
  return sql;
}

/**
 * Whether a row of `event` has some of a report's unit without a price, its details included, and how much, as totals keep
 * it; for `toEventJoins`.
 */
export function toUnpricedMeasure(unit: ReportUnit): { readonly isUsed: string; readonly quantity: string } {
  const parts = UNITS.filter((part) => toReportUnit(part) === unit).map((part) => ({
    part,
    quantity: toDisjointSql(part, IS_INCLUSIVE),
  }));
  const isUsed = parts.map(({ part, quantity }) => `m.${part} AND ${quantity} > 0`).join(" OR ");
  const sum = parts.map(({ part, quantity }) => `iif(m.${part}, ifnull(${quantity}, 0.0), 0.0)`).join(" + ");
  return { isUsed: `(${isUsed})`, quantity: parts.length === 1 ? toTotalSql(unit, IS_INCLUSIVE) : sum };
}

/** For `toEventJoins` and `EVENT_MEASURES`, after `resolveFilter`. */
export function prepareEvents(database: Database, filter: ResolvedFilter): void {
  saveManners(database, filter);
  saveShapes(database, filter);
}

/**
 * One byte for each combination, by its id: 0 when it is not chosen, 2 when its shape is exclusive, else 1. To look that up
 * takes a quarter of what a look into a table does, which counts where millions of events are read.
 */
function saveShapes(database: Database, { combinations }: ResolvedFilter): void {
  const { last } = database
    .query<{ last: number | null }, []>("SELECT max(id) AS last FROM combination")
    .get() ?? { last: null };
  const shapes = new Uint8Array(last ?? 0);
  const rows = database
    .query<{ id: number; shape: number }, []>(
      `SELECT id, iif(shape = 'exclusive', 2, 1) AS shape FROM ${combinations}`,
    )
    .all();
  for (const { id, shape } of rows) shapes[id - 1] = shape;
  database.run("CREATE TEMP TABLE IF NOT EXISTS chosen_shapes (shapes BLOB)");
  database.run("DELETE FROM chosen_shapes");
  database.query<unknown, [Uint8Array]>("INSERT INTO chosen_shapes VALUES (?)").run(shapes);
}

/**
 * The manners that a filter lets through: with 1 in the column of their outcome, and which units their prices leave
 * unpriced. Few, so that one look tells all three.
 */
function saveManners(database: Database, { resultCondition }: ResolvedFilter): void {
  database.run(
    `CREATE TEMP TABLE IF NOT EXISTS chosen_manner (
       id INTEGER PRIMARY KEY, result INTEGER, ok INTEGER, cancelled INTEGER, upstream_error INTEGER,
       ${UNITS.map((unit) => `${unit} INTEGER`).join(", ")}, streamed INTEGER)`,
  );
  database.run("DELETE FROM chosen_manner");
  database.run(
    `INSERT INTO chosen_manner SELECT manner.id, result, outcome = 'ok', outcome = 'cancelled', outcome = 'upstream_error',
       ${UNPRICED_UNITS.join(", ")}, streamed
     FROM manner JOIN result ON result.id = result JOIN price_set ON price_set.id = price_set
     WHERE true ${resultCondition}`,
  );
}
