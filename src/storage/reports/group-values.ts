import { all, dialectOf, empty, type Script, run } from "#storage/sql/script.ts";
import type { BreakdownBy } from "#stats/breakdown-query.ts";
import type { GroupBy, GroupField } from "#stats/series-grouping.ts";
import type { DimensionKind } from "./dimension-kinds.ts";
import type { Dialect } from "#storage/sql/dialect.ts";
import { toValueOfCombination } from "./dimension-kinds.ts";
import type { ResolvedFilter } from "./request-filter.ts";

/** The value that reports show, in SQL over `combination AS c`; takes `bindings`. A provider's is its id. */
export interface ValueSql {
  /** What the value is found in, behind `combination AS c`. */
  readonly join: string;
  readonly ofCombination: string;
  readonly bindings: readonly string[];
}

/** What a series is grouped by, in SQL over `combination AS c` and `dimension AS d`; each takes `bindings`. */
export interface GroupSql extends ValueSql {
  readonly kind: DimensionKind;
  /** The value of a row of `dimension` of this kind, in SQL. */
  readonly ofDimension: string;
  /** The dimension that a combination counts in, also over `combination_group AS g`. */
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
const JOIN_TAG = `LEFT JOIN (SELECT l.combination, min(substr(t.pair, length(?1) + 1)) AS value
    FROM tag AS t CROSS JOIN combination_tag AS l ON l.tag = t.id WHERE substr(t.pair, 1, length(?1)) = ?1
    GROUP BY l.combination) AS tagged ON tagged.combination = c.id`;

export function toValueSql(dialect: Dialect, by: BreakdownBy): ValueSql {
  return by.field === "endpoint"
    ? { join: "", ofCombination: "c.endpoint", bindings: [] }
    : toGroupSql(dialect, by);
}

export function toGroupSql(dialect: Dialect, by: GroupBy): GroupSql {
  if (by.field === "tag") {
    return {
      kind: "tag",
      join: JOIN_TAG,
      ofCombination: "tagged.value",
      ofDimension: "CASE WHEN substr(d.value, 1, length(?1)) = ?1 THEN substr(d.value, length(?1) + 1) END",
      dimensionOfCombination: "?1 || g.value",
      bindings: [`${by.tagKey}:`],
    };
  }
  return {
    kind: by.field,
    join: "",
    ofCombination: OF_COMBINATION[by.field],
    ofDimension: by.field === "principal" ? dialect.toMember("d.value", 1) : "d.value",
    dimensionOfCombination: toValueOfCombination(dialect)[by.field],
    bindings: [],
  };
}

/**
 * The group of each combination that a filter chooses, as `combination_group` of this connection until the next call; after
 * `resolveFilter`. Groups are numbered from 1.
 */
export function* saveGroups(
  { join, ofCombination, bindings }: ValueSql,
  { combinations }: ResolvedFilter,
): Script<void> {
  yield* empty("combination_group");
  yield* run(
    `INSERT INTO combination_group SELECT id, dense_rank() OVER (ORDER BY value), value
       FROM (SELECT c.id, ${ofCombination} AS value
         FROM ${combinations} AS f CROSS JOIN combination AS c ON c.id = f.id ${join}) AS s`,
    bindings,
  );
}

/** The group of all combinations that `keepGroups` puts together. */
export const REST_GROUP = 0;

/** Puts the combinations of all other groups together. */
export function* keepGroups(kept: readonly number[]): Script<void> {
  const { isAnyOf } = yield* dialectOf();
  yield* run(`UPDATE combination_group SET group_id = ? WHERE NOT ${isAnyOf("group_id", "number")}`, [
    REST_GROUP,
    kept,
  ]);
}

/** The value of each of these groups. */
export function* findGroupValues(groups: readonly number[]): Script<ReadonlyMap<number, string | null>> {
  const { isAnyOf } = yield* dialectOf();
  const rows = yield* all<{ group_id: number; value: string | null }>(
    `SELECT DISTINCT group_id, value FROM combination_group WHERE ${isAnyOf("group_id", "number")}`,
    [groups],
  );
  return new Map(rows.map(({ group_id: id, value }) => [id, value]));
}
