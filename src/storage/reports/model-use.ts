import { compareCodeUnits } from "#kernel/text.ts";
import { byUnit, type Pico, REPORT_UNITS, UNITS } from "#kernel/units.ts";
import type { ModelUse, ModelUses, StatsStore } from "#stats/store.ts";
import type { Script } from "#storage/sql/script.ts";
import { toUnitCosts, type UnitCosts } from "#usage/cost.ts";
import { type BilledSum, sumBilled } from "./billed-sums.ts";
import { foldBy } from "./folded-window.ts";
import { type GroupLabel, groupLabelSets } from "./label-groups.ts";
import { resolveFilter } from "./request-filter.ts";
import { cutFiltered, findRowRanges } from "./row-window.ts";
import { SERIES_MEASURES, toSeriesFigures } from "./series-figures.ts";

type ModelUseQuery = Parameters<StatsStore["readModelUse"]>[0];

const LABELS: readonly GroupLabel[] = [{ label: "model" }, { label: "tier" }, { label: "geo" }];
/** Requests whose prices are read one by one: a tenth of a second (measured). */
const ROWS_MAX = 200_000;

/** `StatsStore.readModelUse`, from cells; what each unit cost from rows, as far as `findRowRanges` allows. */
export function* readModelUse(
  query: ModelUseQuery,
  { rowsMax = ROWS_MAX }: { readonly rowsMax?: number } = {},
): Script<ModelUses> {
  const filter = yield* resolveFilter(query);
  const groups = yield* groupLabelSets(filter, LABELS);
  const cut = yield* cutFiltered(query.window, { filter, groups });
  const fold = yield* foldBy({ cut, filter, groups }, SERIES_MEASURES);
  const range = yield* findRowRanges({ cut, window: query.window, filter }, rowsMax);
  const isExact = range.state === "exact";
  const billed = isExact ? yield* sumBilled({ ranges: range.ranges, units: UNITS, filter, groups }) : [];
  const billedOf = Map.groupBy(billed, ({ group }) => group);
  const uses = [...Map.groupBy(fold.sums(), ({ group }) => group)].map(([group, sums]): ModelUse => {
    const { requests, unpricedRequests, costPico, units } = toSeriesFigures(sums);
    const [model = null, tier = null, geo = null] = groups.values[group] ?? [];
    const unitCosts = isExact ? addUnitCosts(billedOf.get(group) ?? []) : null;
    return { model: model ?? "", tier, geo, requests, unpricedRequests, costPico, units, unitCosts };
  });
  uses.sort(
    (left, right) =>
      compareCodeUnits(left.model, right.model) ||
      compareCodeUnits(left.tier ?? "", right.tier ?? "") ||
      compareCodeUnits(left.geo ?? "", right.geo ?? ""),
  );
  return { uses, unitCosts: range.state, snapped: cut.snapped, truncated: false };
}

function addUnitCosts(billed: readonly BilledSum[]): UnitCosts {
  const parts = billed.map(toUnitCosts);
  return byUnit(REPORT_UNITS, (unit) => addUp(parts.flatMap((part) => part[unit] ?? [])));
}

/** Undefined for none. */
function addUp(amounts: readonly Pico[]): Pico | undefined {
  return amounts.length === 0 ? undefined : amounts.reduce((sum, amount) => sum + amount, 0n);
}
