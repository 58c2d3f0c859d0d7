import { compareCodeUnits } from "#kernel/text.ts";
import { type FacetUse, type FacetUses, type KeyUse, toFacets } from "#stats/facets.ts";
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
  const uses = new Uses();
  const { blocks } = yield* readLabelSets();
  yield* blocks((block) => uses.add(block, requestsOf));
  const facets = toFacets(uses.toFacetUses(), query.context);
  return { ...facets, snapped: cut.snapped, truncated: Object.values(facets.cut).includes(true) };
}

/** Counts the requests of each value. */
class Uses {
  readonly #principals = new Map<string, number>();
  readonly #providers = new Map<string, number>();
  readonly #models = new Map<string, number>();
  readonly #clients = new Map<string, number>();
  readonly #tags = new Map<string, number>();
  /** By key, those of each name that its principal had. */
  readonly #keys = new Map<string, Map<string, number>>();

  add(block: LabelBlock, requestsOf: Float64Array): void {
    addLabel(this.#principals, "principal_name");
    addLabel(this.#providers, "provider_id");
    addLabel(this.#models, "model");
    addLabel(this.#clients, "client");
    const tags = new Map<string, number>();
    addLabel(tags, "tags");
    for (const [stored, requests] of tags)
      for (const pair of new Set(parseStoredTags(stored).tags)) addUse(this.#tags, pair, requests);
    for (let row = 0; row < block.count; row += 1) {
      const requests = requestsOf[block.ids[row] ?? 0] ?? 0;
      const key = requests === 0 ? null : block.find(row, "key_id");
      if (key === null) continue;
      const byName = this.#keys.get(key) ?? new Map<string, number>();
      this.#keys.set(key, byName);
      addUse(byName, block.find(row, "principal_name") ?? "", requests);
    }

    function addLabel(uses: Map<string, number>, label: Label): void {
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
    return {
      principals: toList(this.#principals),
      keys: [...this.#keys].map(([value, byName]) => toKeyUse(value, byName)),
      providers: toList(this.#providers),
      models: toList(this.#models),
      clients: toList(this.#clients),
      tags: toList(this.#tags),
    };
  }
}

function addUse(uses: Map<string, number>, value: string, requests: number): void {
  uses.set(value, (uses.get(value) ?? 0) + requests);
}

function toList(uses: ReadonlyMap<string, number>): readonly FacetUse[] {
  return [...uses].map(([value, requests]) => ({ value, requests }));
}

function toKeyUse(value: string, byName: ReadonlyMap<string, number>): KeyUse {
  const names = [...byName].sort(([one, more], [other, less]) => less - more || compareCodeUnits(one, other));
  const requests = names.reduce((sum, [, uses]) => sum + uses, 0);
  return { value, requests, principal: names[0]?.[0] ?? "" };
}
