import type { Database } from "bun:sqlite";
import type { StatsQuery } from "#stats/store.ts";
import type { DimensionKind } from "#storage/sqlite/ledger/file/dimension-kinds.ts";

/** What a filter comes down to in the ledger. */
export interface ResolvedFilter {
  /** SQL conditions over columns `combination` and `result`, each beginning with AND; empty when everything matches. */
  readonly condition: string;
  /** SQL conditions over the columns of `event`, in the same form. */
  readonly eventCondition: string;
  /** The part of `condition` on the result alone. */
  readonly resultCondition: string;
  /** The table of the combinations that match, with `id` and `shape`. */
  readonly combinations: "combination" | "chosen_combination";
  /** True when only the outcome is restricted, so that the hour totals can tell. */
  readonly isByOutcomeOnly: boolean;
  readonly outcomes: readonly string[] | null;
  /** Set when one dimension is restricted, and at most the outcome beside it: what is asked of it. */
  readonly dimension: DimensionCondition | null;
}

/** Over the column `value` of the table `dimension`. */
export interface DimensionCondition {
  readonly kind: DimensionKind;
  readonly sql: string;
  readonly bindings: readonly Binding[];
}

type Binding = string | number;

/**
 * Resolves a filter on the combinations, of which there are thousands where there are millions of events. The ids stand in
 * temporary tables of this connection until the next call.
 */
export function resolveFilter(database: Database, query: Omit<StatsQuery, "window">): ResolvedFilter {
  const { outcomes } = query.filter;
  const parts = toParts(query);
  if (parts.length > 0) saveCombinations(database, parts);
  if (outcomes !== null) saveResults(database, outcomes);
  const resultCondition = outcomes === null ? "" : "AND result IN (SELECT id FROM chosen_result)";
  const mannerCondition = outcomes === null ? "" : "AND manner IN (SELECT id FROM chosen_manner_id)";
  if (parts.length === 0) {
    return {
      condition: resultCondition,
      eventCondition: mannerCondition,
      resultCondition,
      combinations: "combination",
      isByOutcomeOnly: true,
      outcomes,
      dimension: null,
    };
  }
  const isChosen = "AND combination IN (SELECT id FROM chosen_combination)";
  return {
    condition: `${isChosen} ${resultCondition}`,
    eventCondition: `${mannerCondition} ${isChosen}`,
    resultCondition,
    combinations: "chosen_combination",
    isByOutcomeOnly: false,
    outcomes,
    dimension: toDimensionCondition(parts),
  };
}

/** A condition over the columns of `event`, beginning with AND or empty, that looks at the combination of each row. */
export interface RowCondition {
  readonly sql: string;
  readonly bindings: readonly Binding[];
}

/** The filter for some rows that are read by their ids: the combinations, of which there may be millions, are not gone through. */
export function toRowCondition(query: Omit<StatsQuery, "window">): RowCondition {
  const { outcomes } = query.filter;
  const parts = toParts(query);
  const isChosen = parts.map(({ ofCombination }) => ` AND ${ofCombination}`).join("");
  const sql = [
    ...(parts.length === 0
      ? []
      : [`AND EXISTS (SELECT 1 FROM combination WHERE combination.id = event.combination${isChosen})`]),
    ...(outcomes === null
      ? []
      : [
          `AND (SELECT outcome FROM manner JOIN result ON result.id = manner.result WHERE manner.id = event.manner)
             IN (SELECT value FROM json_each(?))`,
        ]),
  ];
  const bindings = parts.flatMap((part) => part.bindings);
  return {
    sql: sql.join(" "),
    bindings: outcomes === null ? bindings : [...bindings, JSON.stringify(outcomes)],
  };
}

/** A condition with the same bindings over the columns of `combination` and over `dimension.value`. */
interface Part {
  readonly kind: DimensionKind;
  readonly ofCombination: string;
  readonly ofValue: string;
  readonly bindings: readonly Binding[];
}

