import type { Database } from "bun:sqlite";
import type { UsageFilter } from "#stats/filter.ts";

export type Binding = string | number;

/** Conditions in SQL with what is bound to them. */
export interface Condition {
  readonly sql: string;
  readonly bindings: readonly Binding[];
}

/** Over the columns of `result`; null when every result matches. */
export function toResultCondition({
  outcomes,
  errorKinds,
  statuses,
}: Pick<UsageFilter, "outcomes" | "errorKinds" | "statuses">): Condition | null {
  const conditions: Condition[] = [];
  const isAnyOf = (column: string, values: readonly string[] | null) => {
    if (values === null) return;
    conditions.push({
      sql: `${column} IN (SELECT value FROM json_each(?))`,
      bindings: [JSON.stringify(values)],
    });
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
export function saveResults(database: Database, { sql, bindings }: Condition): void {
  for (const table of ["chosen_result", "chosen_manner_id"]) {
    database.run(`CREATE TEMP TABLE IF NOT EXISTS ${table} (id INTEGER PRIMARY KEY)`);
    database.run(`DELETE FROM ${table}`);
  }
  database
    .query<unknown, Binding[]>(`INSERT INTO chosen_result SELECT id FROM result WHERE ${sql}`)
    .run(...bindings);
  database.run(
    "INSERT INTO chosen_manner_id SELECT id FROM manner WHERE result IN (SELECT id FROM chosen_result)",
  );
}
