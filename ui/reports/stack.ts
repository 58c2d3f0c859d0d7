import type { Bucket } from "#stats/bucket.ts";
import type { UsageBucket, UsageSeries } from "../api/reports.ts";
import {
  OTHER_ID,
  TOP_SERIES_MAX,
  toSeriesWithRest,
  type GroupedRow,
  type StackedSeries,
} from "../charts/series.ts";
import { toNameSlots } from "../charts/name-colors.ts";
import type { Measure } from "../search/breakdown.ts";
import type { Filters } from "../search/filters.ts";
import { NONE_ID, toGroups, type Cut, type Group } from "./groups.ts";
import { toMeasured } from "./measure.ts";

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
