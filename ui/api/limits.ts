import type { Treaty } from "@elysiajs/eden/treaty2";
import { infiniteQueryOptions, queryOptions, type QueryClient } from "@tanstack/react-query";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import { unwrap } from "./answer.ts";
import { changing } from "./changing.ts";
import { api, asking, toPathPart } from "./client.ts";
import { ifMatch } from "./if-match.ts";
import { KEYS, makeStale } from "./keys.ts";
import { fetchWholeList, type PageQuery } from "./pages.ts";

/** Limits on use, and what was used of them (`docs/spec/limits.md`). */

const { limits } = api.admin.v1;

export type Limit = Treaty.Data<typeof limits.get>["limits"][number];
/** A limit as the caller sees it for whom it holds. */
export type OwnLimit = Treaty.Data<typeof api.my.limits.get>["limits"][number];
export type LimitDraft = NonNullable<Parameters<typeof limits.post>[0]>;
type LimitPatch = NonNullable<Parameters<ReturnType<typeof limits>["patch"]>[0]>;
export interface LimitUpdate {
  readonly id: string;
  readonly patch: LimitPatch;
  /** The limit that the change was made from. */
  readonly from?: object | undefined;
}
/** What one of those has used that a limit holds for separately. */
export type LimitUse = Treaty.Data<ReturnType<typeof limits>["usage"]["get"]>["usage"][number];

/** What was used changes with every request: it is asked for again while it is in sight. */
const REFRESH_MS = 15_000;
const USES_A_PAGE = 50;

/** All of them, up to `ROWS_MAX`. */
export function limitsQuery() {
  return queryOptions({
    queryKey: KEYS.limits,
    queryFn: ({ signal }) =>
      fetchWholeList(
        (page) => fetchLimits(page, signal),
        ({ id }) => id,
      ),
    refetchInterval: REFRESH_MS,
  });
}

async function fetchLimits(page: PageQuery, signal: AbortSignal) {
  const { limits: rows, total } = await unwrap(limits.get(asking(signal, { ...page })));
  return { rows, total };
}

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

async function fetchUses(id: string, page: PageQuery, signal: AbortSignal) {
  return await unwrap(limits({ id: toPathPart(id) }).usage.get(asking(signal, { ...page })));
}

/** Who it is that used it: a principal's name, a key's id, a tag's value; empty where a limit is not separate. */
export function toUseName({ principal, key, tag }: LimitUse): string {
  return principal ?? key ?? tag ?? "";
}

/** Those that hold for the caller, with what it has used itself. */
export function myLimitsQuery() {
  return queryOptions({
    queryKey: KEYS.myLimits,
    queryFn: async ({ signal }) => (await unwrap(api.my.limits.get(asking(signal)))).limits,
    refetchInterval: REFRESH_MS,
  });
}

/** Throws `limit_exists`, `too_many_limits`, and `invalid_request` with the field in `param`. */
export const createLimit = changing((draft: LimitDraft) => unwrap(limits.post(draft)), refreshLimits);

export const updateLimit = changing(
  ({ id, patch, from }: LimitUpdate) =>
    unwrap(limits({ id: toPathPart(id) }).patch(patch, ifMatch("limit", from))),
  refreshLimits,
);

export const deleteLimit = changing(
  ({ id, from }: Pick<LimitUpdate, "id" | "from">) =>
    unwrap(limits({ id: toPathPart(id) }).delete(undefined, ifMatch("limit", from))),
  refreshLimits,
);

async function refreshLimits(client: QueryClient): Promise<void> {
  await makeStale(client, [KEYS.limits, KEYS.limitUses, KEYS.myLimits, KEYS.events]);
}
