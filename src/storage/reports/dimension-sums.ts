import { type Binding, dialectOf, empty, fill, one, type Script, run } from "#storage/sql/script.ts";
import { toValueOfCombination } from "./dimension-kinds.ts";
import type { GroupSql } from "./group-values.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import type { Span } from "./window-cut.ts";

/** Rows `t` of totals by day, with the measures of `hour_total`: the FROM of a SELECT. */
export interface SealedSource {
  readonly from: string;
  readonly bindings: readonly Binding[];
  /** The column of the day to group by. */
  readonly day: string;
  /** The column of the outcome. */
  readonly outcome: string;
  /** The column of the group; a constant where there are none. */
  readonly group: string;
}

/**
 * True when a filter is by one dimension (and outcome), and any of the values that it asks for has totals: what
 * `toSealedSources` then adds up. After `resolveFilter`: it makes temporary tables.
 */
export function* findDimensions({ dimension }: ResolvedFilter): Script<boolean> {
  if (dimension === null) return false;
  yield* empty("chosen_dimension");
  const changes = yield* run(
    `INSERT INTO chosen_dimension SELECT id, first_day, 0 FROM dimension WHERE kind = ? AND ${dimension.sql}`,
    [dimension.kind, ...dimension.bindings],
  );
  return changes > 0;
}

/**
 * Where sealed days are added up for a filter with `findDimensions`: in the totals of its values, and, for what has none or
 * had none yet on a day, in those of its combinations, which are few then. The two do not overlap.
 */
export function* toSealedSources(filter: ResolvedFilter, span: Span): Script<readonly SealedSource[]> {
  const rest = yield* saveRest(filter, span);
  return yield* listSources(filter, span, rest);
}

/**
 * Where sealed days are added up by group, for a filter by outcome only and after `saveGroups`: every value of the groups'
 * kind is chosen, and the rest are the combinations whose value has no totals of its own, or that have none.
 */
export function* toGroupedSources(
  { kind, ofDimension, dimensionOfCombination, bindings }: GroupSql,
  {
    filter,
    span,
    isValuedOnly,
  }: { readonly filter: ResolvedFilter; readonly span: Span; readonly isValuedOnly: boolean },
): Script<readonly SealedSource[]> {
  yield* empty("chosen_dimension");
  yield* run(
    `INSERT INTO chosen_dimension SELECT d.id, d.first_day, v.group_id
       FROM dimension AS d CROSS JOIN (SELECT DISTINCT group_id, value FROM combination_group) AS v
         ON v.value = ${ofDimension}
       WHERE d.kind = '${kind}'`,
    bindings,
  );
  yield* empty("chosen_rest");
  const rest = yield* run(
    `INSERT INTO chosen_rest SELECT c.id, coalesce(v.first_day, ${NEVER}), g.group_id
       FROM combination_group AS g CROSS JOIN combination AS c ON c.id = g.id
       LEFT JOIN dimension AS v ON v.kind = '${kind}' AND v.value = ${dimensionOfCombination}
       WHERE (v.first_day IS NULL OR v.first_day > ${span.first}) ${isValuedOnly ? "AND g.value IS NOT NULL" : ""}`,
    bindings,
  );
  return yield* listSources(filter, span, rest);
}

/** `rest` is how many rows `chosen_rest` has. */
function* listSources(filter: ResolvedFilter, span: Span, rest: number): Script<readonly SealedSource[]> {
  const { toSized } = yield* dialectOf();
  return [
    yield* toDimensionSource(filter, span),
    {
      from: `${toSized("chosen_rest", rest)} AS c CROSS JOIN sealed_day_total AS t
           ON t.combination = c.id AND t.day >= ? AND t.day < CASE WHEN c.end_day < ? THEN c.end_day ELSE ? END
         CROSS JOIN result AS r ON r.id = t.result ${filter.resultCondition}`,
      bindings: [span.first, span.end, span.end],
      day: "t.day",
      outcome: "r.outcome",
      group: "c.group_id",
    },
  ];
}

/** The totals of `chosen_dimension`, each from its first day on. */
function* toDimensionSource({ outcomes }: ResolvedFilter, { first, end }: Span): Script<SealedSource> {
  const { isAnyOf, toSized, areDimensionsIndexed } = yield* dialectOf();
  const isChosen = outcomes === null ? "" : `AND ${isAnyOf("t.outcome", "text")}`;
  const bindings = outcomes === null ? [] : [outcomes];
  const columns = { outcome: "t.outcome", group: "v.group_id" };
  if (areDimensionsIndexed) {
    const row = yield* one<{ count: number }>("SELECT count(*) AS count FROM chosen_dimension");
    const from = `${toSized("chosen_dimension", row?.count ?? 0)} AS v CROSS JOIN dimension_total AS t
      ON t.dimension = v.id AND t.day >= v.first_day AND t.day >= ? AND t.day < ? ${isChosen}`;
    return { from, bindings: [first, end, ...bindings], day: "t.day", ...columns };
  }
  // Read day by day: the table begins with the day, so that a new day is added at its end.
  const days = Array.from({ length: end - first }, (_, index) => [first + index]);
  yield* fill("chosen_day", days);
  const from = `chosen_day AS d CROSS JOIN chosen_dimension AS v ON v.first_day <= d.day
    CROSS JOIN dimension_total AS t ON t.day = d.day AND t.dimension = v.id ${isChosen}`;
  return { from, bindings, day: "d.day", ...columns };
}

/** A day after every other. */
const NEVER = Number.MAX_SAFE_INTEGER;

/** The combinations whose value has no totals of the days before `end_day`. */
function* saveRest({ dimension }: ResolvedFilter, { first }: Span): Script<number> {
  yield* empty("chosen_rest");
  if (dimension === null) return 0;
  if (dimension.kind === "tag") {
    // One tag is one value, of all of them.
    return yield* run(
      `INSERT INTO chosen_rest SELECT c.id, v.first_day, 0
         FROM chosen_dimension AS v CROSS JOIN chosen_combination AS c ON true WHERE v.first_day > ?`,
      [first],
    );
  }
  const values = toValueOfCombination(yield* dialectOf());
  return yield* run(
    `INSERT INTO chosen_rest SELECT c.id, coalesce(v.first_day, ${NEVER}), 0
       FROM chosen_combination AS c CROSS JOIN combination AS f ON f.id = c.id
       LEFT JOIN dimension AS v ON v.kind = ? AND v.value = ${values[dimension.kind]}
       WHERE v.first_day IS NULL OR v.first_day > ?`,
    [dimension.kind, first],
  );
}