function toParts({ filter, providers, principalId }: Omit<StatsQuery, "window">): readonly Part[] {
  const parts: Part[] = [];
  const add = (
    kind: DimensionKind,
    column: string,
    toSql: (column: string) => string,
    ...bindings: Binding[]
  ) => parts.push({ kind, ofCombination: toSql(column), ofValue: toSql("value"), bindings });
  const isEqual = (column: string) => `${column} = ?`;
  if (principalId !== null) {
    parts.push({
      kind: "principal",
      ofCombination: "principal_id = ?",
      ofValue: "value ->> 0 = ?",
      bindings: [principalId],
    });
  }
  if (filter.principal !== null) {
    parts.push({
      kind: "principal",
      ofCombination: "principal_name = ?",
      ofValue: "value ->> 1 = ?",
      bindings: [filter.principal],
    });
  }
  if (filter.keyId !== null) add("key", "key_id", isEqual, filter.keyId);
  if (filter.model !== null) add("model", "model", isEqual, filter.model);
  if (filter.clientPrefix !== null) {
    // A literal prefix: LIKE would give % and _ a meaning, and fold case.
    const isPrefixed = (column: string) => `substr(${column}, 1, length(?)) = ?`;
    add("client", "client", isPrefixed, filter.clientPrefix, filter.clientPrefix);
  }
  for (const pair of filter.tags) {
    parts.push({
      kind: "tag",
      ofCombination:
        "id IN (SELECT combination FROM combination_tag WHERE tag = (SELECT id FROM tag WHERE pair = ?))",
      ofValue: "value = ?",
      bindings: [pair],
    });
  }
  if (providers.include !== null) {
    const isIncluded = (column: string) => `${column} IN (SELECT value FROM json_each(?))`;
    add("provider", "provider_id", isIncluded, JSON.stringify(providers.include));
  }
  if (providers.exclude.length > 0) {
    const isLeft = (column: string) => `${column} NOT IN (SELECT value FROM json_each(?))`;
    add("provider", "provider_id", isLeft, JSON.stringify(providers.exclude));
  }
  return parts;
}

function saveCombinations(database: Database, parts: readonly Part[]): void {
  database.run("CREATE TEMP TABLE IF NOT EXISTS chosen_combination (id INTEGER PRIMARY KEY, shape TEXT)");
  database.run("DELETE FROM chosen_combination");
  database
    .query<unknown, Binding[]>(
      `INSERT INTO chosen_combination SELECT id, shape FROM combination
       WHERE ${parts.map(({ ofCombination }) => ofCombination).join(" AND ")}`,
    )
    .run(...parts.flatMap(({ bindings }) => bindings));
}

function saveResults(database: Database, outcomes: readonly string[]): void {
  for (const table of ["chosen_result", "chosen_manner_id"]) {
    database.run(`CREATE TEMP TABLE IF NOT EXISTS ${table} (id INTEGER PRIMARY KEY)`);
    database.run(`DELETE FROM ${table}`);
  }
  database
    .query<unknown, [string]>(
      "INSERT INTO chosen_result SELECT id FROM result WHERE outcome IN (SELECT value FROM json_each(?))",
    )
    .run(JSON.stringify(outcomes));
  database.run(
    "INSERT INTO chosen_manner_id SELECT id FROM manner WHERE result IN (SELECT id FROM chosen_result)",
  );
}

/** A combination has several tags, so that two of them are not one dimension. */
function toDimensionCondition(parts: readonly Part[]): DimensionCondition | null {
  const kind = parts[0]?.kind;
  if (kind === undefined || parts.some((part) => part.kind !== kind)) return null;
  if (kind === "tag" && parts.length > 1) return null;
  return {
    kind,
    sql: parts.map(({ ofValue }) => ofValue).join(" AND "),
    bindings: parts.flatMap(({ bindings }) => bindings),
  };
}
