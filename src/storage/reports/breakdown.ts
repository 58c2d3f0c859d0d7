import { rankRows } from "#stats/breakdown.ts";
import type { Breakdown, BreakdownFigures, Percentiles, StatsStore } from "#stats/store.ts";
import { dialectOf, each, type Script } from "#storage/sql/script.ts";
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

/** Values that are told apart where there are too many for memory. */
const VALUES_KEPT_MAX = 10_000;

type BreakdownQuery = Parameters<StatsStore["readBreakdown"]>[0];

/**
 * The breakdown of `StatsStore.readBreakdown`, from cells; percentiles of durations from rows, as far as `findRowRanges`
 * allows. With more than `sumsMax` values only the largest are told apart, and the rest is in the total alone.
 */
export function* readBreakdown(
  query: BreakdownQuery,
  {
    sumsMax = SUMS_MAX,
    durationsMax = DURATIONS_MAX,
  }: { readonly sumsMax?: number; readonly durationsMax?: number } = {},
): Script<Breakdown> {
  const { by, context, limit, sort, window } = query;
  const filter = yield* resolveFilter(query);
  const all = yield* groupLabelSets(filter, [toGroupLabel(by, context)]);
  const cut = yield* cutFiltered(window, { filter, groups: all });
  const order = sort === "requests" ? "requests" : "cost";
  const { groups, count } =
    all.count > sumsMax
      ? yield* keepLargest({ cut, filter, groups: all }, { order, top: VALUES_KEPT_MAX })
      : { groups: all, count: 0 };
  const fold = yield* foldBy({ cut, filter, groups }, [...SERIES_MEASURES, "last_seen_us"], toOutcomeClass);
  const sums = [...fold.sums()];
  const byGroup = Map.groupBy(sums, ({ group }) => group);
  const range = yield* findRowRanges({ cut, window, filter }, durationsMax);
  const durations =
    range.state === "exact" ? yield* readDurations(range.ranges, { filter, groups }) : NO_DURATIONS;
  const rows = groups.values.flatMap(([value = null], group) => {
    const ofGroup = byGroup.get(group);
    if (ofGroup === undefined) return [];
    return [{ value, figures: toFigures(ofGroup, durations.ofGroups.get(group) ?? NO_DURATIONS.total) }];
  });
  const ranked = rankRows(rows, { sort, limit });
  const rowCount = Math.max(count, rows.length);
  return {
    rows: ranked,
    total: toFigures(sums, durations.total),
    rowCount,
    percentiles: range.state,
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
  /** By group; without those of which nothing ended `ok`. */
  readonly ofGroups: ReadonlyMap<number, DurationPercentiles>;
}

const NONE: Percentiles = { p50: null, p95: null };
/** Where durations are not read. */
const NO_DURATIONS: Durations = {
  total: { durationUs: NONE, firstByteUs: NONE },
  ofGroups: new Map(),
};

interface DurationRow {
  readonly combination: number;
  readonly duration_us: number;
  readonly first_byte_us: number | null;
}

/** Percentiles of requests that ended `ok`, of all and of each group. Row by row: of a row its two durations are kept. */
function* readDurations(ranges: readonly RawRange[], { filter, groups }: Wanted): Script<Durations> {
  const results = filter.results.filter(({ outcome }) => outcome === "ok");
  const ended = toChosenBindings({ groups, filter: { ...filter, results } });
  const total = new DurationLists();
  const ofGroups = new Map<number, DurationLists>();
  const joins = toEventJoins(yield* dialectOf(), filter);
  for (const { fromUs, toUs } of ranges) {
    yield* each<DurationRow>(
      `SELECT e.combination, e.duration_us, CASE WHEN m.streamed = 1 THEN e.first_byte_us END AS first_byte_us
       FROM event AS e ${joins} WHERE e.id >= ? AND e.id < ?`,
      [...ended, fromUs, toUs],
      (row) => {
        const group = groups.groupOf[row.combination] ?? NOT_CHOSEN;
        const ofGroup = ofGroups.get(group) ?? new DurationLists();
        ofGroups.set(group, ofGroup);
        for (const { durations, firstBytes } of [total, ofGroup]) {
          durations.push(row.duration_us);
          if (row.first_byte_us !== null) firstBytes.push(row.first_byte_us);
        }
      },
    );
  }
  const percentiles = [...ofGroups].map(([group, lists]) => [group, toPercentiles(lists)] as const);
  return { total: toPercentiles(total), ofGroups: new Map(percentiles) };
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
