import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { readFilters, type ReadFilters, type ReportQuery } from "./filters.ts";
import { useMinute } from "./now.ts";
import { type ErrorsSearch, type OverviewSearch, readReportSearch, type RequestsSearch } from "./pages.ts";
import type { Range } from "./ranges.ts";
import { formatPeriod, type TimeWindow, toTimeWindow } from "./window.ts";

/** Everything that a page of reports knows from its address. */
export interface Report {
  readonly filters: ReadFilters;
  readonly window: TimeWindow;
  readonly query: ReportQuery;
  /** The same filters over the window before, to compare with. */
  readonly previousQuery: ReportQuery | null;
  /** Names filters, window and bars; the same while a window moves along with the clock. */
  readonly question: string;
  /** Milliseconds since 1970, by the minute. */
  readonly now: number;
  /** Writes to the address; a field set to undefined leaves it. The first page of a list comes back into view. */
  readonly change: (patch: SearchPatch) => void;
}

export type SearchPatch = Partial<OverviewSearch & RequestsSearch & ErrorsSearch>;

/** The filters and the window of the address, as every chart, table and tail of a page shares them. */
export function useReport(fallback: Range): Report {
  const search = useSearch({ strict: false });
  const navigate = useNavigate();
  const now = useMinute();
  return useMemo(() => {
    const filters = readFilters(search);
    const window = toTimeWindow(readReportSearch(search), fallback, now);
    return {
      filters,
      window,
      now,
      question: JSON.stringify([filters, window.range ?? [window.since, window.until], window.bucket]),
      query: { ...filters, since: window.since, until: window.until },
      previousQuery: window.previous === null ? null : { ...filters, ...window.previous },
      change: (patch) =>
        void navigate({
          to: ".",
          search: (current: object) => ({ ...current, page: undefined, ...patch }),
          resetScroll: false,
        }),
    };
  }, [search, navigate, now, fallback]);
}

/** The window before in words, for figures that are compared with it. */
export function toBeforeText({ window: { previous }, now }: Report): string | null {
  return previous === null ? null : formatPeriod(previous, now);
}

const REFRESH_MS = 60_000;

/** A window that moves along with the clock is asked for again each minute, while the page is in sight. */
export function toRefresh({ until }: TimeWindow): { readonly refetchInterval: number | false } {
  return { refetchInterval: until === undefined ? REFRESH_MS : false };
}
