import { compareCodeUnits } from "#kernel/text.ts";
import { type PriceSet, type Unit, UNITS } from "#kernel/units.ts";
import type { ModelPrices } from "#kernel/price-variants.ts";
import type { KeptSchedule } from "./scheduled-prices.ts";
import type { Capability } from "./capability.ts";
import { type Model, isInScope, type ModelScope } from "./model.ts";
import {
  type PriceBook,
  createPriceBook,
  type LoadedFeed,
  type PriceRow,
  type VariantRow,
} from "./pricing.ts";
import type { Provider } from "./provider.ts";

/** The rows of a catalog, as a store reads them in one transaction. */
interface CatalogRows {
  readonly providers: readonly Provider[];
  readonly models: readonly Model[];
  /** Or the book of an earlier snapshot, when no price has changed since. */
  readonly prices: readonly PriceRow[] | PriceBook;
  /** Absent where `prices` is a book, which has them. */
  readonly variants?: readonly VariantRow[];
  /** Absent or null: no feed was ever loaded. */
  readonly feed?: LoadedFeed | null;
  /** Absent: none. */
  readonly schedules?: readonly KeptSchedule[];
}

/** A model with everything that it inherits, ready to route and to price. */
export interface ResolvedModel extends ModelPrices {
  readonly model: Model;
  /** The model that routes: the row itself, or its target. */
  readonly bound: Model;
  readonly provider: Provider;
  readonly upstreamName: string;
  readonly capabilities: readonly Capability[];
  /** Prices in force; a unit without a price is absent. */
  readonly prices: PriceSet;
  /** True when any price in force is keyed on another name than this model's own. */
  readonly pricesInherited: boolean;
}

/** The questions that a plan may ask of a catalog, be it as it stands or as the steps before have left it. */
export interface CatalogPicture {
  /** By name. */
  readonly providers: readonly Provider[];
  /** By alias. */
  readonly models: readonly ResolvedModel[];
  /** By name, then in the order of UNITS. */
  readonly prices: readonly PriceRow[];
  /** By name. */
  readonly variantRows: readonly VariantRow[];
  /** Those of variants included. */
  readonly priceCount: number;
  /** The newest load of a pricing feed; null before the first. */
  readonly feed: LoadedFeed | null;
  /** Prices to come, by their moments. */
  readonly schedules: readonly KeptSchedule[];
  findProvider(name: string): Provider | null;
  findProviderById(id: string): Provider | null;
  findModel(alias: string): ResolvedModel | null;
  findModelById(id: string): ResolvedModel | null;
  /** Models that are names for the one with this id, by alias. */
  namesFor(modelId: string): readonly Model[];
  /** The price row of exactly this name and unit. */
  findPrice(name: string, unit: Unit): PriceRow | null;
  /** The list of variants of exactly this name. */
  findVariants(name: string): VariantRow | null;
}

/**
 * An immutable picture of the whole catalog, replaced after each commit. Every model is resolved once, when the
 * snapshot is made, so that a request costs one look-up.
 */
export interface CatalogSnapshot extends CatalogPicture {
  /** `prices` as the next snapshot takes them over. */
  readonly priceBook: PriceBook;
  /** The capabilities of all models: endpoints of others are not there. */
  readonly capabilities: ReadonlySet<Capability>;
}

