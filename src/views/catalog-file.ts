import { CAPABILITIES } from "#catalog/capability.ts";
import { CATALOG_FORMAT, type CatalogDraft } from "#catalog/catalog-draft.ts";
import { findOwnPrices, findOwnVariants } from "#catalog/price-plan.ts";
import type { PriceRow, VariantRow } from "#catalog/pricing.ts";
import { listPricesToCome } from "#catalog/price-schedule.ts";
import type { DraftedPricesToCome } from "#catalog/scheduled-prices.ts";
import { PROVIDER_SETTINGS } from "#catalog/provider-fields.ts";
import type { Provider } from "#catalog/provider.ts";
import type { CatalogPicture, ResolvedModel } from "#catalog/snapshot.ts";
import { formatInstant } from "#kernel/clock.ts";
import { type DraftOf, toChanges, toDefaults } from "#kernel/fields.ts";
import { compareCodeUnits } from "#kernel/text.ts";
import { toPricePerMillion, type Unit } from "#kernel/units.ts";
import { toPricingView, toVariantsView } from "#catalog/price-fields.ts";

/** The catalog as one file: what `lockport export` writes and `POST /admin/v1/catalog` takes. What is left out has its default. */
export interface CatalogFile {
  readonly lockport_catalog: typeof CATALOG_FORMAT;
  readonly providers?: { readonly [name: string]: FileProvider };
  readonly models?: { readonly [alias: string]: FileModel };
  /** The newest load last; prices by alias or upstream name. */
  readonly feeds?: readonly {
    readonly version: string;
    readonly prices: { readonly [name: string]: FilePrices };
    /** As `prices`, the lists of prices under conditions. */
    readonly variants?: { readonly [name: string]: FileVariants };
  }[];
  /** By their moments. */
  readonly prices_to_come?: readonly FilePricesToCome[];
}

/** Prices of one name that hold from a moment to come on. */
export interface FilePricesToCome {
  readonly effective_from: string;
  /** An alias, or with a feed also an upstream name. */
  readonly model: string;
  /** The version of the feed that has them, which leaves all other prices; absent: they are the model's own, whole. */
  readonly feed?: string;
  readonly prices?: FilePrices;
  readonly price_variants?: FileVariants;
}

/** `ca_pem` and `api_key` only on the way to a server. */
export interface FileProvider extends DraftOf<typeof PROVIDER_SETTINGS> {
  readonly base_url: string;
  /** The place of a secret when the file is applied; the file itself holds none. */
  readonly api_key_env?: string;
  readonly api_key_file?: string;
  readonly ca_pem_file?: string;
  readonly endpoints?: { readonly [endpoint: string]: string };
  readonly enabled?: boolean;
  readonly api_key?: string;
}

export interface FileModel {
  readonly provider?: string;
  readonly upstream_name?: string;
  readonly capabilities?: readonly string[];
  readonly target?: string;
  /** Complete for a binding; without them a model has the prices of its upstream name, or of its target. */
  readonly prices?: FilePrices;
  /** The whole list; without it a model has that of its target, or of its upstream name. */
  readonly price_variants?: FileVariants;
  readonly hidden?: boolean;
  readonly origin?: string;
}

/** Per million units; what a price may be is the catalog's rule. */
export type FilePrices = { readonly [unit: string]: unknown };

/** `{when, pricing}` each, as the catalog judges it. */
export type FileVariants = readonly unknown[];

type PricesView = { [unit in Unit]?: number };

/** The file in the catalog's own words. */
export function toCatalogDraft({
  providers = {},
  models = {},
  feeds = [],
  prices_to_come: toCome = [],
}: CatalogFile): CatalogDraft {
  return {
    providers: Object.entries(providers).map(([name, provider]) => toProviderDraft(name, provider)),
    models: Object.entries(models).map(([alias, model]) => toModelDraft(alias, model)),
    feeds,
    pricesToCome: toCome.map(toPricesToComeDraft),
  };
}

export function toPricesToComeDraft({
  effective_from: effectiveFrom,
  model,
  feed,
  prices: pricing,
  price_variants: priceVariants,
}: FilePricesToCome): CatalogDraft["pricesToCome"][number] {
  return { effectiveFrom, model, feed, pricing, priceVariants };
}

export function toProviderDraft(name: string, provider: FileProvider): CatalogDraft["providers"][number] {
  const { api_key_env, api_key_file, ca_pem_file, ...draft } = provider;
  return {
    name,
    ...draft,
    needsCredential: api_key_env !== undefined || api_key_file !== undefined,
    needsCa: ca_pem_file !== undefined,
  };
}

export function toModelDraft(alias: string, model: FileModel): CatalogDraft["models"][number] {
  return {
    alias,
    provider: model.provider,
    upstreamName: model.upstream_name,
    target: model.target,
    capabilities: model.capabilities,
    pricing: model.prices,
    priceVariants: model.price_variants,
    hidden: model.hidden,
    origin: model.origin,
  };
}

/**
 * The whole catalog as the file that `lockport export` writes: what has its default is left out, and of a secret there is
 * only where it is to be found. Applied to an empty installation it makes the same catalog, but for the secrets.
 */
