import type { Bucket } from "#stats/bucket.ts";
import type { UsageBucket, UsageSeries } from "../../api/reports.ts";
import { OTHER_ID, toSeriesWithRest, type GroupedRow, type StackedSeries } from "../../charts/series.ts";
import type { Measure } from "../../search/breakdown.ts";
import { NONE_ID, type Cut, type Group } from "./groups.ts";
import { toMeasured } from "../../reports/measure.ts";

/** Everything that one picture of the usage is drawn from, so that none of it is of another question. */
export interface Stack extends StackedSeries {
  readonly bucket: Bucket;
  readonly measure: Measure;
  readonly cut: Cut;
  /** All groups, the largest first. */
  readonly groups: readonly Group[];
  /** Of the groups with a series, by id: the measure in each bucket, 0 in quiet ones. */
  readonly trends: ReadonlyMap<string, readonly (number | null)[]>;
  readonly totals: readonly UsageBucket[];
}

export interface StackRequest {
  readonly total: UsageSeries;
  /** The largest first, with their own series. */
  readonly parts: readonly { readonly group: Group; readonly series: UsageSeries }[];
  readonly groups: readonly Group[];
  readonly measure: Measure;
  readonly cut: Cut;
}

/** What the parts leave of the total is "other": failures without a model, what has no filter, and all that is smaller. */
export function toStack({ total, parts, groups, measure, cut }: StackRequest): Stack {
  const totals = toRows(total, measure);
  const drawn = parts.map(({ group, series }) => ({
    series: { id: group.id, label: group.label },
    rows: toRows(series, measure),
  }));
  const { series, buckets } = toSeriesWithRest(totals, drawn);
  const restLabel = toRestLabel(groups, parts.length);
  return {
    bucket: total.bucket,
    measure,
    cut,
    groups,
    series: series.map(({ id, label, kind }) => ({ id, kind, label: id === OTHER_ID ? restLabel : label })),
    buckets,
    trends: new Map(parts.map(({ group, series: part }) => [group.id, toTrend(total, part, measure)])),
    totals: total.series,
  };
}

function toRows({ series }: UsageSeries, measure: Measure): readonly GroupedRow[] {
  return series.map((bucket) => ({ start: bucket.start, value: toMeasured(bucket, measure) }));
}

/** Over the buckets of the total. Quiet ones are 0; null is what was used and has no price. */
function toTrend(total: UsageSeries, part: UsageSeries, measure: Measure): readonly (number | null)[] {
  const byStart = new Map(part.series.map((bucket) => [bucket.start, bucket]));
  return total.series.map(({ start }) => {
    const bucket = byStart.get(start);
    return bucket === undefined || bucket.requests === 0 ? 0 : toMeasured(bucket, measure);
  });
}

function toRestLabel(groups: readonly Group[], partCount: number): string {
  const none = groups.find(({ id }) => id === NONE_ID);
  if (partCount === 0) return "all";
  return none === undefined ? "other" : `${none.label} and other`;
}
