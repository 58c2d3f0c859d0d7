import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { KEYS } from "../../../api/keys.ts";
import { fetchEvents, type AuditEvent } from "../../../api/people.ts";
import type { AuditSearch } from "../../../search/pages.ts";
import { countAuditFilters, matchesAudit, toEventId } from "./audit-filter.ts";
import { useTargets } from "./targets.ts";

/** Events asked for at once. */
const EVENTS_A_PAGE = 250;
/** With a filter, older events are asked for by themselves until as many match … */
const MATCHES_WANTED = 50;
/** … or as many were looked through; further back it goes at the press of a button. */
const LOOKED_THROUGH_MAX = 5000;

/** What the filters match of the events so far; the server has no filters, so that they are looked through here. */
export function useAuditEvents(search: AuditSearch) {
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } =
    useInfiniteQuery({
      queryKey: [...KEYS.events, "timeline"],
      queryFn: ({ pageParam, signal }) => fetchEvents({ limit: EVENTS_A_PAGE, offset: pageParam }, signal),
      initialPageParam: 0,
      getNextPageParam: ({ total }, pages) => {
        const seen = pages.length * EVENTS_A_PAGE;
        return seen < total ? seen : undefined;
      },
    });
  const loaded = useMemo(() => toDistinct(data?.pages.flatMap(({ rows }) => rows) ?? []), [data]);
  const kinds = useMemo(() => new Set(loaded.map(({ target_kind: kind }) => kind)), [loaded]);
  const findTarget = useTargets(kinds);
  const shown = useMemo(
    () =>
      loaded.filter((event) =>
        matchesAudit(event, findTarget(event.target_kind, event.target_ref)?.label, search),
      ),
    [loaded, findTarget, search],
  );
  const isSearching =
    countAuditFilters(search) > 0 &&
    hasNextPage &&
    error === null &&
    shown.length < MATCHES_WANTED &&
    loaded.length < LOOKED_THROUGH_MAX;
  useEffect(() => {
    if (isSearching && !isFetchingNextPage) void fetchNextPage();
  }, [isSearching, isFetchingNextPage, fetchNextPage]);
  return {
    loaded,
    shown,
    findTarget,
    total: data?.pages.at(-1)?.total ?? 0,
    /** How far back they reach; null when there is none. */
    reachesTo: loaded.at(-1)?.ts ?? null,
    error,
    isPending,
    isSearching,
    hasOlder: hasNextPage,
    isFetchingOlder: isFetchingNextPage,
    fetchOlder: () => void fetchNextPage(),
    retry: () => void refetch(),
  };
}

/** A new event moves the others on: what was last on one page is then first on the next. */
function toDistinct(events: readonly AuditEvent[]): readonly AuditEvent[] {
  return [...new Map(events.map((event) => [toEventId(event), event])).values()];
}
