import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { AnswerOf, BodyOf } from "#http/client.ts";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import type { QueryParams } from "#kernel/route-request.ts";
import { call } from "./client.ts";
import { KEYS } from "./keys.ts";
import { resource } from "./resource.ts";

/** Limits on use, and what was used of them (`docs/spec/limits.md`). */

export type Limit = AnswerOf<"GET /admin/v1/limits">["limits"][number];
/** A limit as the caller sees it for whom it holds. */
export type OwnLimit = AnswerOf<"GET /my/limits">["limits"][number];
export type LimitDraft = BodyOf<"POST /admin/v1/limits">;
export type LimitPatch = BodyOf<"PATCH /admin/v1/limits/:id">;
/** What one of those has used that a limit holds for separately. */
export type LimitUse = AnswerOf<"GET /admin/v1/limits/:id/usage">["usage"][number];

/** What was used changes with every request: it is asked for again while it is in sight. */
const REFRESH_MS = 15_000;
const USES_A_PAGE = 50;

/** Changes throw `limit_exists`, `too_many_limits`, and `invalid_request` with the field in `param`. */
export const LIMITS = resource({
  path: "/admin/v1/limits",
  rows: "limits",
  id: "id",
  key: KEYS.limits,
  stored: "limit",
  stale: [KEYS.limits, KEYS.limitUses, KEYS.myLimits, KEYS.events],
  refetchMs: REFRESH_MS,
});

/** Everyone that a limit with `each` holds for, the most used first. */
export function limitUsesQuery(id: string) {
  return infiniteQueryOptions({
    queryKey: [...KEYS.limitUses, id],
    queryFn: ({ pageParam, signal }) => fetchUses(id, { limit: USES_A_PAGE, offset: pageParam }, signal),
    initialPageParam: 0,
    getNextPageParam: ({ total }, pages) => {
      const seen = pages.length * USES_A_PAGE;
      return seen < total ? seen : undefined;
    },
  });
}

/** The most that one of these names has used of a limit with `each`; null when none has used any. */
export function limitUseOfQuery(id: string, names: readonly string[]) {
  return queryOptions({
    queryKey: [...KEYS.limitUses, id, { names }],
    queryFn: async ({ signal }): Promise<LimitUse | null> => {
      for (let offset = 0; ; offset += PAGE_LIMIT_MAX) {
        const { usage, total } = await fetchUses(id, { limit: PAGE_LIMIT_MAX, offset }, signal);
        const found = usage.find((use) => names.includes(toUseName(use)));
        if (found !== undefined) return found;
        if (usage.length === 0 || offset + PAGE_LIMIT_MAX >= total) return null;
      }
    },
  });
}

async function fetchUses(id: string, page: QueryParams, signal: AbortSignal) {
  return await call("GET /admin/v1/limits/:id/usage", { params: { id }, signal, query: page });
}

/** Who it is that used it: a principal's name, a key's id, a tag's value; empty where a limit is not separate. */
export function toUseName({ principal, key, tag }: LimitUse): string {
  return principal ?? key ?? tag ?? "";
}

/** Those that hold for the caller, with what it has used itself. */
export function myLimitsQuery() {
  return queryOptions({
    queryKey: KEYS.myLimits,
    queryFn: async ({ signal }) => (await call("GET /my/limits", { signal })).limits,
    refetchInterval: REFRESH_MS,
  });
}
