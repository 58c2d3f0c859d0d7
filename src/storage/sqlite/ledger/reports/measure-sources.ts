import type { Database } from "bun:sqlite";
import type { ReportUnit, Unit } from "#kernel/units.ts";
import { DETAIL_UNITS, REPORT_UNITS, toReportUnit, UNIT_TABLE, UNITS } from "#kernel/units.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import type { RawRange, Span, WindowCut } from "#storage/ledger/windows/window-cut.ts";

/**
 * A SELECT with `combination`, `result` and the measures of `day_total`, as they stand there: input normalised, audio in
 * whole microseconds, money in two halves, a quantity that was not reported NULL. Not grouped: a pair comes many times.
 */
export interface MeasureSource {
  readonly sql: string;
  readonly bindings: readonly number[];
}

/** Past this many combinations one pass over the sealed days is quicker than a look for each of them. */
const SEEKS_MAX = 100_000;

/**
 * What a window that was cut (into days or months) holds for a filter, in parts that do not overlap; none for an empty one.
 * `month_total` comes in the order (combination, result), `sealed_day_total` in (combination), the rest in that of time.
 * Within one `readTransaction`, after `resolveFilter`: it makes temporary tables.
 */
export function toMeasureSources(
  database: Database,
  cut: WindowCut,
  filter: ResolvedFilter,
): readonly MeasureSource[] {
  const columns = ["combination", "result", ...MEASURES.keys()].join(", ");
  const ofTable = (table: string, period: string, condition: string) => (span: Span) => ({
    sql: `SELECT ${columns} FROM ${table} WHERE ${period} >= ? AND ${period} < ? ${condition}`,
    bindings: [span.first, span.end],
  });
  const measures = [...MEASURES].map(([column, sql]) => `${sql} AS ${column}`);
  if (cut.raw.length > 0) prepareEvents(database, filter);
  return [
    ...cut.months.map(ofTable("month_total", "month", filter.condition)),
    ...cut.sealedDays.map(ofTable("sealed_day_total", "day", toSealedDayCondition(database, filter))),
    ...cut.openDays.map(ofTable("day_total", "day", filter.condition)),
    ...cut.raw.map((range: RawRange) => ({
      sql: `SELECT e.combination, m.result, ${measures.join(", ")} FROM event AS e ${EVENT_JOINS}
        WHERE e.id >= ? AND e.id < ?`,
      bindings: [range.fromUs, range.toUs],
    })),
  ];
}

/**
 * What follows `event AS e` where `toEventMeasure` is asked for, after `prepareEvents`: it leaves only what the filter
 * chooses, and `m` is the manner. CROSS JOIN keeps the clustered table outermost.
 */
export const EVENT_JOINS = `CROSS JOIN chosen_manner AS m
  ON m.id = e.manner AND substr((SELECT shapes FROM chosen_shapes), e.combination, 1) > x'00'`;

