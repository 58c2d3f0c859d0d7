import type { Treaty } from "@elysiajs/eden/treaty2";
import { keepPreviousData, queryOptions, type QueryClient } from "@tanstack/react-query";
import type { Endpoint } from "#catalog/endpoint.ts";
import { unwrap } from "./answer.ts";
import { changing } from "./changing.ts";
import { api, asking, toPathPart } from "./client.ts";
import { ifMatch } from "./if-match.ts";
import { KEYS, makeStale } from "./keys.ts";
import { fetchWholeList, type PageQuery } from "./pages.ts";

/** Providers, models and prices, for admins (specification, section 4.6). */

const { providers, discover, models, pricing, resolve } = api.admin.v1;

/** As lists show it, without `endpoints`. */
export type Provider = Treaty.Data<typeof providers.get>["providers"][number];
export type ProviderDetails = Treaty.Data<ReturnType<typeof providers>["get"]>;
export type ProviderDraft = Parameters<typeof providers.post>[0];
/** What is left out stays as it is. */
export type ProviderPatch = Parameters<ReturnType<typeof providers>["patch"]>[0];
export type DiscoveredModels = Treaty.Data<ReturnType<typeof providers>["discover"]["get"]>;

export type Model = Treaty.Data<typeof models.get>["models"][number];
export type ModelDraft = Parameters<typeof models.post>[0];
/** What is left out stays as it is; `pricing` is the complete set. */
export type ModelPatch = Parameters<ReturnType<typeof models>["patch"]>[0];
export type Resolution = Treaty.Data<typeof resolve.get>;
/** Every price that is kept, and the feed that was loaded last. */
export type Pricing = Treaty.Data<typeof pricing.get>;
export type PricingFeed = Parameters<typeof pricing.post>[0];

export async function fetchProviders(page: PageQuery, signal?: AbortSignal) {
  const { providers: rows, total } = await unwrap(providers.get(asking(signal, { ...page })));
  return { rows, total };
}

/** All of them, up to `ROWS_MAX`. */
export function providersQuery() {
  return queryOptions({
    queryKey: KEYS.providers,
    queryFn: ({ signal }) =>
      fetchWholeList(
        (page) => fetchProviders(page, signal),
        ({ name }) => name,
      ),
  });
}

export function providerQuery(name: string) {
  return queryOptions({
    queryKey: [...KEYS.providers, name],
    queryFn: ({ signal }) => unwrap(providers({ name: toPathPart(name) }).get(asking(signal))),
  });
}

export const createProvider = changing(
  (draft: ProviderDraft) => unwrap(providers.post(draft)),
  refreshCatalog,
);

interface ProviderUpdate {
  readonly name: string;
  readonly patch: ProviderPatch;
  /** What the change was made from, as the provider's own answer has it. */
  readonly from?: object | undefined;
}

export const updateProvider = changing(
  ({ name, patch, from }: ProviderUpdate) =>
    unwrap(providers({ name: toPathPart(name) }).patch(patch, ifMatch("provider", from))),
  refreshCatalog,
);

/** Throws `model_in_use`. */
export const deleteProvider = changing(
  ({ name, from }: Pick<ProviderUpdate, "name" | "from">) =>
    unwrap(providers({ name: toPathPart(name) }).delete(undefined, ifMatch("provider", from))),
  refreshCatalog,
);

/** Asks the provider itself each time, with what each model would be bound as. Throws `provider_unreachable` and `discovery_failed`. */
export async function discoverModels(provider: string, signal?: AbortSignal): Promise<DiscoveredModels> {
  return await unwrap(
    providers({ name: toPathPart(provider) }).discover.get(asking(signal, { include_capabilities: "1" })),
  );
}

/**
 * Asks a provider that is not stored yet; nothing of it is stored. Throws what making it would throw, `provider_unreachable`
 * and `discovery_failed`.
 */
export async function testProvider(draft: ProviderDraft): Promise<DiscoveredModels> {
  return await unwrap(discover.post(draft));
}

