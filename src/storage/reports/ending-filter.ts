import type { Dialect } from "#storage/sql/dialect.ts";
import { type Binding, empty, type Script, run } from "#storage/sql/script.ts";
import type { UsageFilter } from "#stats/filter.ts";

/** Conditions in SQL with what is bound to them. */
export interface Condition {
  readonly sql: string;
  readonly bindings: readonly Binding[];
}

/** Over the columns of `result`; null when every result matches. */
export function toResultCondition(
  dialect: Dialect,
  { outcomes, errorKinds, statuses }: Pick<UsageFilter, "outcomes" | "errorKinds" | "statuses">,
): Condition | null {
  const conditions: Condition[] = [];
  const isAnyOf = (column: string, values: readonly string[] | null) => {
    if (values === null) return;
    conditions.push({ sql: dialect.isAnyOf(column, "text"), bindings: [values] });
  };
  isAnyOf("outcome", outcomes);
  isAnyOf("error_kind", errorKinds);
  if (statuses !== null) {
    conditions.push({
      sql: `(${statuses.map(() => "status_code >= ? AND status_code < ?").join(" OR ")})`,
      bindings: statuses.flatMap(({ from, to }) => [from, to]),
    });
  }
  if (conditions.length === 0) return null;
  return {
    sql: conditions.map(({ sql }) => sql).join(" AND "),
    bindings: conditions.flatMap(({ bindings }) => bindings),
  };
}

/** As `chosen_result` and `chosen_manner_id` of this connection until the next call. */
export function* saveResults({ sql, bindings }: Condition): Script<void> {
  yield* empty("chosen_result");
  yield* empty("chosen_manner_id");
  yield* run(`INSERT INTO chosen_result SELECT id FROM result WHERE ${sql}`, bindings);
  yield* run(
    "INSERT INTO chosen_manner_id SELECT id FROM manner WHERE result IN (SELECT id FROM chosen_result)",
  );
}
