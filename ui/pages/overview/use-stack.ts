import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { GROUPS_MAX } from "#stats/series-grouping.ts";
import { facetsQuery, teamSeriesQuery, type UsageSeries } from "../../api/reports.ts";
import type { Breakdown, Measure } from "../../search/breakdown.ts";
import { type Report, toRefresh } from "../../search/report.ts";
import { toGroupBy, toTagKeys, type Cut } from "../../reports/groups.ts";
import { isSettled, type AskedReport } from "../../reports/use-compared.ts";
import { toStack, type Stack } from "../../reports/stack.ts";
import { useLatest } from "../../reports/use-latest.ts";
import { useOutdated } from "../../reports/use-outdated.ts";

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
  /** It answers an earlier question. */
  readonly isOutdated: boolean;
  /** The keys of all tags in the window, when it is cut by tag. */
  readonly tagKeys: readonly string[];
  /** The report that it is drawn from, with the totals. */
  readonly asked: AskedReport<UsageSeries>;
  readonly failure: Error | null;
  readonly retry: () => void;
}

/** The usage over time with its groups, in one report. Which tags there are is asked before, when it is cut by one. */
export function useStack({ report, by, tagged, measure }: StackQuery): StackAnswer {
  const { filters, query, window } = report;
  const facets = useQuery({ ...facetsQuery(query), enabled: by === "tag" });
  const tagKeys = useMemo(() => (facets.data === undefined ? [] : toTagKeys(facets.data)), [facets.data]);
  const tagKey = tagged ?? tagKeys[0] ?? null;
  const cut = useMemo((): Cut => ({ by, tagKey }), [by, tagKey]);
  const isTagKnown = by !== "tag" || tagged !== undefined || facets.isSuccess;
  const asked = useQuery({
    ...teamSeriesQuery({
      ...query,
      bucket: window.bucket,
      group_by: toGroupBy(cut),
      order: measure,
      top: GROUPS_MAX,
    }),
    ...toRefresh(window),
    enabled: isTagKnown,
  });

  const { data } = asked;
  const isComplete = isTagKnown && isSettled(asked);
  const fresh = useMemo(
    () => (isComplete && data !== undefined ? toStack({ report: data, cut, measure, filters }) : null),
    [isComplete, data, cut, measure, filters],
  );
  const isOutdated = useOutdated(`${report.question} ${by} ${tagKey} ${measure}`, fresh === null);
  const failed = [facets, asked].filter(({ error }) => error !== null);
  const latest = useLatest(fresh);
  return {
    // When the answer cannot be had, that of an earlier question is no longer in its place.
    stack: isOutdated && failed.length > 0 ? null : latest,
    isOutdated,
    tagKeys,
    asked,
    failure: failed[0]?.error ?? null,
    retry: () => {
      for (const { refetch } of failed) void refetch();
    },
  };
}
