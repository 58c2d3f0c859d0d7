import { UNITS } from "#kernel/units.ts";
import type { CostWindow, ModelCost } from "#stats/cost-change.ts";
import type { Window } from "#stats/filter.ts";
import type { CostWindows, StatsStore } from "#stats/store.ts";
import type { Script } from "#storage/sql/script.ts";
import { sumBilled } from "./billed-sums.ts";
import type { Wanted } from "./chosen-events.ts";
import { foldBy } from "./folded-window.ts";
import { groupLabelSets } from "./label-groups.ts";
import { resolveFilter } from "./request-filter.ts";
import { cutFiltered, findRowRanges } from "./row-window.ts";
import { SERIES_MEASURES, toOutcomeClass, toSeriesFigures } from "./series-figures.ts";

type CostWindowsQuery = Parameters<StatsStore["readCostWindows"]>[0];

/** Requests of one window whose prices are read one by one: more would keep other reports of the same reader waiting. */
const ROWS_MAX = 1_000_000;

/** `StatsStore.readCostWindows`: costs from cells, what they were billed for from rows, as far as `findRowRanges` allows. */
export function* readCostWindows(query: CostWindowsQuery, { rowsMax = ROWS_MAX } = {}): Script<CostWindows> {
  const filter = yield* resolveFilter(query);
  const groups = yield* groupLabelSets(filter, [{ label: "model" }]);
  const before = yield* readCosts(query.before, { filter, groups }, rowsMax);
  const now = yield* readCosts(query.window, { filter, groups }, rowsMax);
  const isSnapped = now.window !== query.window;
  const { sinceUs, untilUs } = now.window;
  const snapped = isSnapped && sinceUs !== null && untilUs !== null ? { sinceUs, untilUs } : null;
  return { before, now, snapped, truncated: false };
}

function* readCosts(window: Window, { filter, groups }: Wanted, rowsMax: number): Script<CostWindow> {
  const cut = yield* cutFiltered(window, { filter, groups });
  const fold = yield* foldBy({ cut, filter, groups }, SERIES_MEASURES, toOutcomeClass);
  const { state, ranges } = yield* findRowRanges({ cut, window, filter }, rowsMax);
  const billed = Map.groupBy(
    yield* sumBilled({ ranges, units: UNITS, filter, groups }),
    ({ group }) => group,
  );
  const models = [...Map.groupBy(fold.sums(), ({ group }) => group)].map(([group, sums]): ModelCost => {
    const figures = toSeriesFigures(sums);
    return {
      model: groups.values[group]?.[0] ?? null,
      requests: figures.requests,
      failed: figures.upstreamError + figures.unreachable,
      unpricedRequests: figures.unpricedRequests,
      costPico: figures.costPico,
      units: figures.units,
      billed: billed.get(group) ?? [],
    };
  });
  return { window: cut.snapped ?? window, models, rows: state };
}
