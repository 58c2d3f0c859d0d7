import { queryOptions, type QueryClient } from "@tanstack/react-query";
import type { AnswerOf, BodyOf } from "#http/client.ts";
import { changing } from "./changing.ts";
import { call } from "./client.ts";
import { KEYS, makeStale } from "./keys.ts";
import { resource } from "./resource.ts";

/** Prices that were learned late, for requests that are recorded: for admins. */

export type RepricingRow = AnswerOf<"GET /admin/v1/repricing">["repricings"][number];
export type Repricing = AnswerOf<"GET /admin/v1/repricing/:id">;
export type RepricingChange = Repricing["changes"][number];
export type RepricingDraft = BodyOf<"POST /admin/v1/repricing">;

/** Between two looks at one that is under way. */
const LOOK_MS = 700;

/** Those that were made, the newest first. */
export const REPRICINGS = resource({
  path: "/admin/v1/repricing",
  rows: "repricings",
  id: "id",
  key: KEYS.repricings,
  stale: [KEYS.repricings],
});

/** Its figures are being added up, or costs are being changed. */
export function isUnderWay({ state, total }: Pick<RepricingRow, "state" | "total">): boolean {
  return state === "running" || state === "reverting" || (state === "planned" && total === null);
}

/** The list, looked at again and again while one of them is under way. */
export function repricingsQuery() {
  return {
    ...REPRICINGS.list(),
    refetchInterval: ({
      state: { data },
    }: {
      state: { data?: { rows: readonly RepricingRow[] } | undefined };
    }) => (data?.rows.some(isUnderWay) === true ? LOOK_MS : false),
  } as const;
}

/** One of them, with what it changes. */
export function repricingQuery(id: string) {
  return queryOptions({
    queryKey: [...KEYS.repricings, id],
    queryFn: ({ signal }) => call("GET /admin/v1/repricing/:id", { params: { id }, signal }),
    refetchInterval: ({ state: { data } }) => (data !== undefined && isUnderWay(data) ? LOOK_MS : false),
  });
}

const refreshBegun = (client: QueryClient) => makeStale(client, [KEYS.repricings]);

/** Throws `repricing_running` and `repricing_outdated`. Fulfilled when it has begun. */
export const applyRepricing = changing(
  (id: string) => call("POST /admin/v1/repricing/:id/apply", { params: { id }, body: {} }),
  refreshBegun,
);
/** Throws as `applyRepricing` does. */
export const revertRepricing = changing(
  (id: string) => call("POST /admin/v1/repricing/:id/revert", { params: { id }, body: {} }),
  refreshBegun,
);

/** Every figure that costs are in, once they have changed. */
export async function refreshCosts(client: QueryClient): Promise<void> {
  await makeStale(client, [
    KEYS.repricings,
    KEYS.reports,
    KEYS.pricing,
    KEYS.mine,
    KEYS.limits,
    KEYS.limitUses,
    KEYS.events,
  ]);
}