export function createSnapshot(rows: CatalogRows): CatalogSnapshot {
  const providers = rows.providers.toSorted((left, right) => compareCodeUnits(left.name, right.name));
  const providersByName = new Map(providers.map((provider) => [provider.name, provider]));
  const providersById = new Map(providers.map((provider) => [provider.id, provider]));
  const rowsById = new Map(rows.models.map((model) => [model.id, model]));
  const priceBook = "rows" in rows.prices ? rows.prices : createPriceBook(rows.prices, rows.variants);
  const { rows: prices, variantRows, count: priceCount, find: findPrice, findVariants } = priceBook;

  const lookUp = {
    findRow: (id: string) => rowsById.get(id),
    findProvider: (id: string) => providersById.get(id),
    findPrice,
    findVariants,
  };
  const models = rows.models
    .flatMap((model) => resolveRow(model, lookUp) ?? [])
    .toSorted((left, right) => compareCodeUnits(left.model.alias, right.model.alias));
  const modelsByAlias = new Map(models.map((resolved) => [resolved.model.alias, resolved]));
  const modelsById = new Map(models.map((resolved) => [resolved.model.id, resolved]));
  const namesByTarget = new Map<string, Model[]>();
  for (const { model } of models) {
    if (model.route.kind !== "name") continue;
    const names = namesByTarget.get(model.route.targetId) ?? [];
    names.push(model);
    namesByTarget.set(model.route.targetId, names);
  }

  return {
    providers,
    models,
    prices,
    variantRows,
    priceCount,
    priceBook,
    capabilities: new Set(models.flatMap(({ capabilities }) => capabilities)),
    feed: rows.feed ?? null,
    schedules: rows.schedules ?? [],
    findProvider: (name) => providersByName.get(name) ?? null,
    findProviderById: (id) => providersById.get(id) ?? null,
    findModel: (alias) => modelsByAlias.get(alias) ?? null,
    findModelById: (id) => modelsById.get(id) ?? null,
    namesFor: (modelId) => namesByTarget.get(modelId) ?? [],
    findPrice,
    findVariants,
  };
}

interface RowLookUp {
  readonly findRow: (id: string) => Model | undefined;
  readonly findProvider: (id: string) => Provider | undefined;
  readonly findPrice: (name: string, unit: Unit) => PriceRow | null;
  readonly findVariants: (name: string) => VariantRow | null;
}

/** A model with what it inherits, or null for a row whose target or provider is gone. */
export function resolveRow(
  model: Model,
  { findRow, findProvider, findPrice, findVariants }: RowLookUp,
): ResolvedModel | null {
  const bound = model.route.kind === "binding" ? model : findRow(model.route.targetId);
  if (bound?.route.kind !== "binding") return null;
  const provider = findProvider(bound.route.providerId);
  if (provider === undefined) return null;

  // Lookup per unit: own name, then the target's, then the upstream model name. A "no price" mark ends the lookup.
  const { upstreamName, capabilities } = bound.route;
  const names = [...new Set([model.alias, bound.alias, upstreamName])];
  const prices: { [unit in Unit]?: number } = {};
  let pricesInherited = false;
  for (const unit of UNITS) {
    const row = names.map((name) => findPrice(name, unit)).find((price) => price !== null);
    if (row === undefined || row.pricePico === null) continue;
    prices[unit] = row.pricePico;
    pricesInherited ||= row.name !== model.alias;
  }
  // Found as prices are, but whole: a list of one's own replaces the inherited one.
  const list = names.map(findVariants).find((row) => row !== null);
  const variants = list?.variants ?? [];
  return { model, bound, provider, upstreamName, capabilities, prices, variants, pricesInherited };
}

interface ListingFilter {
  /** Only models whose resolved capabilities contain this one; null lists all. */
  readonly endpoint: Capability | null;
  readonly includeHidden: boolean;
  /** Absent or null: all. */
  readonly scope?: ModelScope;
}

/** The list of `GET /v1/models` (specification, section 4.2): models of enabled providers, by alias. */
export function listModels(snapshot: CatalogSnapshot, filter: ListingFilter): readonly ResolvedModel[] {
  const { endpoint, includeHidden, scope = null } = filter;
  return snapshot.models.filter(
    ({ model, provider, capabilities }) =>
      provider.enabled &&
      (includeHidden || !model.hidden) &&
      isInScope(scope, model.alias) &&
      (endpoint === null || capabilities.includes(endpoint)),
  );
}
