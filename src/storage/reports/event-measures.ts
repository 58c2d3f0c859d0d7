import { STATUS_CANCELLED } from "#usage/event.ts";
import { findUnitPrice, type PriceSet, type ReportUnit, type Unit } from "#kernel/units.ts";
import type { Dialect } from "#storage/sql/dialect.ts";
import { HAS_OTHER_UNITS, toCostReportedSql, toQuantitySql } from "#storage/cells/event-row.ts";
import { DETAILS_OF, REPORT_UNITS, toReportUnit, UNIT_TABLE, UNITS } from "#kernel/units.ts";

/** Conditions on an event, by its label set and result. */
export interface EventSql {
  /** Its prompt contains the cached part. */
  readonly isInclusive: string;
  /** No usage was told, or only its beginning. */
  readonly isUntold: string;
  readonly isPending: string;
  /** It ended so that a usage should have been told (`isUnmetered`). */
  readonly isUnmetered: string;
}

const IS_SUCCESS = "r.status_code >= 200 AND r.status_code < 300";

/** By the rows `c` of `combination` and `r` of `result`. */
export const EVENT_OF_ROWS: EventSql = {
  isInclusive: "c.shape = 'inclusive'",
  isUntold: "coalesce(c.shape, 'begun') = 'begun'",
  isPending: "c.shape = 'pending'",
  isUnmetered: `(r.outcome = 'ok' AND ${IS_SUCCESS}
    OR r.outcome = 'cancelled' AND (${IS_SUCCESS} OR r.status_code = ${STATUS_CANCELLED}))`,
};

/** The rows that `EVENT_OF_ROWS` names. CROSS JOIN keeps the clustered table outermost. */
export const EVENT_JOINS = `CROSS JOIN manner AS m ON m.id = e.manner CROSS JOIN result AS r ON r.id = m.result
  CROSS JOIN combination AS c ON c.id = e.combination`;

/** Bits of `manner.unpriced`. They are stored: a new unit gets the next one. */
const UNPRICED_BIT: { readonly [unit in Unit]: number } = {
  input_tokens: 1,
  output_tokens: 2,
  cached_input_tokens: 4,
  audio_seconds: 8,
  cache_write_tokens: 16,
  cache_write_1h_tokens: 32,
  input_audio_tokens: 64,
  input_image_tokens: 128,
  output_audio_tokens: 256,
  images: 512,
  search_units: 1024,
  web_searches: 2048,
  requests: 4096,
};

/** `manner.unpriced` of a set of prices: which units it leaves without one. */
export function toUnpricedBits(prices: PriceSet): number {
  const unpriced = UNITS.filter((unit) => findUnitPrice(prices, unit) === null);
  return unpriced.reduce((bits, unit) => bits + UNPRICED_BIT[unit], 0);
}

/** True for a row of `manner AS m` whose prices leave a unit without one. */
export function isWithoutPrice(unit: Unit): string {
  return `(m.unpriced & ${UNPRICED_BIT[unit]}) > 0`;
}

/**
 * The measures of one row of `event AS e` as totals keep them, in SQL by their columns there. `m` is its row of `manner`.
 */
export function toEventMeasures(
  dialect: Dialect,
  { isInclusive, isUntold, isPending, isUnmetered }: EventSql,
): ReadonlyMap<string, string> {
  const { toConstant, toNumber } = dialect;
  // CASE stops at the first that is true; OR would look at all of them.
  const unpriced = UNITS.map(
    (unit) =>
      `WHEN ${isWithoutPrice(unit)} AND ${toDisjointSql(dialect, unit, isInclusive)} > 0 THEN ${toConstant(1)}`,
  );
  return new Map([
    ["requests", toConstant(1)],
    ["priced_requests", toNumber("e.cost_hi IS NOT NULL")],
    ["unpriced_requests", `CASE ${unpriced.join(" ")} ELSE ${toConstant(0)} END`],
    ["pending_requests", `CASE WHEN ${isPending} THEN ${toConstant(1)} ELSE ${toConstant(0)} END`],
    [
      "unmetered_requests",
      `CASE WHEN ${isUntold} AND ${isUnmetered} THEN ${toConstant(1)} ELSE ${toConstant(0)} END`,
    ],
    ["cost_hi", "coalesce(e.cost_hi, 0.0)"],
    ["cost_lo", "coalesce(e.cost_lo, 0.0)"],
    ...REPORT_UNITS.map((unit): [string, string] => [
      UNIT_TABLE[unit].column,
      toTotalSql(dialect, unit, isInclusive),
    ]),
    ["cost_reported_requests", toNumber(`${toCostReportedSql(dialect, "hi")} IS NOT NULL`)],
    ["cost_reported_hi", `coalesce(${toCostReportedSql(dialect, "hi")}, 0.0)`],
    ["cost_reported_lo", `coalesce(${toCostReportedSql(dialect, "lo")}, 0.0)`],
    ["duration_us", "e.duration_us"],
    ["last_seen_us", "e.id"],
    ["band_under_1s", toNumber("e.duration_us < 1e6")],
    ["band_under_5s", toNumber("e.duration_us >= 1e6 AND e.duration_us < 5e6")],
    ["band_under_15s", toNumber("e.duration_us >= 5e6 AND e.duration_us < 15e6")],
    ["band_under_30s", toNumber("e.duration_us >= 15e6 AND e.duration_us < 30e6")],
    ["band_under_60s", toNumber("e.duration_us >= 30e6 AND e.duration_us < 60e6")],
    ["band_under_120s", toNumber("e.duration_us >= 60e6 AND e.duration_us < 120e6")],
    ["band_over_120s", toNumber("e.duration_us >= 120e6")],
  ]);
}

