import type { ReportUnit, Unit } from "#kernel/units.ts";
import type { Dialect } from "./dialect.ts";
import { REPORT_UNITS, toReportUnit, UNIT_TABLE, UNITS } from "#kernel/units.ts";

/** True for a combination `c` whose prompts contain their cached part. One without a shape has no quantities. */
export const IS_INCLUSIVE = "coalesce(c.shape, 'inclusive') = 'inclusive'";

/**
 * The measures of one row of `event AS e` as totals keep them, in SQL by their columns there. `m` is its manner, with 1 in
 * the column of each unit that its prices leave unpriced (`toUnpricedUnits`); `isInclusive` is true for a combination whose
 * prompts contain their cached part.
 */
export function toEventMeasures(dialect: Dialect, isInclusive: string): ReadonlyMap<string, string> {
  const { toConstant, toNumber } = dialect;
  const disjoint = (unit: Unit) => toDisjointSql(dialect, unit, isInclusive);
  // CASE stops at the first that is true; OR would look at all of them.
  const unpriced = UNITS.map((unit) => `WHEN m.${unit} = 1 AND ${disjoint(unit)} > 0 THEN ${toConstant(1)}`);
  return new Map([
    ["requests", toConstant(1)],
    ["priced_requests", toNumber("e.cost_hi IS NOT NULL")],
    ["unpriced_requests", `CASE ${unpriced.join(" ")} ELSE ${toConstant(0)} END`],
    ["cost_hi", "coalesce(e.cost_hi, 0.0)"],
    ["cost_lo", "coalesce(e.cost_lo, 0.0)"],
    ...REPORT_UNITS.map((unit): [string, string] => [
      UNIT_TABLE[unit].column,
      toTotalSql(dialect, unit, isInclusive),
    ]),
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

/** For each of the units 1 when a set of prices leaves its quantity without one (`findUnitPrice`); over `price_set`. */
export function toUnpricedUnits({ toMember, toNumber }: Dialect): readonly string[] {
  return UNITS.map((unit) => {
    const prices = [unit, toReportUnit(unit)].map((name) => toMember("prices", name));
    return toNumber(`coalesce(${prices.join(", ")}) IS NULL`);
  });
}

const WRITTEN = "coalesce(e.cache_write_tokens, 0.0)";
const WRITTEN_FOR_1H = "coalesce(e.cache_write_1h_tokens, 0.0)";
/** Few events have any: asked first, so that the others are spared the rest. */
const HAS_WRITES = "(e.cache_write_tokens IS NOT NULL OR e.cache_write_1h_tokens IS NOT NULL)";

/** A disjoint quantity of an event, as `toDisjointQuantities` makes it. */
export function toDisjointSql({ toLeast }: Dialect, unit: Unit, isInclusive: string): string {
  const uncached = toUncachedSql(isInclusive);
  const written = toLeast(WRITTEN, uncached);
  const isWithin = `e.input_tokens IS NOT NULL AND ${isInclusive}`;
  if (unit === "input_tokens") {
    const rest = `${uncached} - ${toLeast(`${WRITTEN} + ${WRITTEN_FOR_1H}`, uncached)}`;
    return `CASE WHEN ${HAS_WRITES} AND ${isWithin} THEN ${rest} ELSE ${uncached} END`;
  }
  if (unit === "cache_write_tokens")
    return `CASE WHEN e.cache_write_tokens > 0 AND ${isWithin} THEN ${written} ELSE e.cache_write_tokens END`;
  if (unit === "cache_write_1h_tokens")
    return `CASE WHEN e.cache_write_1h_tokens > 0 AND ${isWithin}
      THEN ${toLeast("e.cache_write_1h_tokens", `${uncached} - ${written}`)} ELSE e.cache_write_1h_tokens END`;
  return `e.${unit}`;
}

/** The input without its cached part, where it contains that. */
function toUncachedSql(isInclusive: string): string {
  return `(CASE WHEN e.cached_input_tokens <= e.input_tokens AND ${isInclusive}
    THEN e.input_tokens - e.cached_input_tokens ELSE e.input_tokens END)`;
}

/** As Math.round does it: round() takes 0.49999999999999994 up. */
export function toTotalSql(dialect: Dialect, unit: ReportUnit, isInclusive: string): string {
  const { toNumber } = dialect;
  const { scale } = UNIT_TABLE[unit];
  const quantity = toReportSql(dialect, unit, isInclusive);
  if (scale === 1) return quantity;
  const scaled = `(${quantity} * ${scale}.0)`;
  return `CASE WHEN ${quantity} IS NOT NULL THEN floor(${scaled}) + ${toNumber(`${scaled} - floor(${scaled}) >= 0.5`)} END`;
}

/** The quantity of a report's unit (`normaliseUsage`), with its details: the parts of the input are all that there are. */
function toReportSql(dialect: Dialect, unit: ReportUnit, isInclusive: string): string {
  if (unit !== "input_tokens") return toDisjointSql(dialect, unit, isInclusive);
  const uncached = toUncachedSql(isInclusive);
  // Within an inclusive prompt the writes are counted already.
  return `CASE WHEN NOT ${HAS_WRITES} OR e.input_tokens IS NOT NULL AND ${isInclusive} THEN ${uncached}
    ELSE coalesce(${uncached}, 0.0) + ${WRITTEN} + ${WRITTEN_FOR_1H} END`;
}
