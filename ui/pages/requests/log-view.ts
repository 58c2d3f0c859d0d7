import { queryOptions, keepPreviousData } from "@tanstack/react-query";
import { KEYS } from "../../api/keys.ts";
import type { PageQuery } from "../../api/pages.ts";
import {
  fetchRecorded,
  fetchRequests,
  fetchSeries,
  type ReportNotes,
  type RequestRow,
  type UsageBucket,
} from "../../api/reports.ts";
import type { ReportQuery } from "../../search/filters.ts";
import type { Bucket } from "#stats/bucket.ts";

/** What the page shows of the log at one moment: rows, how many there are of them, and the bars that count them all. */
export interface LogView {
  /** Newest first, or in the order that was asked for. */
  readonly rows: readonly RequestRow[];
  /** On the server, with these filters. */
  readonly total: number;
  /** Null when they could not be had, for which `barsFailure` is the reason. */
  readonly bars: readonly UsageBucket[] | null;
  readonly barsFailure: Error | null;
  readonly notes: ReportNotes | null;
  /** What was recorded after it has to be added to the view. Null for a view that is not followed. */
  readonly cursor: string | null;
}

export interface LogQuery {
  readonly query: ReportQuery;
  readonly page: PageQuery;
  readonly bucket: Bucket;
  /** The newest rows of a window that has no end: what is recorded from now on belongs to it. */
  readonly isNewest: boolean;
}

/**
 * Rows and bars are asked for together, so that they agree. The cursor comes first: what is recorded between the two questions
 * is then known twice, and never missed.
 */
export function logViewQuery({ query, page, bucket, isNewest }: LogQuery) {
  return queryOptions({
    queryKey: [...KEYS.requests, "view", query, page, bucket, isNewest],
    queryFn: async ({ signal }): Promise<LogView> => {
      const cursor = isNewest
        ? (await fetchRecorded(query, { after: "", limit: 1 }, signal)).cursor
        : undefined;
      const [log, series] = await Promise.all([
        fetchRequests(query, page, signal),
        fetchSeries({ ...query, bucket }, signal).catch(toFailure),
      ]);
      const isFailed = series instanceof Error;
      return {
        rows: log.requests,
        total: log.total,
        bars: isFailed ? null : series.series,
        barsFailure: isFailed ? series : null,
        notes: isFailed ? null : series.notes,
        cursor: cursor ?? null,
      };
    },
    placeholderData: keepPreviousData,
  });
}

/** The rows are worth showing without their bars. */
function toFailure(cause: unknown): Error {
  if (cause instanceof Error && cause.name !== "AbortError") return cause;
  throw cause;
}
