import { keepPreviousData, queryOptions, type QueryClient } from "@tanstack/react-query";
import type { AnswerOf, BodyOf } from "#http/client.ts";
import type { Endpoint } from "#catalog/endpoint.ts";
import { changing } from "./changing.ts";
import { call } from "./client.ts";
import { ifMatch } from "./if-match.ts";
import { KEYS, makeStale } from "./keys.ts";
import { fetchWholeList, type PageQuery } from "./pages.ts";

/** Providers, models and prices, for admins (specification, section 4.6). */

/** As lists show it, without `endpoints`. */
export type Provider = AnswerOf<"GET /admin/v1/providers">["providers"][number];
export type ProviderDetails = AnswerOf<"GET /admin/v1/providers/:name">;
export type ProviderDraft = BodyOf<"POST /admin/v1/providers">;
/** What is left out stays as it is. */
export type ProviderPatch = BodyOf<"PATCH /admin/v1/providers/:name">;
export type DiscoveredModels = AnswerOf<"GET /admin/v1/providers/:name/discover">;

export type Model = AnswerOf<"GET /admin/v1/models">["models"][number];
export type ModelDraft = BodyOf<"POST /admin/v1/models">;
/** What is left out stays as it is; `pricing` is the complete set. */
export type ModelPatch = BodyOf<"PATCH /admin/v1/models/:alias">;
export type Resolution = AnswerOf<"GET /admin/v1/resolve">;
/** Every price that is kept, and the feed that was loaded last. */
export type Pricing = AnswerOf<"GET /admin/v1/pricing">;
export type PricingFeed = BodyOf<"POST /admin/v1/pricing">;

export async function fetchProviders(page: PageQuery, signal?: AbortSignal) {
  const { providers: rows, total } = await call("GET /admin/v1/providers", { signal, query: { ...page } });
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
    queryFn: ({ signal }) => call("GET /admin/v1/providers/:name", { params: { name }, signal }),
  });
}

export const createProvider = changing(
  (draft: ProviderDraft) => call("POST /admin/v1/providers", { body: draft }),
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
    call("PATCH /admin/v1/providers/:name", { params: { name }, body: patch, ...ifMatch("provider", from) }),
  refreshCatalog,
);

/** Throws `model_in_use`. */
export const deleteProvider = changing(
  ({ name, from }: Pick<ProviderUpdate, "name" | "from">) =>
    call("DELETE /admin/v1/providers/:name", { params: { name }, ...ifMatch("provider", from) }),
  refreshCatalog,
);

/** Asks the provider itself each time, with what each model would be bound as. Throws `provider_unreachable` and `discovery_failed`. */
export async function discoverModels(provider: string, signal?: AbortSignal): Promise<DiscoveredModels> {
  return await call("GET /admin/v1/providers/:name/discover", {
    params: { name: provider },
    signal,
    query: { include_capabilities: "1" },
  });
}

/**
 * Asks a provider that is not stored yet; nothing of it is stored. Throws what making it would throw, `provider_unreachable`
 * and `discovery_failed`.
 */
export async function testProvider(draft: ProviderDraft): Promise<DiscoveredModels> {
  return await call("POST /admin/v1/discover", { body: draft });
}

export async function fetchModels(
  { provider, ...page }: PageQuery & { readonly provider?: string | undefined },
  signal?: AbortSignal,
) {
  const { models: rows, total } = await call("GET /admin/v1/models", {
    signal,
    query: { provider, ...page },
  });
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

export const createModel = changing(
  (draft: ModelDraft) => call("POST /admin/v1/models", { body: draft }),
  refreshCatalog,
);

interface ModelUpdate {
  readonly alias: string;
  readonly patch: ModelPatch;
  /** The model that the change was made from. */
  readonly from?: object | undefined;
}

export const updateModel = changing(
  ({ alias, patch, from }: ModelUpdate) =>
    call("PATCH /admin/v1/models/:alias", { params: { alias }, body: patch, ...ifMatch("model", from) }),
  refreshCatalog,
);

/** Throws `model_in_use` while other names lead to it. */
export const deleteModel = changing(
  ({ alias, from }: Pick<ModelUpdate, "alias" | "from">) =>
    call("DELETE /admin/v1/models/:alias", { params: { alias }, ...ifMatch("model", from) }),
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
      call("GET /admin/v1/resolve", { signal, query: { model, endpoint, stream: stream ? "1" : undefined } }),
    // A refusal is what one wants to read here.
    retry: false,
  });
}

/** Prices that may be written: the complete set of a model, or entries of a feed. */
export type PriceWish = BodyOf<"POST /admin/v1/pricing/preview">;
export type PricePreview = AnswerOf<"POST /admin/v1/pricing/preview">;

/** What a change of prices would mean; it changes nothing. */
export function pricePreviewQuery(wish: PriceWish) {
  return queryOptions({
    queryKey: [...KEYS.pricing, "preview", wish],
    queryFn: ({ signal }) => call("POST /admin/v1/pricing/preview", { body: wish, signal }),
    placeholderData: keepPreviousData,
    retry: false,
  });
}

export function pricingQuery() {
  return queryOptions({
    queryKey: KEYS.pricing,
    queryFn: ({ signal }) => call("GET /admin/v1/pricing", { signal }),
  });
}

/** Public list prices with their source and its day: a feed that is offered. */
async function fetchListPrices(signal?: AbortSignal) {
  return await call("GET /admin/v1/pricing/list", { signal });
}

export type ListPrices = AnswerOf<"GET /admin/v1/pricing/list">;

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
export const loadPricing = changing(
  (feed: PricingFeed) => call("POST /admin/v1/pricing", { body: feed }),
  refreshCatalog,
);

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
