import type { Capability } from "./capability.ts";
import type { CatalogSnapshot, ResolvedModel } from "./snapshot.ts";

export interface ListingFilter {
  /** Only models whose resolved capabilities contain this one; null lists all. */
  readonly endpoint: Capability | null;
  readonly includeHidden: boolean;
}

/** What `GET /v1/models` lists (specification, section 4.2): models of enabled providers, by alias. */
export function listModels(snapshot: CatalogSnapshot, filter: ListingFilter): readonly ResolvedModel[] {
  const { endpoint, includeHidden } = filter;
  return snapshot.models.filter(
    ({ model, provider, capabilities }) =>
      provider.enabled &&
      (includeHidden || !model.hidden) &&
      (endpoint === null || capabilities.includes(endpoint)),
  );
}
