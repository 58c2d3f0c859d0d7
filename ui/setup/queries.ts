import { queryOptions } from "@tanstack/react-query";
import { fetchModels, fetchProviders } from "../api/catalog.ts";
import { KEYS } from "../api/keys.ts";
import { listedModelsQuery } from "../api/models.ts";
import { myKeysQuery } from "../api/my.ts";
import { fetchKeys } from "../api/people.ts";
import { teamSeriesQuery } from "../api/reports.ts";

/** How often it is looked whether something that is missing has come. */
export const POLL_MS = 2_000;

const ONE = { limit: 1 } as const;

/** Of everybody since the first: no request ever is a series without buckets. */
export function requestCountQuery() {
  return {
    ...teamSeriesQuery({ bucket: "month" }),
    select: ({ series }: { readonly series: readonly { readonly requests: number }[] }) =>
      series.reduce((sum, { requests }) => sum + requests, 0),
  };
}

/** Lists of admins, by their length alone; under the keys of the lists, so that a change of one asks anew. */
export function providerCountQuery() {
  return queryOptions({
    queryKey: [...KEYS.providers, ONE],
    queryFn: async ({ signal }) => (await fetchProviders(ONE, signal)).total,
  });
}

export function modelCountQuery() {
  return queryOptions({
    queryKey: [...KEYS.models, ONE],
    queryFn: async ({ signal }) => (await fetchModels(ONE, signal)).total,
  });
}

export function keyCountQuery() {
  return queryOptions({
    queryKey: [...KEYS.keys, ONE],
    queryFn: async ({ signal }) => (await fetchKeys(ONE, signal)).total,
  });
}

export function callableModelCountQuery() {
  return { ...listedModelsQuery(), select: toLength };
}

export function myKeyCountQuery() {
  return { ...myKeysQuery(), select: ({ total }: { readonly total: number }) => total };
}

function toLength(rows: readonly unknown[]): number {
  return rows.length;
}