/** The details of a unit, in their order. */
function toDetails(dialect: Dialect, unit: ReportUnit): readonly string[] {
  return (DETAILS_OF[unit] ?? []).map((detail) => toQuantitySql(dialect, detail));
}

/** Few events have any: asked first, so that the others are spared the rest. */
function hasAny(details: readonly string[]): string {
  return `(${HAS_OTHER_UNITS} AND (${details.map((detail) => `${detail} IS NOT NULL`).join(" OR ")}))`;
}

function toSum(quantities: readonly string[]): string {
  return quantities.map((quantity) => `coalesce(${quantity}, 0.0)`).join(" + ");
}

/** A disjoint quantity of an event, as `toDisjointQuantities` makes it. */
export function toDisjointSql(dialect: Dialect, unit: Unit, isInclusive: string): string {
  const whole = toReportUnit(unit);
  const details = toDetails(dialect, whole);
  const quantity = toQuantitySql(dialect, unit);
  if (details.length === 0) return quantity;
  const there = toWholeSql(dialect, whole, isInclusive);
  const isWithin = `e.${whole} IS NOT NULL AND ${isInclusive}`;
  const toRest = (taken: readonly string[]) =>
    taken.length === 0 ? there : `${there} - ${dialect.toLeast(toSum(taken), there)}`;
  if (unit === whole)
    return `CASE WHEN ${hasAny(details)} AND ${isWithin} THEN ${toRest(details)} ELSE ${there} END`;
  const rest = toRest(details.slice(0, details.indexOf(quantity)));
  return `CASE WHEN ${quantity} > 0 AND ${isWithin} THEN ${dialect.toLeast(quantity, rest)} ELSE ${quantity} END`;
}

/** A unit with its details: the input without its cached part, where it contains that. */
function toWholeSql(dialect: Dialect, unit: ReportUnit, isInclusive: string): string {
  return unit === "input_tokens" ? toUncachedSql(isInclusive) : toQuantitySql(dialect, unit);
}

/** The input without its cached part, where it contains that. */
function toUncachedSql(isInclusive: string): string {
  return `(CASE WHEN e.cached_input_tokens <= e.input_tokens AND ${isInclusive}
    THEN e.input_tokens - e.cached_input_tokens ELSE e.input_tokens END)`;
}

/** As Math.round does it: round() takes 0.49999999999999994 up. */
export function toTotalSql(dialect: Dialect, unit: ReportUnit, isInclusive: string): string {
  const { scale } = UNIT_TABLE[unit];
  const quantity = toReportSql(dialect, unit, isInclusive);
  if (scale === 1) return quantity;
  const scaled = `(${quantity} * ${scale}.0)`;
  return `CASE WHEN ${quantity} IS NOT NULL THEN floor(${scaled}) + ${dialect.toNumber(`${scaled} - floor(${scaled}) >= 0.5`)} END`;
}

/** The quantity of a report's unit (`normaliseUsage`), with its details. */
function toReportSql(dialect: Dialect, unit: ReportUnit, isInclusive: string): string {
  const details = toDetails(dialect, unit);
  const whole = toWholeSql(dialect, unit, isInclusive);
  if (details.length === 0) return whole;
  // Within an inclusive whole they are counted already.
  return `CASE WHEN NOT ${hasAny(details)} OR ${toQuantitySql(dialect, unit)} IS NOT NULL AND ${isInclusive} THEN ${whole}
    ELSE coalesce(${whole}, 0.0) + ${toSum(details)} END`;
}