export async function fetchModels(
  { provider, ...page }: PageQuery & { readonly provider?: string | undefined },
  signal?: AbortSignal,
) {
  const { models: rows, total } = await unwrap(models.get(asking(signal, { provider, ...page })));
  return { rows, total };
}

/** All models, hidden ones and those of disabled providers included, or those of one provider; up to `ROWS_MAX`. */
export function modelsQuery(provider?: string) {
  return queryOptions({
    queryKey: [...KEYS.models, { provider }],
    queryFn: ({ signal }) =>
      fetchWholeList(
        (page) => fetchModels({ provider, ...page }, signal),
        ({ alias }) => alias,
      ),
  });
}

export const createModel = changing((draft: ModelDraft) => unwrap(models.post(draft)), refreshCatalog);

interface ModelUpdate {
  readonly alias: string;
  readonly patch: ModelPatch;
  /** The model that the change was made from. */
  readonly from?: object | undefined;
}

export const updateModel = changing(
  ({ alias, patch, from }: ModelUpdate) =>
    unwrap(models({ alias: toPathPart(alias) }).patch(patch, ifMatch("model", from))),
  refreshCatalog,
);

/** Throws `model_in_use` while other names lead to it. */
export const deleteModel = changing(
  ({ alias, from }: Pick<ModelUpdate, "alias" | "from">) =>
    unwrap(models({ alias: toPathPart(alias) }).delete(undefined, ifMatch("model", from))),
  refreshCatalog,
);

export interface ResolveQuery {
  readonly model: string;
  readonly endpoint?: Endpoint;
  readonly stream?: boolean;
}

/** Where a request would go, or the refusal that it would get. */
export function resolutionQuery({ model, endpoint, stream = false }: ResolveQuery) {
  return queryOptions({
    queryKey: [...KEYS.resolutions, { model, endpoint, stream }],
    queryFn: ({ signal }) =>
      unwrap(resolve.get(asking(signal, { model, endpoint, stream: stream ? "1" : undefined }))),
    // A refusal is what one wants to read here.
    retry: false,
  });
}

/** Prices that may be written: the complete set of a model, or entries of a feed. */
export type PriceWish = NonNullable<Parameters<typeof pricing.preview.post>[0]>;
export type PricePreview = Treaty.Data<typeof pricing.preview.post>;

/** What a change of prices would mean; it changes nothing. */
export function pricePreviewQuery(wish: PriceWish) {
  return queryOptions({
    queryKey: [...KEYS.pricing, "preview", wish],
    queryFn: ({ signal }) => unwrap(pricing.preview.post(wish, { fetch: { signal } })),
    placeholderData: keepPreviousData,
    retry: false,
  });
}

export function pricingQuery() {
  return queryOptions({
    queryKey: KEYS.pricing,
    queryFn: ({ signal }) => unwrap(pricing.get(asking(signal))),
  });
}

/** Public list prices with their source and its day: a feed that is offered. */
async function fetchListPrices(signal?: AbortSignal) {
  return await unwrap(pricing.list.get(asking(signal)));
}

export type ListPrices = Treaty.Data<typeof pricing.list.get>;

/** A dated copy of public list prices; nothing of it applies until it is loaded. */
export function listPricesQuery() {
  return queryOptions({
    queryKey: KEYS.listPrices,
    queryFn: ({ signal }) => fetchListPrices(signal),
    // It is of the executable, and changes with it.
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** All of a feed or nothing of it. Throws `invalid_pricing` naming the first bad entry in `param`. */
export const loadPricing = changing((feed: PricingFeed) => unwrap(pricing.post(feed)), refreshCatalog);

/** Providers, models, names and prices hang together: a change of one can show in all. */
export async function refreshCatalog(client: QueryClient): Promise<void> {
  await makeStale(client, [
    KEYS.providers,
    KEYS.models,
    KEYS.resolutions,
    KEYS.pricing,
    KEYS.callableModels,
    // A renamed model keeps its limits.
    KEYS.limits,
    KEYS.events,
  ]);
}
