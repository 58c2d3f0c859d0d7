import type { CatalogWrite } from "#catalog/store.ts";
import type { NamedTarget } from "#limits/limit.ts";
import { dialectOf, run, type Script } from "#storage/sql/script.ts";
import { select } from "#storage/sql/rows.ts";
import { toModelRow } from "./catalog-rows.ts";
import { changed } from "./change.ts";
import { FORMER_MODELS, type FormerModels } from "./codecs.ts";
import { NO_FORMER_MODELS } from "./limit-rows.ts";
import type { RoutedModel, StoreMemory } from "./memory.ts";
import { limits } from "./tables.ts";

/** Names that a limit remembers of its model; the oldest is forgotten first. */
const FORMER_MODELS_MAX = 20;

interface NamingLimit {
  readonly id: string;
  readonly model: string | null;
  readonly formerModels: FormerModels;
}

type ModelsById = ReadonlyMap<string, RoutedModel>;

/**
 * Keeps limits with models that a change writes, also under another alias. Within the change, where memory is as the lock has
 * found the catalog.
 */
export function* followModels(
  writes: readonly CatalogWrite[],
  memory: Pick<StoreMemory, "catalog" | "unseen">,
): Script<void> {
  if (!writes.some(({ kind }) => kind === "put_model")) return;
  const found = yield* select(limits, "WHERE model IS NOT NULL");
  if (found.length === 0) return;
  const known = [...memory.catalog().models.map(({ model }) => toModelRow(model)), ...memory.unseen().models];
  const models = new Map<string, RoutedModel>(known.map((row) => [row.id, row]));
  const naming = found.map(({ id, model, formerModels = NO_FORMER_MODELS }) => ({ id, model, formerModels }));
  const followed = new Map<string, NamingLimit>(naming.map((limit) => [limit.id, limit]));
  // In the order in which they are written: a later one may take the name that an earlier one has left.
  for (const write of writes) {
    if (write.kind === "delete_model") models.delete(write.id);
    if (write.kind !== "put_model") continue;
    const row = toModelRow(write.model);
    const before = models.get(row.id)?.alias;
    for (const limit of followed.values()) {
      const after = followModel(limit, { before, row }, models);
      if (after !== null) followed.set(limit.id, after);
    }
    models.set(row.id, row);
  }
  const unchanged = new Set<NamingLimit>(naming);
  yield* writeLimits([...followed.values()].filter((limit) => !unchanged.has(limit)));
}

function* writeLimits(renamed: readonly NamingLimit[]): Script<void> {
  const { toList, toMember } = yield* dialectOf();
  const [id, model, formerModels] = [0, 1, 2].map((at) => toMember("list.value", at));
  yield* run(
    `UPDATE limits SET model = ${model}, former_models = ${formerModels} FROM ${toList("text")} WHERE limits.id = ${id}`,
    [
      renamed.map((limit) =>
        JSON.stringify([limit.id, limit.model, FORMER_MODELS.write(limit.formerModels)]),
      ),
    ],
  );
  for (const limit of renamed) yield* changed("limit", limit.id);
}

/**
 * A limit once a model is written, which was called `before` (undefined: it is new): usage under its model's former names
 * goes on counting. Where another model takes one of them, what goes to the other's target does not; one that goes where the
 * limit's own model goes is the same model under its former name. Null when nothing changes.
 */
function followModel(
  limit: NamingLimit,
  { before, row }: { readonly before: string | undefined; readonly row: RoutedModel },
  models: ModelsById,
): NamingLimit | null {
  const { alias } = row;
  const isRenamed = before !== undefined && before !== alias && limit.model === before;
  const { names, targets } = limit.formerModels;
  if (isRenamed) {
    const kept = [...names, before].filter((name) => name !== alias).slice(-FORMER_MODELS_MAX);
    return { ...limit, model: alias, formerModels: toFormerModels(kept, targets) };
  }
  if (!names.includes(alias) || limit.model === null) return null;
  const target = toTarget(row, models);
  const own = [...models.values()].find((model) => model.alias === limit.model);
  if (target === null || isSameTarget(target, own === undefined ? null : toTarget(own, models))) return null;
  if (targets.some((other) => other.name === alias && isSameTarget(target, other))) return null;
  return { ...limit, formerModels: toFormerModels(names, [...targets, { name: alias, ...target }]) };
}

type ModelTarget = Omit<NamedTarget, "name">;

/** Null: it goes nowhere. */
function toTarget(row: RoutedModel, models: ModelsById): ModelTarget | null {
  const bound = row.targetId === null ? row : models.get(row.targetId);
  if (bound === undefined || bound.providerId === null || bound.upstreamName === null) return null;
  return { providerId: bound.providerId, upstreamName: bound.upstreamName };
}

function isSameTarget(one: ModelTarget, other: ModelTarget | null): boolean {
  return one.providerId === other?.providerId && one.upstreamName === other.upstreamName;
}

/** Without targets of names that are forgotten. */
function toFormerModels(names: readonly string[], targets: readonly NamedTarget[]): FormerModels {
  return { names, targets: targets.filter(({ name }) => names.includes(name)).slice(-FORMER_MODELS_MAX) };
}
