import type { Database } from "bun:sqlite";
import type { FacetUse, FacetUses, KeyUse } from "#stats/facets.ts";
import { FACET_VALUES_MAX, toFacets } from "#stats/facets.ts";
import type { Facets, StatsStore } from "#stats/store.ts";
import type { MeasureSource } from "./measure-sources.ts";
import { toMeasureSources } from "./measure-sources.ts";
import { readTransaction } from "./read-transaction.ts";
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
export function readFacets(database: Database, query: FacetsQuery): Facets {
  return readTransaction(database, () => {
    const filter = resolveFilter(database, query);
    const cut = cutFiltered(database, { window: query.window, into: "months" }, filter);
    const sealed = readSealedCells(
      database,
      { cut, filter },
      { outcomes: filter.outcomes, measuresMax: 1, combinationsMax: CELLS_MAX },
    );
    saveUses(database, toMeasureSources(database, sealed?.rest ?? cut, filter), sealed?.sums ?? []);
    const facets = toFacets(readUses(database), query.context);
    return { ...facets, snapped: cut.snapped, truncated: Object.values(facets.cut).includes(true) };
  });
}

/** How often each combination was used. */
function saveUses(
  database: Database,
  sources: readonly MeasureSource[],
  sums: readonly { readonly group_id: number; readonly requests: number }[],
): void {
  database.run("CREATE TEMP TABLE IF NOT EXISTS combination_use (id INTEGER PRIMARY KEY, requests INTEGER)");
  database.run("DELETE FROM combination_use");
  database
    .query<unknown, [string]>("INSERT INTO combination_use SELECT value ->> 0, value ->> 1 FROM json_each(?)")
    .run(JSON.stringify(sums.map(({ group_id: combination, requests }) => [combination, requests])));
  for (const { sql, bindings } of sources) {
    database
      .query<unknown, number[]>(
        `INSERT INTO combination_use SELECT combination, sum(requests) FROM (${sql}) WHERE true GROUP BY combination
         ON CONFLICT (id) DO UPDATE SET requests = requests + excluded.requests`,
      )
      .run(...bindings);
  }
}

function readUses(database: Database): FacetUses {
  return {
    principals: readMostUsed(database, "principal_name"),
    keys: readKeys(database),
    providers: readProviders(database),
    models: readMostUsed(database, "model"),
    clients: readMostUsed(database, "client"),
    tags: readTags(database),
  };
}

const OF_COMBINATIONS = "combination_use AS u CROSS JOIN combination AS c ON c.id = u.id";
/** One more than are shown tells that some were cut. */
const VALUES_MAX = FACET_VALUES_MAX + 1;

function readMostUsed(
  database: Database,
  column: "principal_name" | "model" | "client",
): readonly FacetUse[] {
  return database
    .query<FacetUse, [number]>(
      `SELECT c.${column} AS value, sum(u.requests) AS requests FROM ${OF_COMBINATIONS}
       WHERE c.${column} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?`,
    )
    .all(VALUES_MAX);
}

/** All of them: names are the catalog's, and several ids may share one. */
function readProviders(database: Database): readonly FacetUse[] {
  return database
    .query<FacetUse, []>(
      `SELECT c.provider_id AS value, sum(u.requests) AS requests FROM ${OF_COMBINATIONS} GROUP BY 1`,
    )
    .all();
}

// SQLite takes a column beside one max() from the row that has it: here the name under which the key was used most.
function readKeys(database: Database): readonly KeyUse[] {
  return database
    .query<KeyUse, [number]>(
      `SELECT key AS value, principal, sum(uses) AS requests, max(uses) FROM (
         SELECT c.key_id AS key, c.principal_name AS principal, sum(u.requests) AS uses FROM ${OF_COMBINATIONS}
         WHERE c.key_id IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2)
       GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT ?`,
    )
    .all(VALUES_MAX);
}

/** In the order of `combination_tag`, so that nothing is sorted but what is shown. */
function readTags(database: Database): readonly FacetUse[] {
  return database
    .query<FacetUse, [number]>(
      `SELECT t.pair AS value, used.requests FROM (
         SELECT l.tag, sum(u.requests) AS requests
         FROM combination_tag AS l CROSS JOIN combination_use AS u ON u.id = l.combination
         GROUP BY l.tag ORDER BY 2 DESC, 1 LIMIT ?) AS used
       CROSS JOIN tag AS t ON t.id = used.tag`,
    )
    .all(VALUES_MAX);
}
