import { formatInstant, HOUR_US, type InstantUs } from "#kernel/clock.ts";
import { rankRows } from "#stats/breakdown.ts";
import type { Breakdown, BreakdownFigures, Percentiles, StatsStore } from "#stats/store.ts";
import { toHour } from "#storage/cells/calendar.ts";
import { HAS_OTHER_UNITS } from "#storage/cells/event-row.ts";
import { dialectOf, each, type Script } from "#storage/sql/script.ts";
import { CACHE_UNITS, toCacheCost } from "#usage/cost.ts";
import { type BilledSum, sumBilled } from "./billed-sums.ts";
import { toChosenBindings, toEventJoins, type Wanted } from "./chosen-events.ts";
import type { FoldSum } from "./fold.ts";
import { foldBy } from "./folded-window.ts";
import { keepLargest, toGroupLabel } from "./group-values.ts";
import { groupLabelSets, NOT_CHOSEN } from "./label-groups.ts";
import { resolveFilter } from "./request-filter.ts";
import { cutFiltered, findRowRanges } from "./row-window.ts";
import { SERIES_MEASURES, toOutcomeClass, toSeriesFigures } from "./series-figures.ts";
import { SUMS_MAX } from "./series.ts";
import type { RawRange } from "./window-cut.ts";

/** Rows that a prompt cache was billed in, or may have been. */
const USES_CACHE = `AND (e.cached_input_tokens > 0 OR ${HAS_OTHER_UNITS})`;
/** Values that are told apart where there are too many for memory. */
const VALUES_KEPT_MAX = 10_000;

type BreakdownQuery = Parameters<StatsStore["readBreakdown"]>[0];

/**
 * The breakdown of `StatsStore.readBreakdown`, from cells; percentiles of durations from rows, as far as `findRowRanges`
 * allows. With more than `sumsMax` values only the largest are told apart, and the rest is in the total alone.
 */
export function* readBreakdown(
  query: BreakdownQuery,
  { sumsMax = SUMS_MAX, durationsMax = DURATIONS_MAX } = {},
): Script<Breakdown> {
  const { by, context, limit, sort, isCacheWanted = false } = query;
  const isByHour = by.field === "hour";
  const filter = yield* resolveFilter(query);
  const all = yield* groupLabelSets(filter, isByHour ? [] : [toGroupLabel(by, context)]);
  const cut = yield* cutFiltered(query.window, { filter, groups: all }, isByHour);
  const order = sort === "requests" ? "requests" : "cost";
  const { groups, count } =
    all.count > sumsMax
      ? yield* keepLargest({ cut, filter, groups: all }, { order, top: VALUES_KEPT_MAX })
      : { groups: all, count: 0 };
  const wanted = { filter, groups };
  const toPeriod = isByHour ? toHour : () => 0;
  const fold = yield* foldBy(
    { cut, ...wanted, toPeriod },
    [...SERIES_MEASURES, "last_seen_us"],
    toOutcomeClass,
  );
  const sums = [...fold.sums()];
  const toKey = (sum: { readonly group: number; readonly period: number }) =>
    isByHour ? sum.period : sum.group;
  // Hours that lost rows are left out of a breakdown by hour.
  const counted =
    isByHour && cut.snapped !== null
      ? { cut: { ...cut, snapped: null }, window: cut.snapped }
      : { cut, window: query.window };
  const { state, ranges } = yield* findRowRanges({ ...counted, filter }, durationsMax);
  const durations = yield* readDurations(ranges, { ...wanted, toPeriod, toKey });
  const billed = isCacheWanted
    ? yield* sumBilled({
        ...wanted,
        ranges,
        units: CACHE_UNITS,
        condition: USES_CACHE,
        ...(isByHour && { stepUs: HOUR_US }),
      })
    : [];
  const billedOf = Map.groupBy(billed, ({ group, period }) => toKey({ group, period: toPeriod(period) }));
  const toCache = (parts: readonly BilledSum[]) =>
    isCacheWanted && { cacheCost: state === "exact" ? toCacheCost(parts) : null };
  const rows = [...Map.groupBy(sums, toKey)].flatMap(([key, ofKey]) => {
    // Behind the groups that are told apart are all others.
    if (!isByHour && key >= groups.values.length) return [];
    const value = isByHour ? formatInstant(key * HOUR_US) : (groups.values[key]?.[0] ?? null);
    const figures = toFigures(ofKey, durations.ofKeys.get(key) ?? NONE_KNOWN);
    return [{ value, figures: { ...figures, ...toCache(billedOf.get(key) ?? []) } }];
  });
  const ranked = rankRows(rows, { sort, limit });
  const rowCount = Math.max(count, rows.length);
  return {
    rows: ranked,
    total: { ...toFigures(sums, durations.total), ...toCache(billed) },
    rowCount,
    percentiles: state,
    truncated: rowCount > ranked.length,
    snapped: cut.snapped,
  };
}

