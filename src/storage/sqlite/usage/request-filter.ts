import type { Database } from "bun:sqlite";
import type { StatsQuery } from "#stats/store.ts";

/** What a filter comes down to in the ledger. */
export interface ResolvedFilter {
  /** SQL conditions over columns `combination` and `result`, each beginning with AND; empty when everything matches. */
  readonly condition: string;
  /** True when only the outcome is restricted, so that the hour totals can tell. */
  readonly isByOutcomeOnly: boolean;
  readonly outcomes: readonly string[] | null;
}

type Binding = string | number;

/**
 * Resolves a filter on the combinations, of which there are thousands where there are millions of events. The ids stand in
 * temporary tables of this connection until the next call.
 */
export function resolveFilter(database: Database, query: StatsQuery): ResolvedFilter {
  const { outcomes } = query.filter;
  const conditions: string[] = [];
  const combination = toCombinationCondition(query);
  if (combination !== null) {
    database.run("CREATE TEMP TABLE IF NOT EXISTS chosen_combination (id INTEGER PRIMARY KEY)");
    database.run("DELETE FROM chosen_combination");
    database
      .query<unknown, Binding[]>(
        `INSERT INTO chosen_combination SELECT id FROM combination WHERE ${combination.sql}`,
      )
      .run(...combination.bindings);
    conditions.push("AND combination IN (SELECT id FROM chosen_combination)");
  }
  if (outcomes !== null) {
    database.run("CREATE TEMP TABLE IF NOT EXISTS chosen_result (id INTEGER PRIMARY KEY)");
    database.run("DELETE FROM chosen_result");
    database
      .query<unknown, [string]>(
        "INSERT INTO chosen_result SELECT id FROM result WHERE outcome IN (SELECT value FROM json_each(?))",
      )
      .run(JSON.stringify(outcomes));
    conditions.push("AND result IN (SELECT id FROM chosen_result)");
  }
  return { condition: conditions.join(" "), isByOutcomeOnly: combination === null, outcomes };
}

function toCombinationCondition({ filter, providers }: StatsQuery) {
  const parts: string[] = [];
  const bindings: Binding[] = [];
  const add = (sql: string, ...values: readonly Binding[]) => {
    parts.push(sql);
    bindings.push(...values);
  };
  if (filter.principal !== null) add("principal_name = ?", filter.principal);
  if (filter.keyId !== null) add("key_id = ?", filter.keyId);
  if (filter.model !== null) add("model = ?", filter.model);
  // A literal prefix: LIKE would give % and _ a meaning, and fold case.
  if (filter.clientPrefix !== null) {
    add("substr(client, 1, length(?)) = ?", filter.clientPrefix, filter.clientPrefix);
  }
  for (const pair of filter.tags) {
    add(
      "id IN (SELECT combination FROM combination_tag WHERE tag = (SELECT id FROM tag WHERE pair = ?))",
      pair,
    );
  }
  if (providers.include !== null) {
    add("provider_id IN (SELECT value FROM json_each(?))", JSON.stringify(providers.include));
  }
  if (providers.exclude.length > 0) {
    add("provider_id NOT IN (SELECT value FROM json_each(?))", JSON.stringify(providers.exclude));
  }
  return parts.length === 0 ? null : { sql: parts.join(" AND "), bindings };
}
