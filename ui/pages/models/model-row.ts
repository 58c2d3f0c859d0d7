import { REPORT_UNITS, type Unit } from "#kernel/units.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import type { Model, Pricing, Provider } from "../../api/catalog.ts";
import type { TeamUsageRow } from "../../api/reports.ts";
import type { ListedModel } from "../../api/models.ts";
import { toOwnPrices, type Prices } from "../../catalog/price-set.ts";
import type { ModelsSearch } from "../../search/pages.ts";

/** A model as every caller may see it. */
export interface PublicModel extends Pick<
  Model,
  | "alias"
  | "target"
  | "provider"
  | "capabilities"
  | "hidden"
  | "pricing"
  | "price_variants"
  | "pricing_inherited"
> {
  /** Known to administrators. */
  readonly upstream_name?: string;
}

/** A model of the list, beside what tells where it stands among the others. */
export interface ModelRow<Shown extends PublicModel = PublicModel> {
  readonly model: Shown;
  /** Names that lead to it. */
  readonly names: readonly string[];
}

/** A model with what an administrator changes. */
export interface EditableRow extends ModelRow<Model> {
  /** Prices kept under its own name; null while prices are not known, and then they cannot be changed. */
  readonly own: Prices | null;
  /** The variants kept under its own name. */
  readonly ownVariants: NonNullable<Model["price_variants"]>;
  readonly isProviderDisabled: boolean;
  /** Units that requests under this name used lately. */
  readonly used: ReadonlySet<Unit>;
}

export interface RowSources {
  readonly models: readonly Model[];
  readonly providers: readonly Provider[];
  readonly pricing: Pick<Pricing, "entries" | "variants"> | undefined;
  /** Undefined until it is known. */
  readonly usage: readonly Pick<TeamUsageRow, "model" | "provider" | "units">[] | undefined;
}

const NO_OWN: Prices = {};
const NO_UNITS: ReadonlySet<Unit> = new Set();

/** In the order of the models. */
export function toEditableRows({ models, providers, pricing, usage }: RowSources): readonly EditableRow[] {
  const own = pricing === undefined ? null : toOwnPrices(pricing.entries);
  const variants = Map.groupBy(pricing?.variants ?? [], ({ model }) => model);
  const disabled = new Set(providers.filter(({ enabled }) => !enabled).map(({ name }) => name));
  const used = toUsedUnits(usage ?? []);
  return withNames(models).map(({ model, names }) => ({
    model,
    names,
    own: own === null ? null : (own.get(model.alias) ?? NO_OWN),
    ownVariants: variants.get(model.alias) ?? [],
    used: used.get(model.alias) ?? NO_UNITS,
    isProviderDisabled: disabled.has(model.provider),
  }));
}

/** In the order of the models. */
export function toListedRows(models: readonly ListedModel[]): readonly ModelRow[] {
  return withNames(
    models.map((model) => ({
      alias: model.id,
      target: model.alias_of,
      provider: model.owned_by,
      capabilities: model.capabilities,
      hidden: model.hidden,
      pricing: model.pricing ?? {},
      ...(model.price_variants !== undefined && { price_variants: model.price_variants }),
      pricing_inherited: model.pricing_inherited === true,
    })),
  );
}

function withNames<Shown extends PublicModel>(models: readonly Shown[]): readonly ModelRow<Shown>[] {
  const named = models.filter(({ target }) => target !== null);
  const names = Map.groupBy(named, ({ target }) => target);
  return models.map((model) => ({
    model,
    names: names.get(model.alias)?.map(({ alias }) => alias) ?? [],
  }));
}

function toUsedUnits(usage: NonNullable<RowSources["usage"]>): ReadonlyMap<string, ReadonlySet<Unit>> {
  const used = new Map<string, Set<Unit>>();
  for (const { model, provider, units } of usage) {
    if (provider === RELAY_PROVIDER) continue;
    const ofModel = used.get(model) ?? new Set();
    for (const unit of REPORT_UNITS) if ((units[unit] ?? 0) > 0) ofModel.add(unit);
    used.set(model, ofModel);
  }
  return used;
}

export type RowFilter = Pick<ModelsSearch, "q" | "provider" | "capability">;

/** Matches the provider, the capability, and a text in any of its names: alias, target, provider, upstream. */
export function matchesRow({ model }: ModelRow, { q = "", provider, capability }: RowFilter): boolean {
  if (provider !== undefined && model.provider !== provider) return false;
  if (capability !== undefined && !model.capabilities.includes(capability)) return false;
  const text = [model.alias, model.target ?? "", model.provider, model.upstream_name ?? ""].join("\n");
  return text.toLowerCase().includes(q.trim().toLowerCase());
}
