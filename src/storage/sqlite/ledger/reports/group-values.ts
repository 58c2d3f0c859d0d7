import type { Database } from "bun:sqlite";
import type { BreakdownBy } from "#stats/breakdown-query.ts";
import type { GroupBy, GroupField } from "#stats/series-grouping.ts";
import type { DimensionKind } from "#storage/sqlite/ledger/file/dimension-kinds.ts";
import { VALUE_OF_COMBINATION } from "#storage/sqlite/ledger/file/dimension-kinds.ts";
import type { ResolvedFilter } from "./request-filter.ts";

/** The value that reports show, in SQL over `combination AS c`; takes `bindings`. A provider's is its id. */
export interface ValueSql {
  readonly ofCombination: string;
  readonly bindings: readonly string[];
}

/** What a series is grouped by, in SQL over `combination AS c` and `dimension AS d`; each takes `bindings`. */
export interface GroupSql extends ValueSql {
  readonly kind: DimensionKind;
  /** The value of a row of `dimension` of this kind, in SQL. */
  readonly ofDimension: string;
  /** The dimension that a combination counts in. */
  readonly dimensionOfCombination: string;
}

const OF_COMBINATION: { readonly [field in GroupField]: string } = {
  model: "c.model",
  principal: "c.principal_name",
  provider: "c.provider_id",
  client: "c.client",
  key: "c.key_id",
};

/** An event has one value of each tag, so that the first pair with the key is the only one. */
const TAG_OF_COMBINATION =
  "(SELECT value FROM json_each(c.tags) WHERE substr(value, 1, length(?1)) = ?1 LIMIT 1)";

export function toValueSql(by: BreakdownBy): ValueSql {
  return by.field === "endpoint" ? { ofCombination: "c.endpoint", bindings: [] } : toGroupSql(by);
}

export function toGroupSql(by: GroupBy): GroupSql {
  if (by.field === "tag") {
    return {
      kind: "tag",
      ofCombination: `substr(${TAG_OF_COMBINATION}, length(?1) + 1)`,
      ofDimension: "iif(substr(d.value, 1, length(?1)) = ?1, substr(d.value, length(?1) + 1), NULL)",
      dimensionOfCombination: TAG_OF_COMBINATION,
      bindings: [`${by.tagKey}:`],
    };
  }
  return {
    kind: by.field,
    ofCombination: OF_COMBINATION[by.field],
    ofDimension: by.field === "principal" ? "d.value ->> 1" : "d.value",
    dimensionOfCombination: VALUE_OF_COMBINATION[by.field],
    bindings: [],
  };
}

/**
 * The group of each combination that a filter chooses, as `combination_group` of this connection until the next call; after
 * `resolveFilter`. Groups are numbered from 1.
 */
export function saveGroups(
  database: Database,
  { ofCombination, bindings }: ValueSql,
  { combinations }: ResolvedFilter,
): void {
  database.run(
    "CREATE TEMP TABLE IF NOT EXISTS combination_group (id INTEGER PRIMARY KEY, group_id INTEGER, value TEXT)",
  );
  database.run("DELETE FROM combination_group");
  database
    .query<unknown, string[]>(
      `INSERT INTO combination_group SELECT id, dense_rank() OVER (ORDER BY value), value
       FROM (SELECT c.id, ${ofCombination} AS value
         FROM ${combinations} AS f CROSS JOIN combination AS c ON c.id = f.id)`,
    )
    .run(...bindings);
}

/** The group of all combinations that `keepGroups` puts together. */
export const REST_GROUP = 0;

/** Puts the combinations of all other groups together. */
export function keepGroups(database: Database, kept: readonly number[]): void {
  database
    .query<unknown, [number, string]>(
      "UPDATE combination_group SET group_id = ? WHERE group_id NOT IN (SELECT value FROM json_each(?))",
    )
    .run(REST_GROUP, JSON.stringify(kept));
}

/** The value of each of these groups. */
export function findGroupValues(
  database: Database,
  groups: readonly number[],
): ReadonlyMap<number, string | null> {
  const rows = database
    .query<{ group_id: number; value: string | null }, [string]>(
      "SELECT DISTINCT group_id, value FROM combination_group WHERE group_id IN (SELECT value FROM json_each(?))",
    )
    .all(JSON.stringify(groups));
  return new Map(rows.map(({ group_id: id, value }) => [id, value]));
}
