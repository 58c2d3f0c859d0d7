import { UNITS, type Unit } from "#kernel/units.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import type { Model, Pricing, Provider } from "../../../api/catalog.ts";
import type { TeamUsageRow } from "../../../api/reports.ts";
import { toOwnPrices, type Prices } from "../../../catalog/price-set.ts";

/** A model with what tells where it stands among the others. */
export interface CatalogueRow {
  readonly model: Model;
  /** Kept under its own name; null while prices are not known, and then they cannot be changed. */
  readonly own: Prices | null;
  /** Names that lead to it. */
  readonly names: readonly string[];
  readonly isProviderDisabled: boolean;
  /** What requests under this name used lately. */
  readonly used: ReadonlySet<Unit>;
  /** The price that is being written in the table. */
  readonly editing: Unit | null;
}

export interface RowSources {
  readonly models: readonly Model[];
  readonly providers: readonly Provider[];
  readonly entries: Pricing["entries"] | undefined;
  /** Undefined until it is known. */
  readonly usage: readonly Pick<TeamUsageRow, "model" | "provider" | "units">[] | undefined;
}

const NO_NAMES: readonly string[] = [];
const NO_OWN: Prices = {};
const NO_UNITS: ReadonlySet<Unit> = new Set();

/** In the order of the models. */
export function toCatalogueRows({ models, providers, entries, usage }: RowSources): readonly CatalogueRow[] {
  const own = entries === undefined ? null : toOwnPrices(entries);
  const names = Map.groupBy(
    models.filter(({ target }) => target !== null),
    ({ target }) => target,
  );
  const disabled = new Set(providers.filter(({ enabled }) => !enabled).map(({ name }) => name));
  const used = toUsedUnits(usage ?? []);
  return models.map((model) => ({
    model,
    own: own === null ? null : (own.get(model.alias) ?? NO_OWN),
    names: names.get(model.alias)?.map(({ alias }) => alias) ?? NO_NAMES,
    used: used.get(model.alias) ?? NO_UNITS,
    isProviderDisabled: disabled.has(model.provider),
    editing: null,
  }));
}

function toUsedUnits(usage: NonNullable<RowSources["usage"]>): ReadonlyMap<string, ReadonlySet<Unit>> {
  const used = new Map<string, Set<Unit>>();
  for (const { model, provider, units } of usage) {
    if (provider === RELAY_PROVIDER) continue;
    const ofModel = used.get(model) ?? new Set();
    for (const unit of UNITS) if ((units[unit] ?? 0) > 0) ofModel.add(unit);
    used.set(model, ofModel);
  }
  return used;
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
