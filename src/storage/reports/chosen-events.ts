import type { Pico, ReportUnit, Unit } from "#kernel/units.ts";
import { isReportUnit, toReportUnit, UNIT_TABLE, UNITS } from "#kernel/units.ts";
import type { Dialect } from "#storage/sql/dialect.ts";
import { splitCost } from "#storage/cells/sums.ts";
import { isUnmetered } from "#usage/event.ts";
import type { RowFilter } from "#stats/filter.ts";
import {
  type EventSql,
  isWithoutPrice,
  toDisjointSql,
  toEventMeasures,
  toTotalSql,
} from "./event-measures.ts";
import { type LabelGroups, SHAPES } from "./label-groups.ts";
import type { ResolvedFilter } from "./request-filter.ts";

/** Label sets and requests that are looked for. */
export interface Wanted {
  readonly filter: ResolvedFilter;
  readonly groups: LabelGroups;
}

/**
 * The SQL behind `event AS e` where `toChosenMeasures` are asked for: it leaves only what is chosen by `?1` and `?2`, to which
 * `toChosenBindings` are bound, and `m` is the row of `manner`. CROSS JOIN keeps the clustered table outermost.
 */
export function toEventJoins(dialect: Dialect, { rows }: Pick<ResolvedFilter, "rows">): string {
  const { isByte } = dialect;
  return `CROSS JOIN manner AS m ON m.id = e.manner AND ${isByte("?1", "e.combination", ">", 0)} AND ${isByte("?2", "m.result", ">", 0)}
    ${rows === null ? "" : toRowCondition(dialect, rows)}`;
}

/** The byte of a result that is chosen: whether a usage should have been told. */
const RESULTS = { metered: 1, unmetered: 2 } as const;

/** The shapes of the label sets that are chosen, and a byte for each result, 0 for one that is not. */
export function toChosenBindings({ filter, groups }: Wanted): readonly [Uint8Array, Uint8Array] {
  const results = new Uint8Array(filter.lastResult);
  for (const { id, outcome, status_code: statusCode } of filter.results)
    results[id - 1] = isUnmetered({ outcome, statusCode, usage: null }) ? RESULTS.unmetered : RESULTS.metered;
  return [groups.shapes, results];
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

function toEventSql({ isByte }: Dialect): EventSql {
  const isShape = (shape: number) => isByte("?1", "e.combination", "=", shape);
  return {
    isInclusive: isShape(SHAPES.inclusive),
    isUntold: isShape(SHAPES.untold),
    isPending: isShape(SHAPES.pending),
    isUnmetered: isByte("?2", "m.result", "=", RESULTS.unmetered),
  };
}

/** Each measure of one row of `event`, spelled for `toEventJoins`. */
export function toChosenMeasures(dialect: Dialect): ReadonlyMap<string, string> {
  return toEventMeasures(dialect, toEventSql(dialect));
}

function toEventMeasure(dialect: Dialect, column: string): string {
  const sql = toChosenMeasures(dialect).get(column);
  if (sql === undefined) throw new Error(`events have no measure ${column}`);
  return sql;
}

/**
 * Tells whether a row of `event` has some of a report's unit without a price, its details included, and how much, as totals keep
 * it; for `toEventJoins`.
 */
export function toUnpricedMeasure(
  dialect: Dialect,
  unit: ReportUnit,
): { readonly isUsed: string; readonly quantity: string } {
  const { isInclusive } = toEventSql(dialect);
  const parts = UNITS.filter((part) => toReportUnit(part) === unit).map((part) => ({
    part,
    quantity: toDisjointSql(dialect, part, isInclusive),
  }));
  const isUsed = parts
    .map(({ part, quantity }) => `${isWithoutPrice(part)} AND ${quantity} > 0`)
    .join(" OR ");
  const sum = parts
    .map(
      ({ part, quantity }) =>
        `CASE WHEN ${isWithoutPrice(part)} THEN coalesce(${quantity}, 0.0) ELSE 0.0 END`,
    )
    .join(" + ");
  return {
    isUsed: `(${isUsed})`,
    quantity: parts.length === 1 ? toTotalSql(dialect, unit, isInclusive) : sum,
  };
}

/** The whole input of a row of `event`, cached and written tokens included, 0 where none was told; for `toEventJoins`. */
export function toWholeInputMeasure(dialect: Dialect): string {
  const { isInclusive } = toEventSql(dialect);
  const parts = (["input_tokens", "cached_input_tokens"] as const).map(
    (unit) => `coalesce(${toTotalSql(dialect, unit, isInclusive)}, 0)`,
  );
  return `(${parts.join(" + ")})`;
}

/** What a row of `event` was billed for of each unit, each token once, in the multiples of totals; for `toEventJoins`. */
export function toBilledMeasures(dialect: Dialect, units: readonly Unit[]): ReadonlyMap<Unit, string> {
  const { isInclusive } = toEventSql(dialect);
  const toSql = (unit: Unit) =>
    isReportUnit(unit) && UNIT_TABLE[unit].scale !== 1
      ? toTotalSql(dialect, unit, isInclusive)
      : toDisjointSql(dialect, unit, isInclusive);
  return new Map(units.map((unit) => [unit, toSql(unit)]));
}
