import type { ModelRow } from "#storage/catalog/catalog-rows.ts";
import { followModelName, type LimitRow } from "#storage/catalog/limit-rows.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";

type FollowingLimit = Pick<LimitRow, "id" | "model" | "formerModels">;

const READ_LIMITS = `SELECT id, model, former_models AS "formerModels" FROM limits
  WHERE model IS NOT NULL OR former_models <> '[]'`;
const WRITE_LIMITS = `UPDATE limits SET model = followed.model, former_models = followed."formerModels"
  FROM json_to_recordset($1::text::json) AS followed (id text, model text, "formerModels" text)
  WHERE limits.id = followed.id`;

/**
 * Keeps limits with models that are written under another alias. Within the transaction that writes the models, before it
 * does. Returns whether a limit has changed.
 */
export async function followModels(
  sql: Sql,
  written: readonly Pick<ModelRow, "id" | "alias">[],
): Promise<boolean> {
  const rows = await sql.all<{ id: string; alias: string }>(
    "SELECT id, alias FROM models WHERE id = ANY($1::text[])",
    [written.map(({ id }) => id)],
  );
  const aliases = new Map(rows.map(({ id, alias }) => [id, alias]));
  const renamed = written
    .map(({ id, alias }) => ({ before: aliases.get(id), alias }))
    .filter(({ before, alias }) => before !== alias);
  if (renamed.length === 0) return false;
  const limits = await sql.all<FollowingLimit>(READ_LIMITS);
  const followed = limits.flatMap((limit) => {
    const after = followAll(limit, renamed);
    const isSame = after.model === limit.model && after.formerModels === limit.formerModels;
    return isSame ? [] : [{ id: limit.id, ...after }];
  });
  if (followed.length === 0) return false;
  await sql.run(WRITE_LIMITS, [JSON.stringify(followed)]);
  return true;
}

/** In the order in which the models are written: a later one may take the name that an earlier one has left. */
function followAll(
  limit: FollowingLimit,
  renamed: readonly Parameters<typeof followModelName>[1][],
): Pick<FollowingLimit, "model" | "formerModels"> {
  let { model, formerModels } = limit;
  for (const names of renamed)
    ({ model, formerModels } = followModelName({ model, formerModels }, names) ?? { model, formerModels });
  return { model, formerModels };
}
