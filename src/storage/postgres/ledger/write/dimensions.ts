import type { DimensionRow, DimensionValues } from "#storage/cells/dimension-values.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";

interface CombinationRow {
  readonly id: number;
  readonly principal_id: string;
  readonly principal_name: string;
  readonly key: string | null;
  readonly provider: string;
  readonly model: string | null;
  readonly client: string | null;
  readonly tags: string;
}

/** Every value that has totals, and the values of these combinations. Other replicas add to them, so that none is kept in memory. */
export async function loadDimensions(
  sql: Sql,
  values: DimensionValues,
  combinations: readonly number[],
): Promise<void> {
  for (const row of await sql.all<DimensionRow>("SELECT id, kind, value, first_day FROM dimension"))
    values.know(row);
  const rows = await sql.all<CombinationRow>(
    `SELECT id, principal_id, principal_name, key_id AS key, provider_id AS provider, model, client, tags
     FROM combination WHERE id IN (SELECT * FROM unnest($1::integer[]))`,
    [[...new Set(combinations)]],
  );
  for (const row of rows)
    values.learn({ ...row, principal: JSON.stringify([row.principal_id, row.principal_name]) });
}
