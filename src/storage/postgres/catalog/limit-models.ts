import type { ModelRow } from "#storage/catalog/catalog-rows.ts";
import { followModelName, type LimitRow, toModelTarget } from "#storage/catalog/limit-rows.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";

type FollowingLimit = Pick<LimitRow, "id" | "model" | "formerModels">;

const READ_LIMITS = `SELECT id, model, former_models AS "formerModels" FROM limits
  WHERE model IS NOT NULL OR former_models <> '[]'`;
const WRITE_LIMITS = `UPDATE limits SET model = followed.model, former_models = followed."formerModels"
  FROM json_to_recordset($1::text::json) AS followed (id text, model text, "formerModels" text)
  WHERE limits.id = followed.id`;

const READ_REMEMBERING = `SELECT id, model, former_models AS "formerModels" FROM limits WHERE former_models <> '[]'`;
const READ_MODELS = `SELECT id, alias, provider_id AS "providerId", upstream_name AS "upstreamName", target_id AS "targetId"
  FROM models`;

type RoutedRow = Pick<ModelRow, "id" | "alias" | "providerId" | "upstreamName" | "targetId">;

/**
 * Keeps limits with models that are written, also under another alias. Within the transaction that writes the models, before
 * it does. Returns whether a limit has changed.
 */
export async function followModels(sql: Sql, written: readonly RoutedRow[]): Promise<boolean> {
  const rows = await sql.all<{ id: string; alias: string }>(
    "SELECT id, alias FROM models WHERE id = ANY($1::text[])",
    [written.map(({ id }) => id)],
  );
  const aliases = new Map(rows.map(({ id, alias }) => [id, alias]));
  const isAnyRenamed = written.some(({ id, alias }) => aliases.get(id) !== alias);
  // Under the aliases that they had they concern limits that remember names.
  const limits = await sql.all<FollowingLimit>(isAnyRenamed ? READ_LIMITS : READ_REMEMBERING);
  if (limits.length === 0) return false;
  const models = new Map((await sql.all<RoutedRow>(READ_MODELS)).map((row) => [row.id, row]));
  const toTarget = (row: RoutedRow) => toModelTarget(row, (id) => models.get(id));
  const findTarget = (alias: string) => {
    const found = [...models.values()].find((row) => row.alias === alias);
    return found === undefined ? null : toTarget(found);
  };
  const followed = new Map<string, FollowingLimit>(limits.map((limit) => [limit.id, limit]));
  // In the order in which they are written: a later one may take the name that an earlier one has left.
  for (const row of written) {
    const model = { before: aliases.get(row.id), alias: row.alias, target: () => toTarget(row) };
    for (const limit of followed.values()) {
      const columns = followModelName(limit, model, findTarget);
      if (columns !== null) followed.set(limit.id, { ...limit, ...columns });
    }
    models.set(row.id, row);
  }
  const changed = limits.flatMap((limit) => {
    const after = followed.get(limit.id);
    return after === undefined || after === limit ? [] : [after];
  });
  if (changed.length === 0) return false;
  await sql.run(WRITE_LIMITS, [JSON.stringify(changed)]);
  return true;
}
