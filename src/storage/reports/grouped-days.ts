import { all, dialectOf, one, type Script } from "#storage/sql/script.ts";
import { DAY_US, HOUR_US } from "#kernel/clock.ts";
import { toUnitTotals, UNIT_COLUMNS, type UnitColumn } from "#kernel/units.ts";
import { toMonth } from "#storage/cells/calendar.ts";
import type { Span } from "./window-cut.ts";
import { toGroupedSources } from "./dimension-sums.ts";
import type { GroupSql } from "./group-values.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import type { SeriesSum, SumReading } from "./series-sum.ts";
import { sumHours, sumSealedSources } from "./series-sums.ts";

/** Combinations from which on it is quicker to take what has a value from all there is than to read what has none. */
export const UNVALUED_MIN = 1_000;

interface Chosen {
  /** By outcome only. */
  readonly filter: ResolvedFilter;
  readonly span: Span;
}

/** Sealed days by group, after `saveGroups`. A group may come several times for a day. */
export function* sumGroupedDays(
  groups: GroupSql,
  { filter, span }: Chosen,
  reading: SumReading,
): Script<readonly SeriesSum[]> {
  const { count, group } = yield* findUnvalued();
  const isValuedOnly = count > 0 && count >= reading.unvaluedMin;
  const sources = yield* toGroupedSources(groups, { filter, span, isValuedOnly });
  const sums = yield* sumSealedSources(sources, reading);
  if (!isValuedOnly) return sums;
  const unvalued = yield* sumUnvalued({ filter, span }, { valued: sums, group }, reading);
  return [...sums, ...unvalued];
}

/** The combinations without a value, which are one group. */
function* findUnvalued(): Script<{ readonly count: number; readonly group: number }> {
  const row = yield* one<{ count: number; group_id: number | null }>(
    "SELECT count(*) AS count, min(group_id) AS group_id FROM combination_group WHERE value IS NULL",
  );
  return { count: row?.count ?? 0, group: row?.group_id ?? 0 };
}

/**
 * By day, what there is in all less what has a value. Where both are equal, what is left of a unit may be nothing or a zero: it
 * is nothing where the totals of the month have nothing of it, and else the day is read by combination.
 */
function* sumUnvalued(
  { filter, span }: Chosen,
  { valued, group }: { readonly valued: readonly SeriesSum[]; readonly group: number },
  reading: SumReading,
): Script<readonly SeriesSum[]> {
  const days = Array.from({ length: span.end - span.first }, (_, index) => span.first + index);
  const hours = days.map((day) => ({ bucket: day, from: toHour(day), to: toHour(day + 1) }));
  const ofDay = Map.groupBy(valued, ({ period }) => period);
  const left = (yield* sumHours(hours, filter.outcomes))
    .map((whole) => takeFrom(whole, ofDay.get(whole.period) ?? [], group))
    .filter(({ sum }) => sum.requests > 0);
  const isDoubtful = left.some(({ doubtful }) => doubtful.length > 0);
  const reported = isDoubtful ? yield* findReported(span) : new Map<number, Reported>();
  const mayBeZero = (day: number, unit: UnitColumn) => (reported.get(toMonth(day))?.[unit] ?? null) !== null;
  const isUnknown = ({ sum, doubtful }: Left) => doubtful.some((unit) => mayBeZero(sum.period, unit));
  const known = left.filter((rest) => !isUnknown(rest)).map(({ sum }) => sum);
  reading.take(known.length);
  const unknown = left.filter(isUnknown).map(({ sum }) => sum.period);
  return [...known, ...(yield* readUnvalued(filter, unknown, reading))];
}

interface Left {
  readonly sum: SeriesSum;
  /** The units of which nothing or a zero is left; `sum` has nothing. */
  readonly doubtful: readonly UnitColumn[];
}

/** The low half of the cost may be negative: the two add up as they are. */
function takeFrom(whole: SeriesSum, valued: readonly SeriesSum[], group: number): Left {
  const left = (column: Exclude<keyof SeriesSum, UnitColumn>) =>
    valued.reduce((rest, sum) => rest - sum[column], whole[column]);
  const doubtful: UnitColumn[] = [];
  const leftOf = (unit: UnitColumn): number | null => {
    const taken = valued.filter((sum) => sum[unit] !== null);
    const there = whole[unit];
    if (there === null || taken.length === 0) return there;
    const rest = taken.reduce((sum, { [unit]: amount }) => sum - (amount ?? 0), there);
    if (rest === 0) doubtful.push(unit);
    return rest === 0 ? null : rest;
  };
  const sum = {
    period: whole.period,
    group_id: group,
    requests: left("requests"),
    ok: left("ok"),
    cancelled: left("cancelled"),
    upstream_error: left("upstream_error"),
    priced_requests: left("priced_requests"),
    unpriced_requests: left("unpriced_requests"),
    cost_hi: left("cost_hi"),
    cost_lo: left("cost_lo"),
    ...toUnitTotals(leftOf),
  };
  return { sum, doubtful };
}

type Reported = { readonly [unit in UnitColumn]: number | null };

/** By month, the most that a combination without a value has of each unit; null for nothing. */
function* findReported({ first, end }: Span): Script<ReadonlyMap<number, Reported>> {
  const most = UNIT_COLUMNS.map((unit) => `max(t.${unit}) AS ${unit}`).join(", ");
  const rows = yield* all<Reported & { readonly month: number }>(
    `SELECT t.month, ${most} FROM combination_group AS g CROSS JOIN month_total AS t ON t.combination = g.id
       WHERE g.value IS NULL AND t.month >= ? AND t.month <= ? GROUP BY t.month`,
    [toMonth(first), toMonth(end - 1)],
  );
  return new Map(rows.map((row) => [row.month, row]));
}

function* readUnvalued(
  filter: ResolvedFilter,
  days: readonly number[],
  reading: SumReading,
): Script<readonly SeriesSum[]> {
  if (days.length === 0) return [];
  const { isAnyOfKeys } = yield* dialectOf();
  const source = {
    from: `combination_group AS g CROSS JOIN sealed_day_total AS t ON t.combination = g.id AND ${isAnyOfKeys("t.day")}
      CROSS JOIN result AS r ON r.id = t.result AND g.value IS NULL ${filter.resultCondition}`,
    bindings: [days],
    day: "t.day",
    outcome: "r.outcome",
    group: "g.group_id",
  };
  return yield* sumSealedSources([source], reading);
}

function toHour(day: number): number {
  return (day * DAY_US) / HOUR_US;
}
