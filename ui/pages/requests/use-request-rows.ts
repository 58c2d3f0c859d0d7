import { useQuery } from "@tanstack/react-query";
import { requestsQuery, type RequestRow } from "../../api/reports.ts";
import type { RequestsSearch } from "../../search/pages.ts";
import type { Report } from "../../search/report.ts";
import type { Tail } from "./tail.ts";
import { useTail, type TailOptions } from "./use-tail.ts";

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
  const shown = isLive ? (tail.data ?? page.data) : page.data;
  return {
    rows: (shown === undefined ? undefined : "rows" in shown ? shown.rows : shown.requests) ?? NO_ROWS,
    total: shown?.total ?? null,
    offset,
    rowsAPage,
    isBusy: asked.isPending || asked.isPlaceholderData,
    failure: asked.error,
    retry: () => void asked.refetch(),
    tail: isLive ? (tail.data ?? null) : null,
  };
}

const NO_ROWS: readonly RequestRow[] = [];
