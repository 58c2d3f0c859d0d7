import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { KEYS } from "../../api/keys.ts";
import { fetchRequests, type RequestRow, requestsQuery } from "../../api/reports.ts";
import type { RequestsSearch } from "../../search/pages.ts";
import type { Report } from "../../search/report.ts";
import { useOutdated } from "../../reports/use-outdated.ts";
import { followTail, type Tail, TAIL_PAGE_ROWS } from "./tail.ts";

/** The rows of the view, of a page of the log or of the live tail. */
export interface RequestList {
  readonly rows: readonly RequestRow[];
  /** With these filters, on the server; null until it is known. */
  readonly total: number | null;
  /** The offset of the first row; 0 in the tail. */
  readonly offset: number;
  readonly rowsAPage: number;
  /** What is shown is not yet, or no longer, what the address asks for. */
  readonly isBusy: boolean;
  readonly failure: Error | null;
  readonly retry: () => void;
  /** Null in a page of the log. */
  readonly tail: Tail | null;
}

/** What the address asks for. The tail begins with the rows that are in sight already. */
export function useRequestRows(report: Report, search: RequestsSearch, options: TailOptions): RequestList {
  const { isLive } = options;
  const rowsAPage = Number(search.rows ?? "100");
  const offset = isLive ? 0 : (search.page ?? 0) * rowsAPage;
  const page = useQuery({
    ...requestsQuery(report.query, { limit: rowsAPage, offset }),
    enabled: !isLive,
  });
  const tail = useTail(report, options);
  const asked = isLive ? tail : page;
  const isOutdated = useOutdated(
    `${report.question} ${isLive ? "live" : `${offset} ${rowsAPage}`}`,
    asked.isPending || asked.isPlaceholderData,
  );
  const shown = isLive ? (tail.data ?? page.data) : page.data;
  return {
    rows: (shown === undefined ? undefined : "rows" in shown ? shown.rows : shown.requests) ?? NO_ROWS,
    total: shown?.total ?? null,
    offset,
    rowsAPage,
    isBusy: asked.isPending || isOutdated,
    failure: asked.error,
    retry: () => void asked.refetch(),
    tail: isLive ? (tail.data ?? null) : null,
  };
}

const NO_ROWS: readonly RequestRow[] = [];

const POLL_MS = 2_000;

interface TailOptions {
  readonly isLive: boolean;
  /** Nothing is asked, and what is shown stays where it is. */
  readonly isPaused: boolean;
}

/**
 * Asks for the newest page every two seconds while the tab is in sight, and adds what is new to what it has. Its key leaves
 * out where a moving range begins, else each minute would begin with an empty tail.
 */
function useTail(report: Report, { isLive, isPaused }: TailOptions): UseQueryResult<Tail> {
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
