import { compareCodeUnits } from "#kernel/text.ts";
import { UNITS } from "#kernel/units.ts";
import type { BilledUse, ModelUse, ModelUseQuery, ModelUses } from "#stats/store.ts";
import type { Script } from "#storage/sql/script.ts";
import { type BilledSum, sumBilled } from "./billed-sums.ts";
import { foldBy } from "./folded-window.ts";
import { type GroupLabel, groupLabelSets } from "./label-groups.ts";
import { resolveFilter } from "./request-filter.ts";
import { cutFiltered, findRowRanges } from "./row-window.ts";
import { SERIES_MEASURES, toSeriesFigures } from "./series-figures.ts";

const LABELS: readonly GroupLabel[] = [{ label: "model" }, { label: "tier" }, { label: "geo" }];
/** Requests whose prices are read one by one: a tenth of a second (measured). */
const ROWS_MAX = 200_000;
/** More bounds take as long as more rows. */
const BOUNDS_MAX = 16;

/** `StatsStore.readModelUse`, from cells; what was billed from rows, as far as `findRowRanges` allows. */
export function* readModelUse(query: ModelUseQuery, { rowsMax = ROWS_MAX } = {}): Script<ModelUses> {
  const filter = yield* resolveFilter(query);
  const groups = yield* groupLabelSets(filter, LABELS);
  const cut = yield* cutFiltered(query.window, { filter, groups });
  const fold = yield* foldBy({ cut, filter, groups }, SERIES_MEASURES);
  const { bounds } = query;
  const boundCount = bounds.inputOver.length + bounds.minutes.length;
  const most = rowsMax * Math.min(1, BOUNDS_MAX / boundCount);
  const { state, ranges } = yield* findRowRanges({ cut, window: query.window, filter }, most);
  const billed = yield* sumBilled({ ranges, units: UNITS, bounds, filter, groups });
  const billedOf = Map.groupBy(billed, ({ group }) => group);
  const uses = [...Map.groupBy(fold.sums(), ({ group }) => group)].map(([group, sums]): ModelUse => {
    const { requests, unpricedRequests, costPico, units } = toSeriesFigures(sums);
    const [model = null, tier = null, geo = null] = groups.values[group] ?? [];
    const ofGroup = state === "exact" ? (billedOf.get(group) ?? []).map(toBilledUse) : null;
    return { model: model ?? "", tier, geo, requests, unpricedRequests, costPico, units, billed: ofGroup };
  });
  uses.sort(
    (left, right) =>
      compareCodeUnits(left.model, right.model) ||
      compareCodeUnits(left.tier ?? "", right.tier ?? "") ||
      compareCodeUnits(left.geo ?? "", right.geo ?? ""),
  );
  return { uses, unitCosts: state, snapped: cut.snapped, truncated: false };
}

function toBilledUse({ prices, quantities, costPico, inputTokens, endedAtUs }: BilledSum): BilledUse {
  return { prices, quantities, costPico, inputTokens, endedAtUs };
}
