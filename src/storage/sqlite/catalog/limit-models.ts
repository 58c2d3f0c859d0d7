import { eq, ne } from "drizzle-orm";
import type { ModelRow } from "#storage/catalog/catalog-rows.ts";
import { followModelName, toModelTarget } from "#storage/catalog/limit-rows.ts";
import type { Orm } from "./connection.ts";
import { limits } from "./limit-schema.ts";
import { models } from "./schema.ts";

/** Keeps limits with a model that is written, also under another alias. Within the transaction that writes the model, before it does. */
export function followModel(orm: Orm, row: ModelRow): void {
  const before = orm.select({ alias: models.alias }).from(models).where(eq(models.id, row.id)).get()?.alias;
  const all = orm.select().from(limits);
  // Under the alias that it had it concerns limits that remember names.
  const concerned = before === row.alias ? all.where(ne(limits.formerModels, "[]")) : all;
  const findRow = (id: string) => orm.select().from(models).where(eq(models.id, id)).get();
  const findTarget = (alias: string) => {
    const found = orm.select().from(models).where(eq(models.alias, alias)).get();
    return found === undefined ? null : toModelTarget(found, findRow);
  };
  const followed = { before, alias: row.alias, target: () => toModelTarget(row, findRow) };
  for (const limit of concerned.all()) {
    const columns = followModelName(limit, followed, findTarget);
    if (columns !== null) orm.update(limits).set(columns).where(eq(limits.id, limit.id)).run();
  }
}
