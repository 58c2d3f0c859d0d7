import { all, fill, type Script, run } from "#storage/sql/script.ts";
import type { FacetUse, FacetUses, KeyUse } from "#stats/facets.ts";
import { FACET_VALUES_MAX, toFacets } from "#stats/facets.ts";
import type { Facets, StatsStore } from "#stats/store.ts";
import type { MeasureSource } from "./measure-sources.ts";
import { toMeasureSources } from "./measure-sources.ts";
import { readSealedCells } from "./sealed-cells.ts";
import { resolveFilter } from "./request-filter.ts";
import { cutFiltered } from "./row-window.ts";

/** Combinations that may be in memory; with more of them the database adds up. */
const CELLS_MAX = 150_000;

type FacetsQuery = Parameters<StatsStore["readFacets"]>[0];

/**
 * The facets of `StatsStore.readFacets`, of every event in the window, from the totals by combination. Counted by the database:
 * however many combinations there are, only the values that are shown come into memory.
 */
export function* readFacets(query: FacetsQuery): Script<Facets> {
  const filter = yield* resolveFilter(query);
  const cut = yield* cutFiltered({ window: query.window, into: "months" }, filter);
  const sealed = yield* readSealedCells(
    { cut, filter },
    { outcomes: filter.outcomes, measuresMax: 1, combinationsMax: CELLS_MAX },
  );
  yield* saveUses(yield* toMeasureSources(sealed?.rest ?? cut, filter), sealed?.sums ?? []);
  const facets = toFacets(yield* readUses(), query.context);
  return { ...facets, snapped: cut.snapped, truncated: Object.values(facets.cut).includes(true) };
}

/** How often each combination was used. */
function* saveUses(
  sources: readonly MeasureSource[],
  sums: readonly { readonly group_id: number; readonly requests: number }[],
): Script<void> {
  yield* fill(
    "combination_use",
    sums.map(({ group_id: combination, requests }) => [combination, requests]),
  );
  for (const { sql, bindings } of sources) {
    yield* run(
      `INSERT INTO combination_use SELECT combination, sum(requests) FROM (${sql}) AS s WHERE true GROUP BY combination
         ON CONFLICT (id) DO UPDATE SET requests = combination_use.requests + excluded.requests`,
      bindings,
    );
  }
}

function* readUses(): Script<FacetUses> {
  return {
    principals: yield* readMostUsed("principal_name"),
    keys: yield* readKeys(),
    providers: yield* readProviders(),
    models: yield* readMostUsed("model"),
    clients: yield* readMostUsed("client"),
    tags: yield* readTags(),
  };
}

const OF_COMBINATIONS = "combination_use AS u CROSS JOIN combination AS c ON c.id = u.id";
/** One more than are shown tells that some were cut. */
const VALUES_MAX = FACET_VALUES_MAX + 1;

function* readMostUsed(column: "principal_name" | "model" | "client"): Script<readonly FacetUse[]> {
  return yield* all<FacetUse>(
    `SELECT c.${column} AS value, sum(u.requests) AS requests FROM ${OF_COMBINATIONS}
       WHERE c.${column} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?`,
    [VALUES_MAX],
  );
}

/** All of them: names are the catalog's, and several ids may share one. */
function* readProviders(): Script<readonly FacetUse[]> {
  return yield* all<FacetUse>(
    `SELECT c.provider_id AS value, sum(u.requests) AS requests FROM ${OF_COMBINATIONS} GROUP BY 1`,
  );
}

/** Each key comes with the principal's name under which it was used most. */
function* readKeys(): Script<readonly KeyUse[]> {
  return yield* all<KeyUse>(
    `SELECT value, principal, requests FROM (
         SELECT value, principal, sum(uses) OVER (PARTITION BY value) AS requests,
           row_number() OVER (PARTITION BY value ORDER BY uses DESC, principal) AS place
         FROM (SELECT c.key_id AS value, c.principal_name AS principal, sum(u.requests) AS uses FROM ${OF_COMBINATIONS}
           WHERE c.key_id IS NOT NULL GROUP BY 1, 2) AS used) AS ranked
       WHERE place = 1 ORDER BY requests DESC, value LIMIT ?`,
    [VALUES_MAX],
  );
}

/** In the order of `combination_tag`, so that nothing is sorted but what is shown. */
function* readTags(): Script<readonly FacetUse[]> {
  return yield* all<FacetUse>(
    `SELECT t.pair AS value, used.requests FROM (
         SELECT l.tag, sum(u.requests) AS requests
         FROM combination_tag AS l CROSS JOIN combination_use AS u ON u.id = l.combination
         GROUP BY l.tag ORDER BY 2 DESC, 1 LIMIT ?) AS used
       CROSS JOIN tag AS t ON t.id = used.tag ORDER BY used.requests DESC, used.tag`,
    [VALUES_MAX],
  );
}
