import type { ReadFilters } from "../search/filters.ts";

/** Filters whose values can stand side by side: a request has one value of each, told by its whole name. */
export const COMPARED_FILTERS = ["model", "principal", "provider", "key"] as const;
export type ComparedFilter = (typeof COMPARED_FILTERS)[number];

/** The first filter that has several values; null when there is none to compare. */
export function findCompared(filters: ReadFilters): ComparedFilter | null {
  return COMPARED_FILTERS.find((name) => (filters[name]?.length ?? 0) > 1) ?? null;
}

export const COMPARE_LABELS: { readonly [name in ComparedFilter]: string } = {
  model: "Compare models",
  principal: "Compare people",
  provider: "Compare providers",
  key: "Compare keys",
};
