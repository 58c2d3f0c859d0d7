import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import type { AnswerOf, BodyOf } from "#http/client.ts";
import type { Endpoint } from "#catalog/endpoint.ts";
import { toEntityTag } from "#views/entity-tag.ts";
import { changing } from "./changing.ts";
import { call } from "./client.ts";
import { KEYS } from "./keys.ts";
import { resource, toRefresh } from "./resource.ts";

/** Providers, models and prices, for admins (specification, section 4.6). */

/** As lists show it, without `endpoints`. */
export type Provider = AnswerOf<"GET /admin/v1/providers">["providers"][number];
export type ProviderDetails = AnswerOf<"GET /admin/v1/providers/:name">;
export type ProviderDraft = BodyOf<"POST /admin/v1/providers">;
/** What is left out stays as it is. */
export type ProviderPatch = BodyOf<"PATCH /admin/v1/providers/:name">;
export type DiscoveredModels = AnswerOf<"GET /admin/v1/providers/:name/discover">;
export type TestedProvider = AnswerOf<"POST /admin/v1/providers/:name/test">;

export type Model = AnswerOf<"GET /admin/v1/models">["models"][number];
export type ModelDraft = BodyOf<"POST /admin/v1/models">;
/** What is left out stays as it is; `pricing` is the complete set. */
export type ModelPatch = BodyOf<"PATCH /admin/v1/models/:alias">;
export type Resolution = AnswerOf<"GET /admin/v1/resolve">;
/** Every price that is kept, and the feed that was loaded last. */
export type Pricing = AnswerOf<"GET /admin/v1/pricing">;
export type PricingFeed = BodyOf<"POST /admin/v1/pricing">;

/** Providers, models, names and prices hang together: a change of one can show in all. */
const CATALOG = [
  KEYS.providers,
  KEYS.models,
  KEYS.resolutions,
  KEYS.pricing,
  KEYS.callableModels,
  // A renamed model keeps its limits.
  KEYS.limits,
  KEYS.events,
];

/** The removal of a provider, or of a model with other names, throws `model_in_use`. */
export const PROVIDERS = resource({
  path: "/admin/v1/providers",
  rows: "providers",
  id: "name",
  key: KEYS.providers,
  stored: "provider",
  stale: CATALOG,
});

/** All models, hidden ones and those of disabled providers included. */
export const MODELS = resource({
  path: "/admin/v1/models",
  rows: "models",
  id: "alias",
  key: KEYS.models,
  stored: "model",
  stale: CATALOG,
});

export function providerQuery(name: string) {
  return queryOptions({
    queryKey: [...KEYS.providers, name],
    queryFn: ({ signal }) => call("GET /admin/v1/providers/:name", { params: { name }, signal }),
  });
}

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

/** Asks a stored provider as it would be after this change; nothing of it is stored. Throws as `testProvider` does. */
export async function testChange(name: string, patch: ProviderPatch): Promise<TestedProvider> {
  return await call("POST /admin/v1/providers/:name/test", { params: { name }, body: patch });
}

/** Puts the former key of a provider in the place of the present one. Throws `former_credential_not_found`. */
export const restoreCredential = changing(
  (from: ProviderDetails) =>
    call("POST /admin/v1/providers/:name/restore-credential", {
      params: { name: from.name },
      body: {},
      headers: { "if-match": toEntityTag("provider", from) },
    }),
  toRefresh(CATALOG),
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

export type HeldPrice = AnswerOf<"GET /admin/v1/pricing/history">["changes"][number];
export type PricesToCome = AnswerOf<"GET /admin/v1/pricing/schedule">["schedule"][number];

/** A page of the prices of a model as they held, and will hold; the newest first. */
export function priceHistoryQuery(model: string, page: { readonly limit: number; readonly offset: number }) {
  return queryOptions({
    queryKey: [...KEYS.pricing, "history", model, page],
    queryFn: ({ signal }) => call("GET /admin/v1/pricing/history", { signal, query: { model, ...page } }),
    placeholderData: keepPreviousData,
  });
}

/** Prices to come of a model, or of a name that it has prices from; the next first. */
export function priceScheduleQuery(model: string) {
  return queryOptions({
    queryKey: [...KEYS.pricing, "schedule", model],
    queryFn: ({ signal }) => call("GET /admin/v1/pricing/schedule", { signal, query: { model } }),
  });
}

/** Takes prices to come back; those that hold stay. */
export const deleteSchedule = changing(
  (id: string) => call("DELETE /admin/v1/pricing/schedule/:id", { params: { id } }),
  toRefresh(CATALOG),
);

export type ListPrices = AnswerOf<"GET /admin/v1/pricing/list">;

/** A dated copy of public list prices; nothing of it applies until it is loaded. */
export function listPricesQuery() {
  return queryOptions({
    queryKey: KEYS.listPrices,
    queryFn: ({ signal }) => call("GET /admin/v1/pricing/list", { signal }),
    // It is of the executable, and changes with it.
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** All of a feed or nothing of it. Throws `invalid_pricing` naming the first bad entry in `param`. */
export const loadPricing = changing(
  (feed: PricingFeed) => call("POST /admin/v1/pricing", { body: feed }),
  toRefresh(CATALOG),
);
