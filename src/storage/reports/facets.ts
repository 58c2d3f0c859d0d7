import { compareCodeUnits } from "#kernel/text.ts";
import { type FacetUse, type KeyUse, toFacets } from "#stats/facets.ts";
import type { Facets, StatsStore } from "#stats/store.ts";
import { parseStoredTags } from "#storage/cells/stored-tags.ts";
import type { Script } from "#storage/sql/script.ts";
import type { Fold } from "./fold.ts";
import { foldBy } from "./folded-window.ts";
import { groupLabelSets } from "./label-groups.ts";
import type { Label } from "./label-sets.ts";
import { resolveFilter } from "./request-filter.ts";
import { cutFiltered } from "./row-window.ts";

type FacetsQuery = Parameters<StatsStore["readFacets"]>[0];

/** The facets of `StatsStore.readFacets`, of every event in the window. */
export function* readFacets(query: FacetsQuery): Script<Facets> {
  const filter = yield* resolveFilter(query);
  const groups = yield* groupLabelSets(filter, "each");
  const cut = yield* cutFiltered(query.window, { filter, groups });
  const fold = yield* foldBy({ cut, filter, groups }, ["requests"]);
  const facets = toFacets(
    {
      principals: yield* countUses(fold, ["principal_name"]),
      keys: toKeyUses(yield* countUses(fold, ["key_id", "principal_name"])),
      providers: yield* countUses(fold, ["provider_id"]),
      models: yield* countUses(fold, ["model"]),
      clients: yield* countUses(fold, ["client"]),
      tags: (yield* countUses(fold, ["tags"])).flatMap(toTagUses),
    },
    query.context,
  );
  return { ...facets, snapped: cut.snapped, truncated: Object.values(facets.cut).includes(true) };
}

/** How many requests have a value of a label, and the one of another with it. */
interface LabelUse extends FacetUse {
  readonly other: string | null;
}

/** Puts the sums of label sets together by labels; those without a value of the first are left out. */
function* countUses(fold: Fold, labels: readonly Label[]): Script<readonly LabelUse[]> {
  const { groupOf, count, values } = yield* groupLabelSets(
    { conditions: [] },
    labels.map((label) => ({ label })),
  );
  return Array.from(fold.regroup({ groupOf, groupCount: count }).sums()).flatMap(({ group, requests }) => {
    const [value = null, other = null] = values[group] ?? [];
    return value === null ? [] : [{ value, requests, other }];
  });
}

function toTagUses({ value, requests }: FacetUse): readonly FacetUse[] {
  return [...new Set(parseStoredTags(value).tags)].map((pair) => ({ value: pair, requests }));
}

function toKeyUses(uses: readonly LabelUse[]): readonly KeyUse[] {
  return Array.from(
    Map.groupBy(uses, ({ value }) => value),
    ([value, ofKey]) => {
      const named = ofKey.map(({ other, requests }) => ({ principal: other ?? "", requests }));
      named.sort(
        (left, right) => right.requests - left.requests || compareCodeUnits(left.principal, right.principal),
      );
      const requests = named.reduce((sum, use) => sum + use.requests, 0);
      return { value, requests, principal: named[0]?.principal ?? "" };
    },
  );
}