/** For `EVENT_JOINS` and `toEventMeasure`, after `resolveFilter`. */
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
       ${UNITS.map((unit) => `${unit} INTEGER`).join(", ")})`,
  );
  database.run("DELETE FROM chosen_manner");
  database.run(
    `INSERT INTO chosen_manner SELECT manner.id, result, outcome = 'ok', outcome = 'cancelled', outcome = 'upstream_error',
       ${UNITS.map(toUnpricedSql).join(", ")}
     FROM manner JOIN result ON result.id = result JOIN price_set ON price_set.id = price_set
     WHERE true ${resultCondition}`,
  );
}

/** 1 for a unit whose quantity has no price (`findUnitPrice`). */
function toUnpricedSql(unit: Unit): string {
  const prices = [unit, toReportUnit(unit)].map((name) => `prices ->> '$.${name}'`);
  return `coalesce(${prices.join(", ")}) IS NULL`;
}

/** A disjoint quantity of an event (`toDisjointQuantities`): a prompt that contains its cached part counts without it. */
function toDisjointSql(unit: Unit): string {
  if (unit !== "input_tokens") return `e.${unit}`;
  return `iif(e.cached_input_tokens <= e.input_tokens
    AND substr((SELECT shapes FROM chosen_shapes), e.combination, 1) = x'01', e.input_tokens - e.cached_input_tokens, e.input_tokens)`;
}

/** The quantity of a report's unit (`normaliseUsage`): with its details, of which most events have none. */
function toReportSql(unit: ReportUnit): string {
  const own = toDisjointSql(unit);
  const details = DETAIL_UNITS.filter((detail) => toReportUnit(detail) === unit).map(
    (detail) => `e.${detail}`,
  );
  if (details.length === 0) return own;
  const sum = [own, ...details].map((quantity) => `ifnull(${quantity}, 0.0)`).join(" + ");
  return `iif(${details.map((detail) => `${detail} IS NULL`).join(" AND ")}, ${own}, ${sum})`;
}

/** As Math.round does it: round() takes 0.49999999999999994 up. */
function toTotalSql(unit: ReportUnit): string {
  const { scale } = UNIT_TABLE[unit];
  const quantity = toReportSql(unit);
  if (scale === 1) return quantity;
  const scaled = `(${quantity} * ${scale}.0)`;
  return `iif(${quantity} IS NULL, NULL, floor(${scaled}) + (${scaled} - floor(${scaled}) >= 0.5))`;
}

// CASE stops at the first that is true; OR would look at all of them.
const UNPRICED = `CASE ${UNITS.map((unit) => `WHEN m.${unit} AND ${toDisjointSql(unit)} > 0 THEN 1`).join(" ")} ELSE 0 END`;

/**
 * Whether a row of `event` has some of a report's unit without a price, its details included, and how much, as totals keep
 * it; for `EVENT_JOINS`.
 */
export function toUnpricedMeasure(unit: ReportUnit): { readonly isUsed: string; readonly quantity: string } {
  const parts = UNITS.filter((part) => toReportUnit(part) === unit);
  const isUsed = parts.map((part) => `m.${part} AND ${toDisjointSql(part)} > 0`).join(" OR ");
  const sum = parts.map((part) => `iif(m.${part}, ifnull(${toDisjointSql(part)}, 0.0), 0.0)`).join(" + ");
  return { isUsed: `(${isUsed})`, quantity: parts.length === 1 ? toTotalSql(unit) : sum };
}

/** Each measure of one row of `event`, spelled for `EVENT_JOINS`. */
const MEASURES: ReadonlyMap<string, string> = new Map([
  ["requests", "1"],
  ["priced_requests", "(e.cost_hi IS NOT NULL)"],
  ["unpriced_requests", UNPRICED],
  ["cost_hi", "ifnull(e.cost_hi, 0.0)"],
  ["cost_lo", "ifnull(e.cost_lo, 0.0)"],
  ...REPORT_UNITS.map((unit): [string, string] => [UNIT_TABLE[unit].column, toTotalSql(unit)]),
  ["duration_us", "e.duration_us"],
  ["last_seen_us", "e.id"],
  ["band_under_1s", "(e.duration_us < 1e6)"],
  ["band_under_5s", "(e.duration_us >= 1e6 AND e.duration_us < 5e6)"],
  ["band_under_15s", "(e.duration_us >= 5e6 AND e.duration_us < 15e6)"],
  ["band_under_30s", "(e.duration_us >= 15e6 AND e.duration_us < 30e6)"],
  ["band_under_60s", "(e.duration_us >= 30e6 AND e.duration_us < 60e6)"],
  ["band_under_120s", "(e.duration_us >= 60e6 AND e.duration_us < 120e6)"],
  ["band_over_120s", "(e.duration_us >= 120e6)"],
]);

/** The SQL of a measure of one row of `event`, by its column in the tables of totals; for `EVENT_JOINS`. */
export function toEventMeasure(column: string): string {
  const sql = MEASURES.get(column);
  if (sql === undefined) throw new Error(`events have no measure ${column}`);
  return sql;
}

/** Its key begins with the combination: without a filter every combination is looked up rather than every row read. */
function toSealedDayCondition(database: Database, filter: ResolvedFilter): string {
  if (filter.combinations !== "combination") return filter.condition;
  const { last } = database
    .query<{ last: number | null }, []>("SELECT max(id) AS last FROM combination")
    .get() ?? { last: null };
  if ((last ?? 0) > SEEKS_MAX) return filter.condition;
  return `AND combination IN (SELECT id FROM combination) ${filter.condition}`;
}
