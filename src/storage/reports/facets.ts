import { addUse, byUse, type FacetUses, toFacets, type Uses } from "#stats/facets.ts";
import type { Facets, StatsStore } from "#stats/store.ts";
import { parseStoredTags } from "#storage/cells/stored-tags.ts";
import type { Script } from "#storage/sql/script.ts";
import { foldBy } from "./folded-window.ts";
import { groupLabelSets } from "./label-groups.ts";
import type { Label, LabelBlock } from "./label-sets.ts";
import { readLabelSets } from "./report-memory.ts";
import { resolveFilter } from "./request-filter.ts";
import { cutFiltered } from "./row-window.ts";

type FacetsQuery = Parameters<StatsStore["readFacets"]>[0];

/** The facets of `StatsStore.readFacets`, of every event in the window. */
export function* readFacets(query: FacetsQuery): Script<Facets> {
  const filter = yield* resolveFilter(query);
  const groups = yield* groupLabelSets(filter, "each");
  const cut = yield* cutFiltered(query.window, { filter, groups });
  const fold = yield* foldBy({ cut, filter, groups }, ["requests"]);
  const requestsOf = new Float64Array(groups.count);
  for (const { group, requests } of fold.sums()) requestsOf[group] = requests;
  const uses = new CountedUses();
  const { blocks } = yield* readLabelSets();
  yield* blocks((block) => uses.add(block, requestsOf));
  const facets = toFacets(uses.toFacetUses(), query.context);
  return { ...facets, snapped: cut.snapped, truncated: Object.values(facets.cut).includes(true) };
}

/** Counts the requests of each value. */
class CountedUses {
  readonly #uses = {
    principals: new Map<string, number>(),
    keys: new Map<string, number>(),
    providers: new Map<string, number>(),
    models: new Map<string, number>(),
    clients: new Map<string, number>(),
    tags: new Map<string, number>(),
  };
  /** By key, those of each name that its principal had. */
  readonly #namesOf = new Map<string, Uses>();

  add(block: LabelBlock, requestsOf: Float64Array): void {
    const { principals, keys, providers, models, clients, tags } = this.#uses;
    addLabel(principals, "principal_name");
    addLabel(keys, "key_id");
    addLabel(providers, "provider_id");
    addLabel(models, "model");
    addLabel(clients, "client");
    const sets: Uses = new Map();
    addLabel(sets, "tags");
    for (const [stored, requests] of sets)
      for (const pair of new Set(parseStoredTags(stored).tags)) addUse(tags, pair, requests);
    for (let row = 0; row < block.count; row += 1) {
      const requests = requestsOf[block.ids[row] ?? 0] ?? 0;
      const key = requests === 0 ? null : block.find(row, "key_id");
      if (key === null) continue;
      const names = this.#namesOf.get(key) ?? new Map<string, number>();
      this.#namesOf.set(key, names);
      addUse(names, block.find(row, "principal_name") ?? "", requests);
    }

    function addLabel(uses: Uses, label: Label): void {
      const { values, placeOf } = block.column(label);
      const sums = new Float64Array(values.length);
      for (let row = 0; row < block.count; row += 1) {
        const place = placeOf[row] ?? 0;
        sums[place] = (sums[place] ?? 0) + (requestsOf[block.ids[row] ?? 0] ?? 0);
      }
      for (const [place, requests] of sums.entries()) {
        const value = values[place] ?? null;
        if (value !== null && requests > 0) addUse(uses, value, requests);
      }
    }
  }

  toFacetUses(): FacetUses {
    const principalOf = new Map([...this.#namesOf].map(([key, names]) => [key, byUse(names)[0] ?? ""]));
    return { ...this.#uses, principalOf };
  }
}