const OK = toOutcomeClass({ outcome: "ok" });

function toFigures(sums: readonly FoldSum[], durations: DurationPercentiles): BreakdownFigures {
  const last = sums.reduce((most, sum) => (sum.ending === OK ? Math.max(most, sum.last_seen_us) : most), 0);
  return {
    ...toSeriesFigures(sums),
    pricedRequests: sums.reduce((count, sum) => count + sum.priced_requests, 0),
    unmeteredRequests: sums.reduce((count, sum) => count + sum.unmetered_requests, 0),
    lastOkUs: last === 0 ? null : last,
    ...durations,
  };
}

/** Requests of which durations are read: 0.45 s (measured), and 40 MB of memory. */
const DURATIONS_MAX = 1_000_000;

interface DurationPercentiles {
  readonly durationUs: Percentiles;
  readonly firstByteUs: Percentiles;
}

interface Durations {
  readonly total: DurationPercentiles;
  /** By the key of a row; without those of which nothing ended `ok`. */
  readonly ofKeys: ReadonlyMap<number, DurationPercentiles>;
}

const NONE: Percentiles = { p50: null, p95: null };
/** Where nothing ended `ok`, or durations are not read. */
const NONE_KNOWN: DurationPercentiles = { durationUs: NONE, firstByteUs: NONE };

interface DurationRow {
  readonly at: number;
  readonly combination: number;
  readonly duration_us: number;
  readonly first_byte_us: number | null;
}

interface RowKeys {
  readonly toPeriod: (instantUs: InstantUs) => number;
  readonly toKey: (sum: { readonly group: number; readonly period: number }) => number;
}

/** Percentiles of requests that ended `ok`, of all and of each key. Row by row: of a row its two durations are kept. */
function* readDurations(
  ranges: readonly RawRange[],
  { filter, groups, toPeriod, toKey }: Wanted & RowKeys,
): Script<Durations> {
  const results = filter.results.filter(({ outcome }) => outcome === "ok");
  const ended = toChosenBindings({ groups, filter: { ...filter, results } });
  const total = new DurationLists();
  const ofKeys = new Map<number, DurationLists>();
  const joins = toEventJoins(yield* dialectOf(), filter);
  for (const { fromUs, toUs } of ranges) {
    yield* each<DurationRow>(
      `SELECT e.id AS at, e.combination, e.duration_us, CASE WHEN m.streamed = 1 THEN e.first_byte_us END AS first_byte_us
       FROM event AS e ${joins} WHERE e.id >= ? AND e.id < ?`,
      [...ended, fromUs, toUs],
      (row) => {
        const key = toKey({
          group: groups.groupOf[row.combination] ?? NOT_CHOSEN,
          period: toPeriod(row.at),
        });
        const ofKey = ofKeys.get(key) ?? new DurationLists();
        ofKeys.set(key, ofKey);
        for (const { durations, firstBytes } of [total, ofKey]) {
          durations.push(row.duration_us);
          if (row.first_byte_us !== null) firstBytes.push(row.first_byte_us);
        }
      },
    );
  }
  const percentiles = [...ofKeys].map(([key, lists]) => [key, toPercentiles(lists)] as const);
  return { total: toPercentiles(total), ofKeys: new Map(percentiles) };
}

class DurationLists {
  readonly durations: number[] = [];
  readonly firstBytes: number[] = [];
}

function toPercentiles({ durations, firstBytes }: DurationLists): DurationPercentiles {
  return { durationUs: toNearestRanks(durations), firstByteUs: toNearestRanks(firstBytes) };
}

function toNearestRanks(values: readonly number[]): Percentiles {
  const sorted = Float64Array.from(values).sort();
  const at = (percent: number) => sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? null;
  return { p50: at(50), p95: at(95) };
}
