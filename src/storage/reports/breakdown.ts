import { rankRows } from "#stats/breakdown.ts";
import type { Breakdown, BreakdownFigures, StatsStore } from "#stats/store.ts";
import type { Script } from "#storage/sql/script.ts";
import { type DurationPercentiles, findDurationRange, NO_DURATIONS, readDurations } from "./durations.ts";
import { Fold, type FoldSum } from "./fold.ts";
import { type FoldedWindow, foldWindow, toKeys } from "./folded-window.ts";
import { keepLargest, toGroupLabel } from "./group-values.ts";
import { groupLabelSets, type LabelGroups, NOT_CHOSEN } from "./label-groups.ts";
import { findPendingEvents } from "./pending-events.ts";
import { type ResolvedFilter, resolveFilter, type Result, shouldTell } from "./request-filter.ts";
import { cutFiltered } from "./row-window.ts";
import { SERIES_MEASURES, toOutcomeClass, toSeriesFigures } from "./series-figures.ts";
import { SUMS_MAX } from "./series.ts";

/** Values that are told apart where there are too many for memory. */
const VALUES_KEPT_MAX = 10_000;

type BreakdownQuery = Parameters<StatsStore["readBreakdown"]>[0];

/**
 * The breakdown of `StatsStore.readBreakdown`, from cells; percentiles of durations from rows, as far as `findDurationRange`
 * allows. With more than `sumsMax` values only the largest are told apart, and the rest is in the total alone.
 */
export function* readBreakdown(
  query: BreakdownQuery,
  { sumsMax = SUMS_MAX, durationsMax }: { readonly sumsMax?: number; readonly durationsMax?: number } = {},
): Script<Breakdown> {
  const { by, context, limit, sort, window } = query;
  const filter = yield* resolveFilter(query);
  const all = yield* groupLabelSets(filter, [toGroupLabel(by, context)]);
  const cut = yield* cutFiltered({ window, longest: "month" }, { filter, groups: all });
  const order = sort === "requests" ? "requests" : "cost";
  const { groups, count } =
    all.count > sumsMax
      ? yield* keepLargest({ cut, filter, groups: all }, { order, top: VALUES_KEPT_MAX })
      : { groups: all, count: 0 };
  const fold = yield* foldByUsage({ cut, filter, groups });
  const sums = [...fold.sums()];
  const byGroup = Map.groupBy(sums, ({ group }) => group >> 1);
  const pending = yield* findPendingEvents({ filter, groups }, { window, snapped: cut.snapped });
  const pendingOf = Map.groupBy(pending, ({ group }) => group);
  const range = yield* findDurationRange({ cut, window, filter }, durationsMax);
  const durations =
    range.state === "exact" ? yield* readDurations(range.ranges, { filter, groups }) : NO_DURATIONS;
  const rows = groups.values.flatMap(([value = null], group) => {
    const ofGroup = byGroup.get(group);
    if (ofGroup === undefined) return [];
    const ofPending = pendingOf.get(group)?.length ?? 0;
    return [
      { value, figures: toFigures(ofGroup, ofPending, durations.ofGroups.get(group) ?? NO_DURATIONS.total) },
    ];
  });
  const ranked = rankRows(rows, { sort, limit });
  const rowCount = Math.max(count, rows.length);
  return {
    rows: ranked,
    total: toFigures(sums, pending.length, durations.total),
    rowCount,
    percentiles: range.state,
    truncated: rowCount > ranked.length,
    snapped: cut.snapped,
  };
}

/** Adds up by group and by whether a usage was told: `group * 2 + 1` where none was. */
function* foldByUsage(window: FoldedWindow): Script<Fold> {
  const groups = splitUntold(window.groups, yield* findUntold(window.filter));
  const fold = new Fold(toKeys(groups, window.filter, toClass), [...SERIES_MEASURES, "last_seen_us"]);
  yield* foldWindow(fold, window);
  return fold;
}

/** A label set without a usage, or with only its beginning. */
function* findUntold({ conditions }: ResolvedFilter): Script<LabelGroups> {
  return yield* groupLabelSets({ conditions }, [
    { label: "shape", toValue: (shape) => (shape === null || shape === "begun" ? "untold" : "told") },
  ]);
}

function splitUntold(groups: LabelGroups, untold: LabelGroups): Pick<LabelGroups, "groupOf" | "count"> {
  const isUntold = untold.values.map(([told]) => Number(told === "untold"));
  const toHalf = (group: number, id: number) =>
    group === NOT_CHOSEN ? NOT_CHOSEN : group * 2 + (isUntold[untold.groupOf[id] ?? 0] ?? 0);
  return { groupOf: groups.groupOf.map(toHalf), count: groups.count * 2 };
}

const OUTCOMES_MAX = 4;

/** The class of its outcome, and behind those of all outcomes that of a result which should have told a usage. */
function toClass(result: Result): number {
  return toOutcomeClass(result) + (shouldTell(result) ? OUTCOMES_MAX : 0);
}

function toFigures(
  sums: readonly FoldSum[],
  pending: number,
  durations: DurationPercentiles,
): BreakdownFigures {
  const byOutcome = sums.map((sum) => Object.assign({}, sum, { ending: sum.ending % OUTCOMES_MAX }));
  const isOk = (sum: FoldSum) => sum.ending % OUTCOMES_MAX === 0;
  const unmetered = sums.filter(({ ending, group }) => ending >= OUTCOMES_MAX && group % 2 === 1);
  const last = sums.reduce((most, sum) => (isOk(sum) ? Math.max(most, sum.last_seen_us) : most), 0);
  return {
    ...toSeriesFigures(byOutcome, pending),
    pricedRequests: sums.reduce((count, sum) => count + sum.priced_requests, 0),
    unmeteredRequests: unmetered.reduce((count, { requests }) => count + requests, 0),
    lastOkUs: last === 0 ? null : last,
    ...durations,
  };
}