export function toCatalogFileView(catalog: CatalogPicture): WholeCatalogFile {
  const toVariable = createNamer();
  const toCome = listPricesToCome(catalog);
  return {
    lockport_catalog: CATALOG_FORMAT,
    providers: Object.fromEntries(
      catalog.providers.map((provider) => [provider.name, toProviderFields(provider, toVariable)]),
    ),
    models: Object.fromEntries(
      catalog.models.map((resolved) => [resolved.model.alias, toModelFields(catalog, resolved)]),
    ),
    feeds: toFeedFields(catalog),
    ...(toCome.length > 0 && { prices_to_come: toCome.map(toComeFields) }),
  };
}

/** Without prices to come where there are none. */
export type WholeCatalogFile = Required<Omit<CatalogFile, "prices_to_come">> &
  Pick<CatalogFile, "prices_to_come">;

function toComeFields({ atUs, name, version, prices, variants }: DraftedPricesToCome): FilePricesToCome {
  return {
    effective_from: formatInstant(atUs),
    model: name,
    ...(version !== null && { feed: version }),
    ...(prices !== null && { prices: toPricingView(prices) }),
    ...(variants !== null && { price_variants: toVariantsView(variants) }),
  };
}

function toProviderFields(provider: Provider, toVariable: (name: string) => string) {
  const { name, baseUrl } = provider;
  const overrides = Object.entries(provider.endpoints).toSorted(([left], [right]) =>
    compareCodeUnits(left, right),
  );
  const { ca_pem, ...settings } = toChanges(PROVIDER_SETTINGS, toDefaults(PROVIDER_SETTINGS), provider);
  return {
    base_url: baseUrl,
    ...(provider.sealedCredential !== null && { api_key_env: toVariable(name) }),
    ...(ca_pem !== undefined && { ca_pem_file: `${name}-ca.pem` }),
    ...settings,
    ...(overrides.length > 0 && { endpoints: Object.fromEntries(overrides) }),
    ...(!provider.enabled && { enabled: false }),
  };
}

function toModelFields(catalog: CatalogPicture, resolved: ResolvedModel) {
  const { model, bound, provider, upstreamName, capabilities } = resolved;
  const isFed = (unit: Unit) => (catalog.findPrice(model.alias, unit)?.feedVersion ?? null) !== null;
  const prices = findOwnPrices(catalog, resolved, isFed);
  const variants = findOwnVariants(catalog, model);
  return {
    ...(model.route.kind === "name"
      ? { target: bound.alias }
      : {
          provider: provider.name,
          upstream_name: upstreamName,
          // In one order, so that the same set is the same text.
          capabilities: CAPABILITIES.filter((capability) => capabilities.includes(capability)),
        }),
    ...(prices !== null && {
      prices: Object.fromEntries([...prices].map(([unit, price]) => [unit, toPricePerMillion(price)])),
    }),
    ...(variants !== null && { price_variants: toVariantsView(variants) }),
    ...(model.hidden && { hidden: true }),
    ...(model.origin !== "declared" && { origin: model.origin }),
  };
}

/** The newest load last. */
function toFeedFields({ feed, prices, variantRows }: CatalogPicture) {
  const byVersion = Map.groupBy(prices, ({ feedVersion }) => feedVersion);
  const listsByVersion = Map.groupBy(variantRows, ({ feedVersion }) => feedVersion);
  const isNewest = (version: string) => Number(version === feed?.version);
  return [...new Set([...byVersion.keys(), ...listsByVersion.keys(), feed?.version ?? null])]
    .flatMap((version) => version ?? [])
    .toSorted((left, right) => isNewest(left) - isNewest(right) || compareCodeUnits(left, right))
    .map((version) => {
      const ofVersion = toPriceMap(byVersion.get(version) ?? []);
      return Object.assign({ version, prices: ofVersion }, toListFields(listsByVersion.get(version) ?? []));
    });
}

/** `variants` beside `prices`; absent where there are none. */
export function toListFields(lists: readonly VariantRow[]) {
  if (lists.length === 0) return {};
  return {
    variants: Object.fromEntries(lists.map(({ name, variants }) => [name, toVariantsView(variants)])),
  };
}

/** By name, then by unit; the marks "no price" are none. */
export function toPriceMap(rows: readonly PriceRow[]): { [name: string]: PricesView } {
  const prices = new Map<string, PricesView>();
  for (const { name, unit, pricePico } of rows) {
    if (pricePico === null) continue;
    const ofName = prices.get(name) ?? {};
    prices.set(name, ofName);
    ofName[unit] = toPricePerMillion(pricePico);
  }
  // `fromEntries`, since a name may be `__proto__`.
  return Object.fromEntries(prices);
}

/** `OPENAI_API_KEY` for `openai`, each name once; never a variable of Lockport's own. */
function createNamer(): (provider: string) => string {
  const used = new Set<string>();
  return (provider) => {
    const word = provider.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_");
    const stem = /^(?:\d|PROXY(?:_|$))/.test(word) ? `UPSTREAM_${word}` : word;
    for (let number = 1; ; number += 1) {
      const name = `${stem}${number === 1 ? "" : `_${number}`}_API_KEY`;
      if (used.has(name)) continue;
      used.add(name);
      return name;
    }
  };
}
