import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { KEYS } from "../../api/keys.ts";
import { fetchRequests } from "../../api/reports.ts";
import type { Report } from "../../search/report.ts";
import { followTail, TAIL_PAGE_ROWS, type Tail } from "./tail.ts";

const POLL_MS = 2_000;

export interface TailOptions {
  readonly isLive: boolean;
  /** Nothing is asked, and what is shown stays where it is. */
  readonly isPaused: boolean;
}

/**
 * Asks for the newest page every two seconds while the tab is in sight, and adds what is new to what it has. Its key leaves
 * out where a moving range begins, else each minute would begin with an empty tail.
 */
export function useTail(report: Report, { isLive, isPaused }: TailOptions): UseQueryResult<Tail> {
  const { filters, window, query } = report;
  return useQuery({
    queryKey: [...KEYS.tail, filters, window.range ?? window.since],
    queryFn: async ({ client, queryKey, signal }) =>
      followTail(
        client.getQueryData<Tail>(queryKey),
        await fetchRequests(query, { limit: TAIL_PAGE_ROWS }, signal),
      ),
    enabled: isLive && !isPaused,
    refetchInterval: POLL_MS,
    staleTime: 0,
    gcTime: 0,
    // A set among it, and rows that are told apart by identity.
    structuralSharing: false,
    // The next question comes in two seconds by itself.
    retry: false,
  });
}
