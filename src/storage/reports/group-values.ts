import { STANDARD_TIER } from "#kernel/price-variants.ts";
import { parseStoredTags } from "#storage/cells/stored-tags.ts";
import type { Script } from "#storage/sql/script.ts";
import type { BreakdownBy } from "#stats/breakdown-query.ts";
import { toProviderName } from "#stats/grouping.ts";
import { type GroupOrder, type SeriesGrouping } from "#stats/series-grouping.ts";
import { compareGroups, type Size } from "#stats/series-groups.ts";
import type { ReportContext } from "#stats/store.ts";
import { TOKEN_UNITS, UNIT_TABLE } from "#kernel/units.ts";
import { joinCost } from "#storage/cells/sums.ts";
import type { FoldSum } from "./fold.ts";
import { foldBy, type FoldedWindow } from "./folded-window.ts";
import { type GroupLabel, type LabelGroups, NOT_CHOSEN } from "./label-groups.ts";

const LABEL_OF = {
  model: "model",
  principal: "principal_name",
  client: "client",
  key: "key_id",
  endpoint: "endpoint",
} as const;

/** The value that a report by `by` shows. Deleted providers share a name, and with it a group. */
export function toGroupLabel(
  by: Exclude<BreakdownBy, { readonly field: "hour" }>,
  context: ReportContext,
): GroupLabel {
  if (by.field === "tag") {
    const key = `${by.tagKey}:`;
    // An event has one value of each tag, so that the first pair with the key is the only one.
    const toValue = (tags: string | null) =>
      parseStoredTags(tags ?? "[]")
        .tags.find((pair) => pair.startsWith(key))
        ?.slice(key.length) ?? null;
    return { label: "tags", toValue };
  }
  if (by.field === "tier") return { label: "tier", toValue: (tier) => tier ?? STANDARD_TIER };
  if (by.field === "provider")
    return { label: "provider_id", toValue: (id) => (id === null ? null : toProviderName(id, context)) };
  return { label: LABEL_OF[by.field] };
}

export interface LargestGroups {
  /** The kept ones in their order, and behind them one of all others. */
  readonly groups: LabelGroups;
  /** The number of groups in the window. */
  readonly count: number;
}

/** Keeps the largest groups of a window apart, and puts all others together: a caller may send a tag of its own with each request. */
export function* keepLargest(
  window: FoldedWindow,
  { order, top }: Pick<SeriesGrouping, "order" | "top">,
): Script<LargestGroups> {
  const { filter, groups } = window;
  const fold = yield* foldBy({ cut: window.cut, filter, groups }, SIZE_MEASURES);
  let count = 0;
  let largest: FoldSum[] = [];
  const cut = () => {
    const ranked = largest.map((figures) => ({ figures, value: groups.values[figures.group]?.[0] ?? null }));
    ranked.sort((left, right) => compareGroups(left, right, (sum) => toSize(sum, order)));
    largest = ranked.slice(0, top).map(({ figures }) => figures);
  };
  for (const sum of fold.sums()) {
    count += 1;
    if (largest.push(sum) > 2 * top) cut();
  }
  cut();
  return {
    groups: keepGroups(
      groups,
      largest.map(({ group }) => group),
    ),
    count,
  };
}

const TOKENS = TOKEN_UNITS.map((unit) => UNIT_TABLE[unit].column);
const SIZE_MEASURES = ["requests", "priced_requests", "cost_hi", "cost_lo", ...TOKENS];

/** Without a number a group comes last. */
function toSize(sum: FoldSum, order: GroupOrder): Size {
  if (order === "requests") return sum.requests;
  if (order === "cost") return sum.priced_requests === 0 ? null : joinCost(sum.cost_hi, sum.cost_lo);
  const reported = TOKENS.flatMap((column) => sum.units[column] ?? []);
  return reported.length === 0 ? null : reported.reduce((tokens, quantity) => tokens + quantity, 0);
}

function keepGroups(groups: LabelGroups, kept: readonly number[]): LabelGroups {
  const numberOf = new Int32Array(groups.count).fill(kept.length);
  for (const [number, group] of kept.entries()) numberOf[group] = number;
  return {
    ...groups,
    groupOf: groups.groupOf.map((group) =>
      group === NOT_CHOSEN ? NOT_CHOSEN : (numberOf[group] ?? kept.length),
    ),
    count: kept.length + 1,
    values: kept.map((group) => groups.values[group] ?? []),
  };
}
