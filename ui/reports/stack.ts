import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Bucket } from "#stats/bucket.ts";
import { GROUPS_MAX } from "#stats/series-grouping.ts";
import { mySeriesQuery } from "../api/reports.ts";
import {
  facetsQuery,
  type SeriesQuery,
  teamSeriesQuery,
  type UsageBucket,
  type UsageSeries,
} from "../api/reports.ts";
import { toNameSlots } from "../charts/name-colors.ts";
import {
  OTHER_ID,
  TOP_SERIES_MAX,
  toSeriesWithRest,
  type GroupedRow,
  type StackedSeries,
} from "../charts/series.ts";
import type { Breakdown, Measure } from "../search/breakdown.ts";
import type { Filters } from "../search/filters.ts";
import { type Report, toRefresh } from "../search/report.ts";
import { type Answer, type AskedReport, isSettled, useLatest, useOutdated } from "./answer.tsx";
import { toMeasured } from "./figures.ts";
import { NONE_ID, toGroupBy, toGroups, toTagKeys, type Cut, type Group } from "./groups.ts";

/** Whose usage a report is of. */
export type Scope = "team" | "own";

/** Everything that one picture of the usage is drawn from, so that none of it is of another question. */
export interface Stack extends StackedSeries {
  readonly bucket: Bucket;
  readonly measure: Measure;
  readonly cut: Cut;
  /** The largest first. */
  readonly groups: readonly Group[];
  readonly totals: readonly UsageBucket[];
}

export interface StackRequest {
  /** By group, the largest by the measure first. */
  readonly report: UsageSeries;
  readonly cut: Cut;
  readonly measure: Measure;
  readonly filters: Filters;
}

/** The largest groups with something to draw, and "other": requests that have no name, and all that is smaller. */
export function toStack({ report, cut, measure, filters }: StackRequest): Stack {
  const groups = toGroups(report, cut, filters);
  const drawn = groups
    .filter((group) => group.id !== NONE_ID && group.id !== OTHER_ID && (toMeasured(group, measure) ?? 0) > 0)
    .slice(0, TOP_SERIES_MAX);
  const { series, buckets } = toSeriesWithRest(
    toRows(report, measure),
    drawn.map((group) => ({
      series: { id: group.id, label: group.label },
      rows: toRows(group, measure),
    })),
  );
  const slots = toNameSlots(
    cut.tagKey === null || cut.by !== "tag" ? cut.by : `tag ${cut.tagKey}`,
    drawn.map(({ id }) => id),
  );
  const restLabel = toRestLabel(groups, drawn.length);
  return {
    bucket: report.bucket,
    measure,
    cut,
    groups,
    series: series.map(({ id, label, kind }) => ({
      id,
      kind,
      label: id === OTHER_ID ? restLabel : label,
      slot: slots.get(id),
    })),
    buckets:
      measure === "cost"
        ? buckets.map((bar, index) => ({ ...bar, unpriced: report.series[index]?.unpriced_requests }))
        : buckets,
    totals: report.series,
  };
}

/** The measure in each bucket. Quiet ones are 0; null is what was used and has no price. */
export function toTrend({ series }: Pick<Group, "series">, measure: Measure): readonly (number | null)[] {
  return series.map((bucket) => (bucket.requests === 0 ? 0 : toMeasured(bucket, measure)));
}

function toRows({ series }: Pick<UsageSeries, "series">, measure: Measure): readonly GroupedRow[] {
  return series.map((bucket) => ({ start: bucket.start, value: toMeasured(bucket, measure) }));
}

function toRestLabel(groups: readonly Group[], drawnCount: number): string {
  const none = groups.find(({ id }) => id === NONE_ID);
  if (drawnCount === 0) return "all";
  return none === undefined ? "other" : `${none.label} and other`;
}

export interface StackQuery {
  readonly scope: Scope;
  readonly report: Report;
  readonly by: Breakdown;
  /** As asked for; without it the tag that is used most. */
  readonly tagged: string | undefined;
  readonly measure: Measure;
}

export interface StackAnswer extends Answer<Stack> {
  readonly data: Stack | null;
  readonly isOutdated: boolean;
  /** The keys of all tags in the window, when it is cut by tag. */
  readonly tagKeys: readonly string[];
  /** The report that it is drawn from, with the totals. */
  readonly asked: AskedReport<UsageSeries>;
}

export function seriesQuery(scope: Scope, query: SeriesQuery) {
  return scope === "own" ? mySeriesQuery(query) : teamSeriesQuery(query);
}

/** The usage over time with its groups, in one report. Which tags there are is asked before, when it is cut by one. */
export function useStack({ scope, report, by, tagged, measure }: StackQuery): StackAnswer {
  const { filters, query, window } = report;
  const facets = useQuery({ ...facetsQuery(query), enabled: by === "tag" });
  const tagKeys = useMemo(() => (facets.data === undefined ? [] : toTagKeys(facets.data)), [facets.data]);
  const tagKey = tagged ?? tagKeys[0] ?? null;
  const cut = useMemo((): Cut => ({ by, tagKey }), [by, tagKey]);
  const isTagKnown = by !== "tag" || tagged !== undefined || facets.isSuccess;
  const asked = useQuery({
    ...seriesQuery(scope, {
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
    data: isOutdated && failed.length > 0 ? null : latest,
    isOutdated,
    tagKeys,
    asked,
    failure: failed[0]?.error ?? null,
    retry: () => Promise.all(failed.map(({ refetch }) => refetch())),
  };
}
