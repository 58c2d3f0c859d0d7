import type { Unit } from "#kernel/units.ts";
import type { Model, Pricing, Provider } from "../../../api/catalog.ts";
import { toOwnPrices, type Prices } from "../../../catalog/price-set.ts";

/** A model with what tells where it stands among the others. */
export interface CatalogueRow {
  readonly model: Model;
  /** Kept under its own name; null while prices are not known, and then they cannot be changed. */
  readonly own: Prices | null;
  /** Names that lead to it. */
  readonly names: readonly string[];
  readonly isProviderDisabled: boolean;
  /** The price that is being written in the table. */
  readonly editing: Unit | null;
}

export interface RowSources {
  readonly models: readonly Model[];
  readonly providers: readonly Provider[];
  readonly entries: Pricing["entries"] | undefined;
}

const NO_NAMES: readonly string[] = [];
const NO_OWN: Prices = {};

/** In the order of the models. */
export function toCatalogueRows({ models, providers, entries }: RowSources): readonly CatalogueRow[] {
  const own = entries === undefined ? null : toOwnPrices(entries);
  const names = Map.groupBy(
    models.filter(({ target }) => target !== null),
    ({ target }) => target,
  );
  const disabled = new Set(providers.filter(({ enabled }) => !enabled).map(({ name }) => name));
  return models.map((model) => ({
    model,
    own: own === null ? null : (own.get(model.alias) ?? NO_OWN),
    names: names.get(model.alias)?.map(({ alias }) => alias) ?? NO_NAMES,
    isProviderDisabled: disabled.has(model.provider),
    editing: null,
  }));
}

export interface RowFilter {
  readonly q?: string | undefined;
  readonly provider?: string | undefined;
}

/** By provider, and by any of its names: alias, target, provider and the provider's own. */
export function matchesRow({ model }: CatalogueRow, { q = "", provider }: RowFilter): boolean {
  if (provider !== undefined && model.provider !== provider) return false;
  const text = [model.alias, model.target ?? "", model.provider, model.upstream_name].join("\n");
  return text.toLowerCase().includes(q.trim().toLowerCase());
}
