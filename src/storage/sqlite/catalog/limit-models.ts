import { eq } from "drizzle-orm";
import { followModelName } from "#storage/catalog/limit-rows.ts";
import type { Orm } from "./connection.ts";
import { limits } from "./limit-schema.ts";
import { models } from "./schema.ts";

/** Keeps limits with a model that is written under another alias. Within the transaction that writes the model, before it does. */
export function followModel(orm: Orm, { id, alias }: { readonly id: string; readonly alias: string }): void {
  const before = orm.select({ alias: models.alias }).from(models).where(eq(models.id, id)).get()?.alias;
  if (before === alias) return;
  for (const limit of orm.select().from(limits).all()) {
    const followed = followModelName(limit, { before, alias });
    if (followed !== null) orm.update(limits).set(followed).where(eq(limits.id, limit.id)).run();
  }
}
