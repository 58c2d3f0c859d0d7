import { eq } from "drizzle-orm";
import type { Orm } from "./connection.ts";
import { toNames } from "./limits.ts";
import { limits } from "./limit-schema.ts";
import { models } from "./schema.ts";

/** Names that a limit remembers of its model; the oldest is forgotten first. */
const FORMER_MODELS_MAX = 20;

/**
 * Keeps limits with a model that is written under another alias: usage under the former one goes on counting, until a model
 * takes that name. Within the transaction that writes the model, before it does.
 */
export function followModelName(
  orm: Orm,
  { id, alias }: { readonly id: string; readonly alias: string },
): void {
  const before = orm.select({ alias: models.alias }).from(models).where(eq(models.id, id)).get();
  if (before?.alias === alias) return;
  for (const limit of orm.select().from(limits).all()) {
    const isRenamed = before !== undefined && limit.model === before.alias;
    const former = toNames(limit.formerModels);
    if (!isRenamed && !former.includes(alias)) continue;
    const kept = (isRenamed ? [...former, before.alias] : former).filter((name) => name !== alias);
    orm
      .update(limits)
      .set({
        model: isRenamed ? alias : limit.model,
        formerModels: JSON.stringify(kept.slice(-FORMER_MODELS_MAX)),
      })
      .where(eq(limits.id, limit.id))
      .run();
  }
}
