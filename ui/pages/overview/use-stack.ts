import { useQueries, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";
import { teamSeriesQuery, teamSummaryQuery, type ReportNotes, type UsageSeries } from "../../api/reports.ts";
import { TOP_SERIES_MAX } from "../../charts/series.ts";
import type { Breakdown, Measure } from "../../search/breakdown.ts";
import type { Report } from "../../search/report.ts";
import { rankGroups, toGroups, toTagKeys, toTopGroups } from "./groups.ts";
import { toRefresh } from "../../reports/refresh.ts";
import { toStack, type Stack } from "./stack.ts";
import { useLatest } from "../../reports/use-latest.ts";

export interface StackQuery {
  readonly report: Report;
  readonly by: Breakdown;
  /** As asked for; without it the tag that is used most. */
  readonly tagged: string | undefined;
  readonly measure: Measure;
}

export interface StackAnswer {
  /** Null before the first answer; the last one while the next is on its way. */
  readonly stack: Stack | null;
  readonly isStale: boolean;
  /** The keys of all tags in the window. */
  readonly tagKeys: readonly string[];
  readonly notes: ReportNotes | null;
  readonly failure: Error | null;
  readonly retry: () => void;
}

/**
 * The usage by group over time. Reports have no series by group: the summary tells the largest ones, each of which is then
 * asked for with its own filter, all at once; a question whose picture nobody waits for any more ends.
 */
export function useStack({ report, by, tagged, measure }: StackQuery): StackAnswer {
  const { filters, query, window } = report;
  const refresh = toRefresh(window);
  const series = { ...query, bucket: window.bucket };
  const total = useQuery({ ...teamSeriesQuery(series), ...refresh });
  const summary = useQuery({ ...teamSummaryQuery(query), ...refresh });

  const rows = summary.data?.usage;
  const tagKeys = useMemo(() => toTagKeys(rows ?? []), [rows]);
  const tagKey = tagged ?? tagKeys[0] ?? null;
  const groups = useMemo(
    () => rankGroups(toGroups(rows ?? [], { by, tagKey }, filters), measure),
    [rows, by, tagKey, filters, measure],
  );
  const isSummed = summary.isSuccess && !summary.isPlaceholderData;
  const top = useMemo(
    () => (isSummed ? toTopGroups(groups, measure, TOP_SERIES_MAX) : []),
    [isSummed, groups, measure],
  );
  const parts = useQueries({
    queries: top.map(({ patch }) => ({ ...teamSeriesQuery({ ...series, ...patch }), ...refresh })),
    combine: combineParts,
  });

  const isComplete = isSummed && total.isSuccess && !total.isPlaceholderData && parts.data !== null;
  const fresh = useMemo(() => {
    if (!isComplete || total.data === undefined || parts.data === null) return null;
    const answered = parts.data.flatMap((part, index) => {
      const group = top[index];
      return group === undefined ? [] : [{ group, series: part }];
    });
    return toStack({ total: total.data, parts: answered, groups, measure, cut: { by, tagKey } });
  }, [isComplete, total.data, parts.data, top, groups, measure, by, tagKey]);

  const failed = [total, summary].find(({ error }) => error !== null);
  return {
    stack: useLatest(fresh),
    isStale: fresh === null,
    tagKeys,
    notes: summary.data?.notes ?? null,
    failure: failed?.error ?? parts.failure,
    retry: () => {
      for (const asked of [total, summary]) if (asked.error !== null) void asked.refetch();
      parts.retry();
    },
  };
}

/** All of them or none, so that no part is missing from a picture. */
function combineParts(results: readonly UseQueryResult<UsageSeries>[]) {
  const answered = results.flatMap(({ data }) => (data === undefined ? [] : [data]));
  return {
    data: answered.length === results.length ? answered : null,
    failure: results.find(({ error }) => error !== null)?.error ?? null,
    retry: () => {
      for (const { error, refetch } of results) if (error !== null) void refetch();
    },
  };
}
