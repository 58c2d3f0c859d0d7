import { queryOptions } from "@tanstack/react-query";
import type { AnswerOf } from "#http/client.ts";
import type { Capability } from "#catalog/capability.ts";
import { call } from "./client.ts";
import { KEYS } from "./keys.ts";

/** What can be called (specification, section 4.2). */

export type ListedModel = AnswerOf<"GET /v1/models">["data"][number];
/** Per million units; a unit without a price is left out. */
export type ModelPricing = NonNullable<ListedModel["pricing"]>;

export interface ModelListQuery {
  readonly includeHidden?: boolean;
  /** Without it no model has `pricing`. */
  readonly includePricing?: boolean;
  readonly endpoint?: Capability;
}

export function listedModelsQuery(query: ModelListQuery = {}) {
  return queryOptions({
    queryKey: [...KEYS.callableModels, query],
    queryFn: async ({ signal }) => {
      const params = {
        include_hidden: query.includeHidden === true ? "1" : undefined,
        include_pricing: query.includePricing === true ? "1" : undefined,
        endpoint: query.endpoint,
      };
      return (await call("GET /v1/models", { signal, query: params })).data;
    },
  });
}
