import { findLastCombination } from "./last-combination.ts";
import { dialectOf, type Script } from "#storage/sql/script.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import type { RawRange, Span, WindowCut } from "./window-cut.ts";

import { toChosenMeasures, prepareEvents, toEventJoins } from "./chosen-events.ts";

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
 * One part alone, in no order, where the dialect joins them. After `resolveFilter`: it makes temporary tables.
 */
export function* toMeasureSources(cut: WindowCut, filter: ResolvedFilter): Script<readonly MeasureSource[]> {
  const dialect = yield* dialectOf();
  const chosen = toChosenMeasures(dialect);
  const columns = ["combination", "result", ...chosen.keys()].join(", ");
  const ofTable = (table: string, period: string, condition: string) => (span: Span) => ({
    sql: `SELECT ${columns} FROM ${table} WHERE ${period} >= ? AND ${period} < ? ${condition}`,
    bindings: [span.first, span.end],
  });
  const measures = [...chosen].map(([column, sql]) => `${sql} AS ${column}`);
  if (cut.raw.length > 0) yield* prepareEvents(filter);
  const sources = [
    ...cut.months.map(ofTable("month_total", "month", filter.condition)),
    ...cut.sealedDays.map(ofTable("sealed_day_total", "day", yield* toSealedDayCondition(filter))),
    ...cut.openDays.map(ofTable("day_total", "day", filter.condition)),
    ...cut.raw.map((range: RawRange) => ({
      sql: `SELECT e.combination, m.result, ${measures.join(", ")} FROM event AS e ${toEventJoins(dialect, filter)}
        WHERE e.id >= ? AND e.id < ?`,
      bindings: [range.fromUs, range.toUs],
    })),
  ];
  return dialect.areSourcesJoined && sources.length > 1 ? [joinSources(sources)] : sources;
}

function joinSources(sources: readonly MeasureSource[]): MeasureSource {
  return {
    sql: sources.map(({ sql }) => sql).join(" UNION ALL "),
    bindings: sources.flatMap(({ bindings }) => bindings),
  };
}

/** Without a filter every combination is looked up rather than every row read, where only the key is there to find them by. */
function* toSealedDayCondition(filter: ResolvedFilter): Script<string> {
  const { areDaysIndexed } = yield* dialectOf();
  if (areDaysIndexed || filter.combinations !== "combination") return filter.condition;
  const last = yield* findLastCombination();
  if (last > SEEKS_MAX) return filter.condition;
  return `AND combination IN (SELECT id FROM combination) ${filter.condition}`;
}
