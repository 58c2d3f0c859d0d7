import type { Dialect } from "#storage/sql/dialect.ts";
import { type Binding, dialectOf, empty, type Script, run } from "#storage/sql/script.ts";
import type { RowFilter } from "#stats/row-filter.ts";
import type { StatsQuery } from "#stats/store.ts";
import type { DimensionKind } from "./dimension-kinds.ts";
import { type Condition, saveResults, toResultCondition } from "./ending-filter.ts";

/** What a filter comes down to in the ledger. */
export interface ResolvedFilter {
  /** SQL conditions over columns `combination` and `result`, each beginning with AND; empty when everything matches. */
  readonly condition: string;
  /** SQL conditions over the columns of `event`, in the same form. */
  readonly eventCondition: string;
  /** The part of `condition` on the result alone. */
  readonly resultCondition: string;
  /** What only single rows tell, for `toEventJoins`; null when totals can tell what matches. */
  readonly rows: RowFilter | null;
  /** The table of the combinations that match, with `id` and `shape`. */
  readonly combinations: "combination" | "chosen_combination";
  /** True when nothing but the outcome of a result is restricted: what cells and the totals of values tell apart. */
  readonly isByOutcome: boolean;
  /** True when only the outcome is restricted, so that the hour totals can tell. */
  readonly isByOutcomeOnly: boolean;
  /** Tells all where `isByOutcome`. */
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

/**
 * Resolves a filter on the combinations, of which there are thousands where there are millions of events. The ids stand in
 * temporary tables of this connection until the next call.
 */
export function* resolveFilter(query: Omit<StatsQuery, "window">): Script<ResolvedFilter> {
  const { outcomes, errorKinds, statuses, rows } = query.filter;
  const dialect = yield* dialectOf();
  const parts = toParts(dialect, query);
  const results = toResultCondition(dialect, query.filter);
  const chosen = parts.length > 0 ? yield* saveCombinations(parts) : 0;
  if (results !== null) yield* saveResults(results);
  const resultCondition = results === null ? "" : "AND result IN (SELECT id FROM chosen_result)";
  const mannerCondition = results === null ? "" : "AND manner IN (SELECT id FROM chosen_manner_id)";
  const isByOutcome = errorKinds === null && statuses === null && rows === null;
  if (parts.length === 0) {
    return {
      condition: resultCondition,
      eventCondition: mannerCondition,
      resultCondition,
      rows,
      combinations: "combination",
      isByOutcome,
      isByOutcomeOnly: isByOutcome,
      outcomes,
      dimension: null,
    };
  }
  const isChosen = `AND combination IN (SELECT id FROM ${dialect.toSized("chosen_combination", chosen)} AS chosen)`;
  return {
    condition: `${isChosen} ${resultCondition}`,
    eventCondition: `${mannerCondition} ${isChosen}`,
    resultCondition,
    rows,
    combinations: "chosen_combination",
    isByOutcome,
    isByOutcomeOnly: false,
    outcomes,
    dimension: isByOutcome ? toDimensionCondition(parts) : null,
  };
}

/**
 * The filter for some rows of `event AS e` that are read by their ids, in the form of `eventCondition`: the combinations, of which
 * there may be millions, are not gone through. `filter.rows` is no part of it.
 */
export function toConditionOfFew(dialect: Dialect, query: Omit<StatsQuery, "window">): Condition {
  const parts = toParts(dialect, query);
  const isChosen = parts.map(({ ofCombination }) => ` AND ${ofCombination}`).join("");
  const results = toResultCondition(dialect, query.filter);
  const sql = [
    parts.length === 0
      ? ""
      : `AND EXISTS (SELECT 1 FROM combination WHERE combination.id = e.combination${isChosen})`,
    results === null
      ? ""
      : `AND manner IN (SELECT manner.id FROM manner JOIN result ON result.id = manner.result WHERE ${results.sql})`,
  ];
  const bindings = parts.flatMap((part) => part.bindings);
  return { sql: sql.join(" "), bindings: [...bindings, ...(results?.bindings ?? [])] };
}

/** A condition with the same bindings over the columns of `combination` and over `dimension.value`. */
interface Part {
  readonly kind: DimensionKind;
  readonly ofCombination: string;
  readonly ofValue: string;
  readonly bindings: readonly Binding[];
}

function toParts(
  { isAnyOf, toMember }: Dialect,
  { filter, providers, principalId }: Omit<StatsQuery, "window">,
): readonly Part[] {
  const parts: Part[] = [];
  const add = (
    kind: DimensionKind,
    column: string,
    toSql: (column: string) => string,
    ...bindings: Binding[]
  ) => parts.push({ kind, ofCombination: toSql(column), ofValue: toSql("value"), bindings });
  const isIn = (column: string) => isAnyOf(column, "text");
  if (principalId !== null) {
    parts.push({
      kind: "principal",
      ofCombination: "principal_id = ?",
      ofValue: `${toMember("value", 0)} = ?`,
      bindings: [principalId],
    });
  }
  if (filter.principals !== null) {
    parts.push({
      kind: "principal",
      ofCombination: isIn("principal_name"),
      ofValue: isIn(toMember("value", 1)),
      bindings: [filter.principals],
    });
  }
  if (filter.keyIds !== null) add("key", "key_id", isIn, filter.keyIds);
  if (filter.models !== null) add("model", "model", isIn, filter.models);
  const prefixes = filter.clientPrefixes;
  if (prefixes !== null) {
    // A literal prefix: LIKE would give % and _ a meaning, and fold case.
    const isPrefixed = (column: string) =>
      `(${prefixes.map(() => `substr(${column}, 1, length(?)) = ?`).join(" OR ")})`;
    add("client", "client", isPrefixed, ...prefixes.flatMap((prefix) => [prefix, prefix]));
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
    add("provider", "provider_id", isIn, providers.include);
  }
  if (providers.exclude.length > 0) {
    const isLeft = (column: string) => `NOT ${isIn(column)}`;
    add("provider", "provider_id", isLeft, providers.exclude);
  }
  return parts;
}

function* saveCombinations(parts: readonly Part[]): Script<number> {
  yield* empty("chosen_combination");
  return yield* run(
    `INSERT INTO chosen_combination SELECT id, shape FROM combination
       WHERE ${parts.map(({ ofCombination }) => ofCombination).join(" AND ")}`,
    parts.flatMap(({ bindings }) => bindings),
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
